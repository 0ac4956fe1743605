"""Builds what would be published, from the source tree and without the network."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Distributions:
    """The files that would be published."""

    sdist: Path
    wheel: Path


def build(folder: Path) -> Distributions:
    """Build the sdist in ``folder``, and the wheel from it, as an installer does."""
    sdist = _built(ROOT, "sdist", folder / "sdist")
    with tarfile.open(sdist) as archive:
        # Python before 3.11.4 has no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder / "unpacked")
    (source,) = (folder / "unpacked").iterdir()
    return Distributions(sdist, _built(source, "wheel", folder / "wheel"))


def alone() -> dict[str, str]:
    """This environment without what would lead Python back to the source tree."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def _built(source: Path, kind: str, out: Path) -> Path:
    told = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)],
        cwd=source,
        env=alone(),
        capture_output=True,
        text=True,
    )
    if told.returncode:
        raise RuntimeError(f"the {kind} cannot be built: {told.stderr}")
    (made,) = out.iterdir()
    return made
