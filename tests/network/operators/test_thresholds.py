"""Queries that differ in a constant share an operator, and each gets what it would get alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.network.build import build
from sensorstream.network.expressions.expression_functions import test_of as holds_of
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.operators.thresholds import ThresholdsOperator
from sensorstream.network.plan.planner import plan
from sensorstream.network.query_sources import DEFAULT, Sources
from sensorstream.network.rows import Row
from sensorstream.sparql.algebra import Comparison, Variable
from sensorstream.sparql.query_parser import parse_query

P, Q = IRI("http://example.org/p"), IRI("http://example.org/q")
SUBJECTS = tuple(IRI(f"http://example.org/{name}") for name in "abc")
VALUES: tuple[Any, ...] = (
    *(Literal(str(n), xsd.INTEGER) for n in range(4)),
    Literal("1.5", xsd.DECIMAL),
    Literal("2.0", xsd.DOUBLE),
    Literal("NaN", xsd.DOUBLE),
    Literal("text"),
    SUBJECTS[0],
)
PATTERNS = (
    "?s <http://example.org/p> ?x",
    "?s <http://example.org/p> ?x . ?s <http://example.org/q> ?y",
    "?s <http://example.org/q> ?y OPTIONAL { ?s <http://example.org/p> ?x }",
    "{ SELECT ?s (COUNT(*) AS ?x) { ?s ?p ?y } GROUP BY ?s }",
)
triples: Any = st.tuples(
    st.sampled_from(SUBJECTS), st.sampled_from((P, Q)), st.sampled_from(VALUES)
)


class Follower:
    """One query, and the sum of its changes."""

    def __init__(self, network: Network, index: TripleIndex, text: str) -> None:
        query = parse_query(text)
        self.root = build(plan(query.form.pattern, Sources()), network, {DEFAULT: index})
        self.rows = Counter(self.root.rows())
        network.listen(self.root, self.changed)

    def changed(self, added: list[Row], removed: list[Row]) -> None:
        self.rows.update(added)
        self.rows.subtract(removed)

    def answer(self) -> Counter[Row]:
        return +self.rows


def toggle(index: TripleIndex, triple: Triple) -> None:
    (index.discard if triple in index else index.add)(triple)


@given(
    pattern=st.sampled_from(PATTERNS),
    operator=st.sampled_from(("=", "<", ">", "<=", ">=")),
    instants=st.lists(
        st.tuples(st.lists(triples, max_size=3), st.sampled_from(VALUES), st.booleans()), max_size=8
    ),
)
def test_each_reader_gets_what_its_filter_gives_of_the_whole(
    pattern: str, operator: Any, instants: list[tuple[list[Triple], Any, bool]]
) -> None:
    network, index = Network(), TripleIndex()
    whole = Follower(network, index, f"SELECT ?s ?x {{ {pattern} }}")
    readers: dict[Any, Follower] = {}
    for changes, constant, turned in instants:
        for triple in changes:
            toggle(index, triple)
        network.settle()
        if constant in readers:
            gone = readers.pop(constant)
            network.leave(gone.root, gone.changed)
        else:
            condition = f"?x {operator} {constant.n3}"
            if turned:
                back = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(operator, operator)
                condition = f"{constant.n3} {back} ?x"
            text = f"SELECT ?s ?x {{ {pattern} FILTER({condition}) }}"
            readers[constant] = Follower(network, index, text)
        for held, reader in readers.items():
            holds = holds_of(Comparison(operator, Variable("x"), held), {"s": 0, "x": 1})
            expected = Counter({row: n for row, n in whole.answer().items() if holds(row)})
            assert reader.answer() == expected
            assert Counter(reader.root.rows()) == expected
    for reader in readers.values():
        network.leave(reader.root, reader.changed)
    network.leave(whole.root, whole.changed)
    assert len(network) == 0


@pytest.mark.parametrize("pattern", PATTERNS)
def test_many_readers_share_all_but_their_own_filter(pattern: str) -> None:
    network, index = Network(), TripleIndex()
    one = f"SELECT ?s ?x {{ {pattern} FILTER(?x > 0) }}"
    first = Follower(network, index, one)
    alone = len(network)
    others = [Follower(network, index, one.replace("> 0", f"> {n}")) for n in range(1, 10)]
    each_own = {node for f in (first, *others) for node in above_thresholds(f.root)}
    assert len(network) == alone + len(each_own) - len(above_thresholds(first.root))


def above_thresholds(root: Node) -> set[Node]:
    """The operators of a query from its root down to the shared one."""
    if isinstance(root, ThresholdsOperator):
        return set()
    return {root}.union(*(above_thresholds(each) for each in root.inputs))


def test_only_the_readers_a_row_concerns_are_woken() -> None:
    network, index = Network(), TripleIndex()
    text = f"SELECT ?s {{ ?s <{P}> ?x FILTER(?x > 0) }}"
    readers = [Follower(network, index, text.replace("0)", f"{n})")) for n in range(100)]
    woken: list[int] = []
    network.observers.append(lambda nodes: woken.append(len(nodes)))
    index.add((SUBJECTS[0], P, Literal("3", xsd.INTEGER)))
    network.settle()
    assert [bool(reader.answer()) for reader in readers] == [n < 3 for n in range(100)]
    # The triples, the comparison, and the three.
    assert woken == [5]
