"""The code of an earlier commit, measured beside this one.

Each figure is measured in a process of its own, by the benchmarks of this commit with the package
of either.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

FIRST_DESIGN: Final = "1367ed6"
"""The last commit with the core's first design."""
ROOT: Final = Path(__file__).parents[1]


@contextmanager
def package_of(commit: str) -> Iterator[Path | None]:
    """A folder with the package of a commit; None if there is no such commit."""
    done = subprocess.run(
        ["git", "archive", commit, "sensorstream"], cwd=ROOT, capture_output=True, check=False
    )
    if done.returncode:
        print(f"no commit {commit} here: figures before are left out", file=sys.stderr)
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            # Python before 3.11.4 has no filters.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(folder)
        yield Path(folder)


def measured(module: str, arguments: Sequence[str], folder: Path) -> dict[str, float]:
    """The figures that ``python -m module arguments`` prints as JSON, with the package in a folder.

    Empty if it is an earlier package and cannot be measured so.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        # The current folder comes first: its package is measured, by the benchmarks of this one.
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=None if folder == ROOT else subprocess.DEVNULL,
        text=True,
        check=folder == ROOT,
    )
    if done.returncode:
        return {}
    found: dict[str, float] = json.loads(done.stdout)
    return found
