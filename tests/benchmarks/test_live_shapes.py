from __future__ import annotations

from benchmarks.live_shapes import CASES, measure
from sensorstream.shapes.shape_compiler import compile_shapes
from tests.shapes.oracle import shapes_of


def test_both_ways_find_the_same_violations() -> None:
    # Each kind of fault comes within 80 readings.
    found = measure(80, CASES["and one in SPARQL"], measured=3, validations=1)
    assert found.violations >= 8
    assert found.pyshacl > 0


def test_there_are_as_many_constraints_as_the_page_says() -> None:
    assert len(compile_shapes(shapes_of(CASES["SHACL Core"]))) == 14
