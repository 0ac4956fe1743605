"""Installs the wheel, with its real dependencies, for a Python of the machine, and runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.package.building import alone

OLDEST: Final = (3, 11)
_QUERY: Final = """SELECT ?s (COUNT(*) AS ?n) FROM NAMED WINDOW <urn:x:w> [RANGE PT10S]
WHERE { WINDOW <urn:x:w> { ?s ?p ?o } } GROUP BY ?s"""
_VERSION: Final = "import sys; print(*sys.version_info[:2])"


def pythons() -> dict[tuple[int, int], Path]:
    """The Pythons that run here and are new enough, by version."""
    found: dict[tuple[int, int], Path] = {sys.version_info[:2]: Path(sys.executable)}
    for version, program in _candidates():
        if version < OLDEST or version in found:
            continue
        told = subprocess.run([program, "-c", _VERSION], capture_output=True, text=True)
        if told.returncode == 0:
            major, minor = map(int, told.stdout.split())
            found.setdefault((major, minor), program)
    return dict(sorted(found.items()))


def _candidates() -> Iterator[tuple[tuple[int, int], Path]]:
    """Programs, and the versions that their names tell."""
    folders = [Path(each) for each in os.get_exec_path()]
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for folder in [*folders, *versions.glob("*/bin")]:
        for program in sorted(folder.glob("python3.*")):
            if named := re.fullmatch(r"python3\.(\d+)", program.name):
                yield (3, int(named[1])), program


def try_out(python: Path, wheel: Path, folder: Path) -> None:
    """Install the wheel into an environment of its own and use it.

    Raises:
        RuntimeError: a step fails.
    """
    environment = folder / "environment"
    _run(folder, python, "-m", "venv", environment)
    program = environment / "bin" / "python"
    _run(folder, program, "-m", "pip", "install", "--quiet", wheel)
    _run(folder, program, "-m", "pip", "check")
    sensorstream = environment / "bin" / "sensorstream"
    _run(folder, sensorstream, "--version")
    _run(folder, sensorstream, "init", "people")
    _run(folder / "people", sensorstream, "check")
    mapped = _run(folder / "people", sensorstream, "map", "messages/paper.xml")
    if ":human-2678" not in mapped:
        raise RuntimeError(f"expected the person of the message, not: {mapped}")
    query = folder / "query.rq"
    query.write_text(_QUERY, encoding="utf-8")
    events = folder / "events.jsonl"
    events.write_text('{"time": 1, "graph": "<urn:x:a> <urn:x:b> 3 ."}\n', encoding="utf-8")
    reported = _run(folder, sensorstream, "run", "--query", query, "--events", events)
    if "urn:x:a" not in reported:
        raise RuntimeError(f"expected a report about urn:x:a, not: {reported}")


def _run(folder: Path, *command: str | Path) -> str:
    told = subprocess.run(
        [str(each) for each in command], cwd=folder, env=alone(), capture_output=True, text=True
    )
    if told.returncode:
        words = " ".join(map(str, command))
        raise RuntimeError(f"{words} ended with {told.returncode}: {told.stdout}{told.stderr}")
    return told.stdout
