"""Paths as plans connect the pairs that the definition of paths connects."""

from __future__ import annotations

from itertools import count
from typing import Any

from hypothesis import given, settings

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.network.build import build
from sensorstream.network.network import Network
from sensorstream.network.plan.conjunction import Conjunction, assembled, projected
from sensorstream.network.plan.paths import add_path
from sensorstream.network.query_sources import DEFAULT
from sensorstream.sparql.algebra import Inverse, Path, Sequence, Variable
from tests.network.intervals.definition import pairs_of
from tests.network.naive_match import contents, ends, toggle
from tests.network.oracle import NODES, PROPERTIES, paths


@settings(max_examples=200)
@given(subject=ends, path=paths(depth=3), object_=ends, content=contents)
def test_a_path_connects_the_pairs_of_its_definition(
    subject: Any, path: Path, object_: Any, content: Any
) -> None:
    index = TripleIndex()
    toggle((index, index), dict.fromkeys((0, triple) for _, triple in content))
    parts = Conjunction()
    add_path(parts, (subject, path, object_), DEFAULT, count())
    names = tuple(dict.fromkeys(e.name for e in (subject, object_) if isinstance(e, Variable)))
    found = build(projected(assembled(parts), names), Network(), {DEFAULT: index}).rows()
    constants = [end for end in (subject, object_) if not isinstance(end, Variable)]
    expected = set()
    for pair in pairs_of(path, set(index), constants):
        bound: dict[Any, Any] = {}
        if all(
            bound.setdefault(end, term) == term if isinstance(end, Variable) else end == term
            for end, term in zip((subject, object_), pair, strict=True)
        ):
            expected.add(tuple(bound[Variable(name)] for name in names))
    assert set(found) == expected


def test_steps_of_a_fixed_length_become_triples_and_the_rest_pairs() -> None:
    parts, (p, q, _) = Conjunction(), PROPERTIES
    x, y = Variable("x"), Variable("y")
    add_path(parts, (x, Sequence(Inverse(p), Inverse(Sequence(p, q))), y), DEFAULT, count())
    assert not parts.others
    one, two = (Variable(f".path{number}") for number in range(2))
    assert {each.ends for each in parts.triples} == {(one, p, x), (y, p, two), (two, q, one)}
    add_path(parts, (NODES[0], NODES[1], y), DEFAULT, count())
    assert len(parts.triples) == 4
