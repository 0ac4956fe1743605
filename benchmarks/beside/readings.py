"""Shapes in step with a window, beside pySHACL on it, which finds the same violations.

Each event is a reading of nine statements, one in ten with something wrong; the oldest leaves the
window.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import process_time
from typing import Any, Final

from benchmarks.beside.turns import Pair, agree, timed
from sensorstream.app.control.live_shapes import LiveShapes
from sensorstream.app.recorded_engine import build_engine
from sensorstream.kb.graph_text import GraphReader
from sensorstream.model.events import Event
from sensorstream.shapes.shape_graph import read_shapes
from sensorstream.shapes.validation import Validator

SHAPES: Final = """\
@prefix : <http://example.org/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:ReadingShape a sh:NodeShape ; sh:targetClass :Reading ; sh:closed true ;
  sh:ignoredProperties ( <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> ) ;
  sh:property [ sh:path :sensor ; sh:minCount 1 ; sh:maxCount 1 ; sh:nodeKind sh:IRI ] ;
  sh:property [ sh:path :value ; sh:minCount 1 ; sh:datatype xsd:integer ; sh:maxInclusive 99 ] ;
  sh:property [ sh:path :unit ; sh:in ( "C" "F" ) ] ;
  sh:property [ sh:path :code ; sh:pattern "^[A-Z]{2}-[0-9]+$" ; sh:maxLength 12 ] ;
  sh:property [ sh:path :low ; sh:lessThan :high ] ;
  sh:property [ sh:path :high ; sh:minCount 1 ] ;
  sh:property [ sh:path :label ; sh:uniqueLang true ; sh:severity sh:Warning ] ;
  sh:or ( [ sh:property [ sh:path :value ; sh:minInclusive 0 ] ]
          [ sh:property [ sh:path :unit ; sh:hasValue "C" ] ] ) .
"""
_WRONG: Final = (
    (":value 21", ":value 120"),
    (":value 21", ':value "warm"'),
    (":sensor :s1 ;", ""),
    (':unit "C"', ':unit "K"'),
    (":low 0", ":low 50"),
    (":code", ":kode"),
    ('"one"@en', '"one"@en , "uno"@en'),
    (':value 21 ; :unit "C"', ':value -21 ; :unit "F"'),
)
_HEAD: Final = "@prefix : <http://example.org/> .\n"


def events() -> Iterator[Event]:
    """Readings without an end, each a second after the one before."""
    reader, number = GraphReader(), 0
    while True:
        text = (
            f':r{number} a :Reading ; :sensor :s1 ; :value 21 ; :unit "C" ; :code "AB-{number}" '
            f'; :low 0 ; :high 40 ; :label "one"@en , "eins"@de .'
        )
        if number % 10 == 0:
            text = text.replace(*_WRONG[number // 10 % len(_WRONG)])
        yield Event(reader.read(_HEAD + text, ""), number, f"m{number}")
        number += 1


@contextmanager
def beside_pyshacl(size: int) -> Iterator[Pair]:
    """Events through a window of so many, beside a validation of the window as a whole."""
    held: Counter[tuple[str, ...]] = Counter()
    coming = events()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shapes.ttl"
        file.write_text(SHAPES)
        with closing(build_engine(window=f"sliding {size} individuals", line="integer")) as engine:
            shapes = LiveShapes(engine, [file])

            def take(count: int) -> float:
                lines: list[dict[str, Any]] = []

                def take_them() -> None:
                    for _ in range(count):
                        lines.extend(shapes.take(engine.take(next(coming)), lambda time: time))

                spent = timed(take_them, count)()
                for each in lines:
                    held[_told(each)] += 1 if each["op"] == "+" else -1
                return spent

            def validate() -> float:
                validator, triples = Validator(read_shapes([file])), tuple(engine.kb.index)
                # What has come at an instant is told when the next one begins.
                take(1)
                begun = process_time()
                report = validator.report(triples)
                spent = process_time() - begun
                found = Counter(_told(each.data()) for each in report.violations)
                agree("violations", +held, found)
                return spent

            take(size)
            yield Pair(lambda: take(size), validate)


def _told(each: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(each[name]) for name in ("shape", "focus", "path", "value", "component"))
