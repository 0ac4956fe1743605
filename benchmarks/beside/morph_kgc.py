"""morph-kgc, run by the Python that it is installed for."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path


class ProcessorFailed(Exception):
    """It did not map the document; the message is what it said."""


def seconds(python: Path, mapping: Path, triples: int) -> float:
    """CPU seconds for a mapping, with its start.

    Raises:
        ProcessorFailed: it ended with an error, or made another number of triples.
    """
    folder = mapping.parent
    configuration, output = folder / "morph.ini", folder / "morph.nt"
    configuration.write_text(
        f"[CONFIGURATION]\noutput_file = {output}\nlogging_level = ERROR\n"
        f"[Source]\nmappings = {mapping}\n",
        encoding="utf-8",
    )
    before = _children()
    done = subprocess.run(
        [python, "-m", "morph_kgc", configuration],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    spent = _children() - before
    if done.returncode != 0 or not output.exists():
        raise ProcessorFailed((done.stderr or done.stdout)[-500:].strip())
    made = len(set(output.read_text(encoding="utf-8").splitlines()))
    if made != triples:
        raise ProcessorFailed(f"it made {made} triples: expected {triples}")
    return spent


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
