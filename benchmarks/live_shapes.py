"""Shapes in step with a window, beside pySHACL on it: ``python -m benchmarks.live_shapes``.

Each event is a reading of nine statements, one in ten with something wrong; the oldest leaves the
window. Prints the CPU milliseconds that the shapes add to an event, and those of a validation of
the window as a whole, which finds the same violations (checked).
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Final

from sensorstream.app.control.live_shapes import LiveShapes
from sensorstream.app.life.process_memory import spare_what_stays
from sensorstream.app.recorded_engine import build_engine
from sensorstream.kb.graph_text import GraphReader
from sensorstream.model.events import Event
from sensorstream.shapes.shape_graph import read_shapes
from sensorstream.shapes.validation import Validator

SIZES: Final = (100, 1000)
_MEASURED: Final = 500
_VALIDATIONS: Final = 2

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
IN_SPARQL: Final = """\
:ReadingShape sh:sparql [ sh:message "twice" ; sh:select '''SELECT $this ?value {
  $this <http://example.org/code> ?value . ?other <http://example.org/code> ?value
  FILTER(?other != $this) }''' ] .
"""
CASES: Final = {"SHACL Core": SHAPES, "and one in SPARQL": SHAPES + IN_SPARQL}
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


@dataclass(frozen=True, slots=True)
class Measured:
    """CPU milliseconds at a size of the window: of an event without shapes and with them, and of a
    validation by pySHACL; the number of violations in the window.
    """

    size: int
    bare: float
    shaped: float
    pyshacl: float
    violations: int

    @property
    def ratio(self) -> float:
        """How many times dearer a validation is than what the shapes add to an event."""
        return self.pyshacl / max(self.shaped - self.bare, 1e-6)


def measure(
    size: int, text: str, measured: int = _MEASURED, validations: int = _VALIDATIONS
) -> Measured:
    """Measure the shapes of a text on a window of a size.

    Raises:
        AssertionError: the two do not find the same violations.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shapes.ttl"
        file.write_text(text)
        bare, _, _ = _run((), size, measured, 0)
        shaped, pyshacl, violations = _run((file,), size, measured, validations)
    return Measured(size, bare, shaped, pyshacl, violations)


def _run(
    files: Sequence[Path], size: int, measured: int, validations: int
) -> tuple[float, float, int]:
    held: Counter[tuple[str, ...]] = Counter()
    coming = events()
    with closing(build_engine(window=f"sliding {size} individuals", line="integer")) as engine:
        shapes = LiveShapes(engine, files)

        def take(count: int) -> float:
            begun = process_time()
            lines: list[dict[str, Any]] = []
            for _ in range(count):
                lines += shapes.take(engine.take(next(coming)), lambda time: time)
            spent = process_time() - begun
            for each in lines:
                held[_told(each)] += 1 if each["op"] == "+" else -1
            return 1000 * spent / count

        take(size)
        spare_what_stays()
        cost = take(measured)
        spent = []
        for _ in range(validations):
            validator, triples = Validator(read_shapes(files)), tuple(engine.kb.index)
            # What has come at an instant is told when the next one begins.
            take(1)
            begun = process_time()
            report = validator.report(triples)
            spent.append(1000 * (process_time() - begun))
            assert +held == Counter(_told(each.data()) for each in report.violations)
    return cost, median(spent) if spent else 0.0, sum((+held).values())


def _told(each: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(each[name]) for name in ("shape", "focus", "path", "value", "component"))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live_shapes", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    sizes = parser.parse_args(arguments).sizes
    print("| shapes | individuals | violations | event | with shapes | pySHACL | times |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, text in CASES.items():
        for size in sizes:
            each = measure(size, text)
            print(
                f"| {name} | {size:,} | {each.violations:,} | {each.bare:.2f} | {each.shaped:.2f} "
                f"| {each.pyshacl:,.0f} | {each.ratio:,.0f} |"
            )


if __name__ == "__main__":
    main()
