"""Positions of trackers among many fences: ``python -m benchmarks.fences [MESSAGES]``.

An engine (profile ``plain``) takes the positions of a hundred trackers; a rule raises an alert
while one is in a fence. The table has the processor time of a message with and without the rule,
and that of one call of shapely for all fences, over an array of prepared polygons.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import shapely

from sensorstream.app.control.wiring import build_machine, read_deployment
from sensorstream.model.events import Message, Status
from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WindowSettings,
)

FENCES: Final = ((0, True), (100, True), (10_000, False), (10_000, True))
"""Numbers of fences, and whether positions may be in one."""
MESSAGES: Final = 3000
_TRACKERS: Final = 100
_SIDE: Final = 100
"""A fence is in a cell of a square of so many cells, which it fills to a half."""
_ONTOLOGY: Final = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix geo: <http://www.opengis.net/ont/geosparql#> .
<http://example.org/> a owl:Ontology .
:Tracker a owl:Class . :Fence a owl:Class .
:at a owl:DatatypeProperty . :area a owl:DatatypeProperty .
"""
_RULES: Final = """
prefix : <http://example.org/>
prefix geo: <http://www.opengis.net/ont/geosparql#>
prefix geof: <http://www.opengis.net/def/function/geosparql/>

mapping position
on message {/position}
then update individual :{@id} a :Tracker at {@time}
  ; :at "POINT({@lon} {@lat})"^^geo:wktLiteral .
"""
_INSIDE: Final = """
rule inside
when select { SELECT ?who ?fence { ?who :at ?place . ?fence :area ?area
  FILTER(geof:sfWithin(?place, ?area)) } } becomes true
then alert info "{?who} is in {?fence}" key "{?who} {?fence}"
"""


@dataclass(frozen=True, slots=True)
class Row:
    """Milliseconds of a processor for a message, without the rule too; alerts of all messages."""

    fences: int
    with_rule: float
    without: float
    shapely: float
    alerts: int


def measure(fences: int, messages: int, *, inside: bool = True) -> Row:
    """Send positions to an engine with the rule, and to one without it."""
    chance = random.Random(7)
    cells = chance.sample([(x, y) for x in range(_SIDE) for y in range(_SIDE)], fences)
    boxes = [shapely.box(x / 10, y / 10, x / 10 + 0.07, y / 10 + 0.07) for x, y in cells]
    corners = [divmod(chance.randrange(_SIDE**2), _SIDE) for _ in range(messages + _TRACKERS)]
    least = 0 if inside else 0.071
    spots = [
        (x / 10 + chance.uniform(least, 0.099), y / 10 + chance.uniform(0, 0.099))
        for x, y in corners
    ]
    stream = [
        Message(
            f"m{number}",
            f'<position id="t{number % _TRACKERS}" time="{number}" lon="{x}" lat="{y}"/>'.encode(),
            number,
        )
        for number, (x, y) in enumerate(spots, 1)
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        areas = "".join(
            f':f{n} a :Fence ; :area "{each.wkt}"^^geo:wktLiteral .\n'
            for n, each in enumerate(boxes)
        )
        (folder / "fences.ttl").write_text(_ONTOLOGY + areas, encoding="utf-8")
        spent, alerts = {}, 0
        for rules in ("", _INSIDE):
            (folder / "fences.rules").write_text(_RULES + rules, encoding="utf-8")
            machine = build_machine(read_deployment(_settings(folder)), time.perf_counter)
            try:
                begun = 0.0
                for number, message in enumerate(stream):
                    if number == _TRACKERS:
                        begun = time.process_time()
                    outcome = machine.engine.take(machine.mapper.map(message))
                    if outcome.status is not Status.ACCEPTED:
                        raise RuntimeError(f"{message.id}: {outcome.warnings}")
                    alerts += len(outcome.alerts)
                spent[rules] = 1e3 * (time.process_time() - begun) / messages
            finally:
                machine.engine.close()
    shapely.prepare(boxes)
    begun = time.process_time()
    few = spots[: max(1, messages // 10)]
    for x, y in few:
        shapely.contains_xy(boxes, x, y)
    all_of = 1e3 * (time.process_time() - begun) / len(few)
    return Row(fences, spent[_INSIDE], spent[""], all_of, alerts)


def _settings(folder: Path) -> Settings:
    return Settings(
        path=folder / "sensorstream.toml",
        ontology=OntologySettings(files=(folder / "fences.ttl",)),
        rules=RuleSettings(files=(folder / "fences.rules",)),
        window=WindowSettings(size=str(2 * _TRACKERS)),
        reasoning=ReasoningSettings(profile="plain"),
    )


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| fences | a message, ms | of them the rule | all fences by shapely | alerts |",
        "|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        rule = row.with_rule - row.without
        each = f"{row.alerts:,}"
        lines.append(
            f"| {row.fences:,} | {row.with_rule:.3f} | {rule:.3f} | {row.shapely:.3f} | {each} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Measure every number of fences, and print the table."""
    messages = int(arguments[0]) if arguments else MESSAGES
    print(table([measure(fences, messages, inside=inside) for fences, inside in FENCES]))


if __name__ == "__main__":
    main(sys.argv[1:])
