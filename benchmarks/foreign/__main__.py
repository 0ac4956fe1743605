"""Load, compare and time ontologies of others: ``python -m benchmarks.foreign [NAME …]``.

The tables go between the markers in ``docs/use/reasoning.md``. ``ONTOLOGIES`` names the
folder that has the files. Each ontology with each reasoner is measured in a process of its own,
which is ended after ``--seconds``. What was found is kept in ``benchmarks/results/foreign.json``
after each of them, so a run goes on where another stopped: it measures what is not there yet.
Ontologies that are named are measured anew; ``--anew`` measures all of them anew.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

import psutil

from benchmarks.foreign.cases import FOLDER, Case, load, single_files, together
from benchmarks.foreign.tables import tables
from benchmarks.publish import with_tables

PAGE: Final = Path(__file__).parents[2] / "docs" / "use" / "reasoning.md"
RESULTS: Final = Path(__file__).parents[1] / "results" / "foreign.json"
BEGIN: Final = "<!-- begin: python -m benchmarks.foreign -->"
END: Final = "<!-- end: python -m benchmarks.foreign -->"
SECONDS: Final = 900.0


def main(arguments: Sequence[str]) -> int:
    """Measure, keep and publish; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.foreign", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="an ontology to measure anew")
    parser.add_argument("--anew", action="store_true", help="measure all of them anew")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="limit for an ontology and a reasoner"
    )
    asked = parser.parse_args(arguments)
    if not FOLDER.is_dir():
        print(f"{FOLDER}: no such folder: set ONTOLOGIES", file=sys.stderr)
        return 2
    cases = {case.name: case for case in together()}
    unknown = [name for name in asked.names if name not in cases]
    if unknown:
        print(f"{unknown[0]}: not one of {', '.join(cases)}", file=sys.stderr)
        return 2
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if asked.anew or "loaded" not in found:
        found["loaded"] = {case.name: _loading(case) for case in single_files()}
    if asked.anew:
        found["reasoned"] = {}
    rows = found.setdefault("reasoned", {})
    for name in cases:
        for reasoner in ("hermit", "pellet"):
            key = f"{name}|{reasoner}"
            if key in rows and name not in asked.names:
                continue
            rows[key] = measured(name, reasoner, asked.seconds)
            print(name, reasoner, rows[key], flush=True)
            # In the order of the cases, without those of ontologies that are no case now.
            keys = [f"{each}|{kind}" for each in cases for kind in ("hermit", "pellet")]
            found["reasoned"] = rows = {each: rows[each] for each in keys if each in rows}
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
            PAGE.write_text(with_tables(PAGE.read_text(), tables(found), BEGIN, END))
    return 0


def measured(name: str, reasoner: str, seconds: float) -> dict[str, Any]:
    """A row, or the part of it that was found in so many seconds."""
    command = [sys.executable, "-m", "benchmarks.foreign.measure", name, reasoner]
    with TemporaryFile() as out, TemporaryFile() as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        late = False
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            _end(process)
        row: dict[str, Any] = {}
        out.seek(0)
        for line in out.read().decode().splitlines():
            row |= json.loads(line)
        if late:
            row["failed"] = f"stopped after {seconds:g} s"
        elif process.returncode:
            err.seek(0)
            row["failed"] = err.read().decode().strip().splitlines()[-1]
    return row


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started."""
    with suppress(psutil.NoSuchProcess):
        for each in (*psutil.Process(process.pid).children(recursive=True),):
            with suppress(psutil.NoSuchProcess):
                each.kill()
    process.kill()
    process.wait()


def _loading(case: Case) -> dict[str, Any]:
    loaded = load(case.files)
    triples = 0 if loaded.ontology is None else len(loaded.ontology.triples)
    why = loaded.why
    for file in case.files:
        why = why.replace(f"{file}: ", "").replace(str(file), file.name)
    return {
        "triples": triples,
        "loads": loaded.ontology is not None,
        "needs": loaded.needs,
        "why": why,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
