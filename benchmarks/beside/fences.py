"""Positions of trackers among many fences; a rule raises an alert while one is in a fence."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import shapely

from benchmarks.beside.turns import Pair, timed
from sensorstream.app.control.wiring import build_machine, read_deployment
from sensorstream.model.events import Message, Status
from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WindowSettings,
)

_MESSAGES: Final = 500
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

rule inside
when select { SELECT ?who ?fence { ?who :at ?place . ?fence :area ?area
  FILTER(geof:sfWithin(?place, ?area)) } } becomes true
then alert info "{?who} is in {?fence}" key "{?who} {?fence}"
"""


@contextmanager
def beside_shapely(size: int) -> Iterator[Pair]:
    """Messages of a hundred trackers, each tenth in one of so many fences, beside one call of
    shapely for all of them, over an array of prepared polygons.
    """
    chance = random.Random(7)
    cells = chance.sample([(x, y) for x in range(_SIDE) for y in range(_SIDE)], size)
    boxes = [shapely.box(x / 10, y / 10, x / 10 + 0.07, y / 10 + 0.07) for x, y in cells]
    areas = "".join(
        f':f{n} a :Fence ; :area "{each.wkt}"^^geo:wktLiteral .\n' for n, each in enumerate(boxes)
    )
    number = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "fences.ttl").write_text(_ONTOLOGY + areas, encoding="utf-8")
        (folder / "fences.rules").write_text(_RULES, encoding="utf-8")
        machine = build_machine(read_deployment(_settings(folder)), time.perf_counter)
        shapely.prepare(boxes)

        def turn(count: int) -> float:
            nonlocal number
            first, number = number, number + count
            stream = [_message(each, *_spot(chance)) for each in range(first, number)]

            def take() -> None:
                for message in stream:
                    outcome = machine.engine.take(machine.mapper.map(message))
                    if outcome.status is not Status.ACCEPTED:
                        raise RuntimeError(f"{message.id}: {outcome.warnings}")

            return timed(take, count)()

        def theirs() -> float:
            spots = [_spot(chance) for _ in range(_MESSAGES // 10)]

            def ask() -> None:
                for x, y in spots:
                    shapely.contains_xy(boxes, x, y)

            return timed(ask, len(spots))()

        with closing(machine.engine):
            turn(2 * _TRACKERS)
            yield Pair(lambda: turn(_MESSAGES), theirs)


def _spot(chance: random.Random) -> tuple[float, float]:
    x, y = divmod(chance.randrange(_SIDE**2), _SIDE)
    return x / 10 + chance.uniform(0, 0.099), y / 10 + chance.uniform(0, 0.099)


def _message(number: int, x: float, y: float) -> Message:
    name = f"t{number % _TRACKERS}"
    text = f'<position id="{name}" time="{number}" lon="{x}" lat="{y}"/>'
    return Message(f"m{number}", text.encode(), number)


def _settings(folder: Path) -> Settings:
    return Settings(
        path=folder / "sensorstream.toml",
        ontology=OntologySettings(files=(folder / "fences.ttl",)),
        rules=RuleSettings(files=(folder / "fences.rules",)),
        window=WindowSettings(size=str(2 * _TRACKERS)),
        reasoning=ReasoningSettings(profile="plain"),
    )
