"""Load, compare and time ontologies of others: ``python -m benchmarks.foreign [NAME …]``.

The tables go between the markers in ``docs/foreign-ontologies.md``. ``ONTOLOGIES`` names the
folder that has the files. What was measured is kept in ``benchmarks/results/foreign.json`` after
each row, so a run may measure a few ontologies anew.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.foreign.cases import FOLDER, Case, load, single_files, together
from benchmarks.foreign.oracle import NoAnswer, inferred_types
from benchmarks.foreign.streams import BASE, Slow, Stream, cost, random_messages, shape
from benchmarks.publish import with_tables
from sensorstream.errors import Inconsistent, OntologyError, ReasonerError
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology

PAGE: Final = Path(__file__).parents[2] / "docs" / "foreign-ontologies.md"
RESULTS: Final = Path(__file__).parents[1] / "results" / "foreign.json"
BEGIN: Final = "<!-- begin: python -m benchmarks.foreign -->"
END: Final = "<!-- end: python -m benchmarks.foreign -->"
SHAPES: Final = ("alone", "chain", "hub", "clique")
_NOT_GIVEN: Final = re.compile(
    r", which (?:is|are) not (?:one )?of the given| \(nor is |: expected"
)
"""Where the ways out begin in an error."""
_ANSWER: Final = 30.0
"""Seconds for an answer of the reasoner; its start has five times, owlready2 four times that."""
_STREAM: Final = 90.0
"""Seconds for a random stream."""
_WINDOW: Final = 8
_MESSAGES: Final = 40
_SHAPE_SECONDS: Final = 6.0
"""Wall-clock seconds for the messages of a shape."""
_CHOICES: Final = 3
"""Pairs of a class and a property for each shape."""
_TRIES: Final = 12


def main(names: Sequence[str]) -> int:
    """Measure, keep and publish; the exit code."""
    if not FOLDER.is_dir():
        print(f"{FOLDER}: no such folder: set ONTOLOGIES", file=sys.stderr)
        return 2
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    rows = found.setdefault("reasoned", {})
    if not names or "loaded" not in found:
        found["loaded"] = {case.name: _loading(case) for case in single_files()}
    for case in together():
        if names and case.name not in names:
            continue
        for reasoner in ("hermit", "pellet"):
            rows[f"{case.name}|{reasoner}"] = row = _reasoning(case, reasoner)
            print(case.name, reasoner, row, flush=True)
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    PAGE.write_text(with_tables(PAGE.read_text(), tables(found), BEGIN, END))
    return 0


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


def _reasoning(case: Case, reasoner: str) -> dict[str, Any]:
    ontology = load(case.files).ontology
    if ontology is None:
        return {"start": "refused"}
    row: dict[str, Any] = {"triples": len(ontology.triples)}
    try:
        stream = Stream.opened(ontology, reasoner, _WINDOW, _ANSWER)
    except (OntologyError, ReasonerError) as error:
        return {**row, "start": _short(str(error))}
    row["start"] = "consistent"
    try:
        row |= _compared(stream, ontology, reasoner)
        for name in SHAPES:
            row[name] = _timed(stream, ontology, name)
    except ReasonerError as error:
        row["failed"] = _short(str(error))
    finally:
        stream.close()
    return row


def _compared(stream: Stream, ontology: Ontology, reasoner: str) -> dict[str, Any]:
    """Whether the types in the window are those of owlready2, in the middle and at the end."""
    refused, missing, more, inferred = 0, 0, 0, 0
    messages = random_messages(ontology.schema, seed=1)
    end = time.monotonic() + _STREAM
    for number in range(1, _MESSAGES + 1):
        if time.monotonic() > end:
            return {"refused": refused, "same": f"{number - 1} messages within {_STREAM:g} s"}
        refused += not stream.take(next(messages))
        if number not in (_MESSAGES // 2, _MESSAGES):
            continue
        classes = ontology.schema.classes
        try:
            theirs = inferred_types(
                stream.triples(), stream.individuals(), reasoner, BASE, 4 * _ANSWER
            )
        except NoAnswer as error:
            return {"refused": refused, "same": f"owlready2: {_short(str(error))}"}
        if theirs is None:
            return {"refused": refused, "same": "owlready2 finds a contradiction"}
        ours = stream.types(classes)
        theirs = {(one, kind) for one, kind in theirs if kind in classes}
        missing += len(theirs - ours)
        more += len(ours - theirs)
        inferred += len(ours)
    same = "same" if not missing + more else f"{missing} missing, {more} more"
    return {"refused": refused, "same": same, "types": inferred}


def _timed(stream: Stream, ontology: Ontology, name: str) -> str:
    """CPU milliseconds a message of a shape: the least and the most of a few random choices."""
    draw = Random(1)
    classes = sorted(ontology.schema.classes)
    links = sorted(Terminology.of(ontology).linking) or sorted(ontology.schema.object_properties)
    if not classes or (name != "alone" and not links):
        return "none"
    found: list[float] = []
    for _ in range(_TRIES):
        stream.clear()
        link = draw.choice(links) if links else None
        message = shape(name, draw.choice(classes), link, _WINDOW)
        try:
            found.append(cost(stream, message, _WINDOW, _SHAPE_SECONDS))
        except Inconsistent:
            continue
        except Slow:
            found.append(1000 * _SHAPE_SECONDS)
        if len(found) == _CHOICES:
            break
    if not found:
        return "contradictory"
    ends = (min(found), max(found))
    least, most = (f"{each:.2g}" if each < 100 else f"{each:.0f}" for each in ends)
    return least if least == most else f"{least} to {most}"


def tables(found: dict[str, Any]) -> str:
    """Both tables in Markdown."""
    lines = [
        "| file | triples | loads | needs | without that |",
        "|---|---|---|---|---|",
    ]
    for name, row in found.get("loaded", {}).items():
        loads = "yes" if row["loads"] else "no"
        why = _short(_NOT_GIVEN.split(row["why"])[0], 160)
        lines.append(f"| {name} | {row['triples']} | {loads} | {row['needs']} | {why} |")
    lines += [
        "",
        "| ontology | reasoner | starts | messages refused | against owlready2 "
        "| alone | chain | hub | clique |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for key, row in found["reasoned"].items():
        name, _, reasoner = key.partition("|")
        columns = ("start", "refused", "same", *SHAPES)
        cells = [row.get(each, "") for each in columns]
        cells[2] = cells[2] or row.get("failed", "")
        if row.get("same") == "same":
            cells[2] = f"same ({row['types']} types)"
        lines.append(f"| {name} | {reasoner} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def _short(text: str, limit: int = 120) -> str:
    text = " ".join(text.split()).replace("|", "/").replace("'<", "<").replace(">'", ">")
    text = text.replace("<", "`<").replace(">", ">`")
    return text if len(text) <= limit else f"{text[:limit]}…"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
