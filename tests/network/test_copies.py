"""Copies of graphs hold what the graphs hold, whatever has come and gone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import TermError
from sensorstream.kb import graph_changes
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.network.copies import Copies
from sensorstream.network.exact_values import repeated
from sensorstream.sparql.query_parser import parse_query

P = IRI("http://example.org/p")
SUBJECTS: tuple[Any, ...] = (IRI("http://example.org/a"), BlankNode("_:b"))
OBJECTS: tuple[Any, ...] = (
    # Oxigraph's store could not tell the first two apart.
    Literal("1", xsd.INTEGER),
    Literal("01", xsd.INTEGER),
    Literal("2", xsd.INTEGER),
    Literal("1"),
    SUBJECTS[0],
)
triples: Any = st.tuples(st.sampled_from(SUBJECTS), st.just(P), st.sampled_from(OBJECTS))


def content(copies: Copies, name: IRI, *indexes: TripleIndex) -> set[tuple[str, str]]:
    query = repeated(parse_query("SELECT ?s ?o { ?s ?p ?o }"))
    return {(s.n3, o.n3) for s, o in copies.select(query, name, indexes) if s and o}


def expected(index: TripleIndex) -> set[tuple[str, str]]:
    return {(s.n3, o.n3) for s, _, o in index}


@given(
    instants=st.lists(st.lists(st.tuples(st.booleans(), triples), max_size=4), max_size=6),
    worn=st.sampled_from((0, 20_000)),
)
def test_a_copy_is_kept_in_step(instants: list[list[tuple[bool, Any]]], worn: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_changes, "_WORN", worn)
        indexes, copies = (TripleIndex(), TripleIndex()), Copies()
        names = [copies.use(each) for each in indexes]
        for instant in instants:
            for first, triple in instant:
                index = indexes[0 if first else 1]
                (index.discard if triple in index else index.add)(triple)
            for index, name in zip(indexes, names, strict=True):
                assert content(copies, name, index) == expected(index)


def test_a_copy_goes_with_its_last_user() -> None:
    index, copies = TripleIndex(), Copies()
    index.add((SUBJECTS[0], P, OBJECTS[0]))
    name = copies.use(index)
    assert copies.use(index) == name
    copies.leave(index)
    assert len(content(copies, name, index)) == 1
    copies.leave(index)
    assert len(copies) == 0
    assert not index.watchers
    assert content(copies, name) == set()


def test_what_is_wrong_with_one_index_concerns_only_who_reads_it() -> None:
    good, bad, copies = TripleIndex(), TripleIndex(), Copies()
    good.add((SUBJECTS[0], P, OBJECTS[0]))
    bad.add((IRI("no IRI"), P, OBJECTS[0]))
    name, other = copies.use(good), copies.use(bad)
    assert len(content(copies, name, good)) == 1
    with pytest.raises((ValueError, TermError)):
        content(copies, other, bad)
