"""Random rule programs in layers, and random changes of what they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.recursion.derivation_rule import DerivationRule
from sensorstream.sparql.algebra import (
    BGP,
    Alternative,
    Comparison,
    Distinct,
    Exists,
    Filter,
    Graph,
    Inverse,
    Join,
    LeftJoin,
    Minus,
    Not,
    OneOrMore,
    Path,
    Pattern,
    Project,
    Sequence,
    TriplePattern,
    Union,
    Variable,
)
from sensorstream.sparql.variable_scope import in_scope
from tests.network.recursion.oracle import WINDOW

NODES: tuple[Any, ...] = tuple(IRI(f"http://example.org/{name}") for name in "abcd")
CLASSES: tuple[Any, ...] = tuple(IRI(f"http://example.org/{name}") for name in "BCD")
# Classes and properties by layer: what is of the first is asserted only.
PROPERTIES: tuple[tuple[Any, ...], ...] = tuple(
    tuple(IRI(f"http://example.org/{name}{layer}") for name in "pq") for layer in range(3)
)
VARIABLES = tuple(map(Variable, "xyz"))


@dataclass(frozen=True)
class Change:
    """Where a triple is put in, or taken out if it is there; or which one there is taken out."""

    triple: Triple | int
    in_window: bool


_facts = st.builds(
    lambda s, p, o: (s, p, o),
    st.sampled_from(NODES),
    st.sampled_from([*PROPERTIES[0], *PROPERTIES[0], *PROPERTIES[1], PROPERTIES[2][0]]),
    st.sampled_from(NODES),
)
_typings = st.builds(
    lambda s, c: (s, rdf.TYPE, c), st.sampled_from(NODES), st.sampled_from(CLASSES)
)
_changes = st.builds(
    Change,
    st.one_of(_facts, _facts, _facts, _typings, *[st.integers(0, 30)] * 3),
    st.sampled_from([False, False, True]),
)
streams = st.lists(st.lists(_changes, min_size=1, max_size=6), min_size=1, max_size=8)


def _triple(draw: st.DrawFn, layer: int, paths: bool = True) -> TriplePattern:
    """A pattern over what is of the layers up to one."""
    subject, object_ = draw(st.sampled_from(VARIABLES)), draw(st.sampled_from(VARIABLES))
    if draw(st.integers(0, 5)) == 0:
        return TriplePattern(subject, rdf.TYPE, draw(st.sampled_from(CLASSES[: layer + 1])))
    steps = [each for properties in PROPERTIES[: layer + 1] for each in properties]
    # The layer's own properties, more often: that makes recursion.
    steps += [*PROPERTIES[layer], *PROPERTIES[layer]]
    path: Path = draw(st.sampled_from(steps))
    if paths and draw(st.integers(0, 5)) == 0:
        other = draw(st.sampled_from(steps))
        kinds: list[Path] = [
            Inverse(path),
            Sequence(path, other),
            Alternative(path, Inverse(other)),
        ]
        path = draw(st.sampled_from(kinds))
    if draw(st.integers(0, 7)) == 0:
        return TriplePattern(subject, path, draw(st.sampled_from(NODES)))
    return TriplePattern(subject, path, object_)


@st.composite
def _bodies(draw: st.DrawFn, layer: int) -> Pattern:
    def block(most: int, layer: int = layer) -> BGP:
        return BGP(tuple(_triple(draw, layer) for _ in range(draw(st.integers(1, most)))))

    body: Pattern = block(3)
    match draw(st.integers(0, 9)):
        case 0:
            body = Union(body, block(2))
        case 1:
            body = Join(body, Union(block(1), block(1)))
        case 2:
            body = Filter(Comparison("!=", VARIABLES[0], VARIABLES[1]), body)
        case 3:
            inside = BGP((_triple(draw, 0, False),))
            body = Join(body, Graph(WINDOW, inside))
    match draw(st.integers(0, 9)):
        case 0:
            body = Minus(body, block(1, layer - 1))
        case 1 | 2:
            body = Filter(Not(Exists(block(1, layer - 1))), body)
        case 3:
            body = LeftJoin(body, block(1, layer - 1))
        case 4:
            step = draw(st.sampled_from(PROPERTIES[layer - 1]))
            ends = draw(st.tuples(st.sampled_from(VARIABLES), st.sampled_from(VARIABLES)))
            body = Join(body, BGP((TriplePattern(ends[0], OneOrMore(step), ends[1]),)))
        case 5:
            inner = block(2, layer - 1)
            names = sorted(in_scope(inner))[:1]
            body = Join(body, Distinct(Project(inner, tuple(map(Variable, names)))))
    return body


@st.composite
def _rules(draw: st.DrawFn, layer: int, name: str) -> DerivationRule:
    body = draw(_bodies(layer))
    ends = st.sampled_from([*map(Variable, sorted(in_scope(body))), NODES[0]])
    head = []
    for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
        if draw(st.integers(0, 5)) == 0:
            head.append(TriplePattern(draw(ends), rdf.TYPE, CLASSES[layer]))
        else:
            predicate = draw(st.sampled_from(PROPERTIES[layer]))
            head.append(TriplePattern(draw(ends), predicate, draw(ends)))
    return DerivationRule(name, tuple(head), body)


def _rule(name: str, head: str, *body: str) -> DerivationRule:
    return DerivationRule(name, (_pattern(head),), BGP(tuple(map(_pattern, body))))


def _pattern(text: str) -> TriplePattern:
    """``x p1 y`` with one letter a variable."""
    s, p, o = text.split()
    step = IRI(f"http://example.org/{p}")
    return TriplePattern(Variable(s), step, Variable(o))


TRANSITIVE = _rule("transitive", "x p1 z", "x p1 y", "y p1 z")
SYMMETRIC = _rule("symmetric", "y p1 x", "x p1 y")
BASE = _rule("base", "x p1 y", "x p0 y")
RIGHT = _rule("right-linear", "x p1 z", "x p0 y", "y p1 z")
SAME = _rule("same", "y q1 z", "x p1 y", "x q1 z")
EVEN = _rule("even", "x q1 z", "x p1 y", "y p0 z")
ODD = _rule("odd", "x p1 z", "x q1 y", "y p0 z")
CLASSICS = (TRANSITIVE, SYMMETRIC, BASE, RIGHT, SAME, EVEN, ODD)


@st.composite
def programs(draw: st.DrawFn) -> tuple[tuple[DerivationRule, ...], ...]:
    """Rules by layer; what a rule needs the whole of is written by lower layers only."""
    first = list(draw(st.lists(st.sampled_from(CLASSICS), max_size=3, unique=True)))
    for number in range(draw(st.integers(0, 3))):
        first.append(draw(_rules(1, f"first{number}")))
    second = [draw(_rules(2, f"second{number}")) for number in range(draw(st.integers(0, 2)))]
    return tuple(first), tuple(second)
