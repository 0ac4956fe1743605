"""Kinds of triples: what patterns read, and an index that finds what a triple concerns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.recursion.triple_kinds import (
    KindIndex,
    TriplesRead,
    reads,
    with_conclusions,
    written,
)
from tests.network.recursion.world import rule

P, Q, C, D = (IRI(f"http://example.org/{name}") for name in "pqCD")
kinds = st.builds(TriplesRead, st.sampled_from([P, Q, None]), st.sampled_from([C, D, None]))


@given(kinds, kinds)
def test_kinds_meet_if_a_triple_is_of_both(one: TriplesRead, other: TriplesRead) -> None:
    both = [
        (p, o)
        for p in (P, Q)
        for o in (C, D)
        if all(kind.predicate in (p, None) and kind.object in (o, None) for kind in (one, other))
    ]
    assert one.meets(other) is bool(both)


@given(st.sets(st.tuples(kinds, st.integers(0, 3))), st.data(), kinds)
def test_the_index_finds_what_meets_a_kind(held: set[Any], data: st.DataObject, asked: Any) -> None:
    index = KindIndex[int]()
    for kind, thing in sorted(held, key=str):
        index.add(kind, thing)
    gone = data.draw(st.sets(st.sampled_from(sorted(held, key=str)))) if held else set()
    for kind, thing in sorted(gone, key=str):
        index.remove(kind, thing)
    assert set(index.meeting(asked)) == {n for kind, n in held - gone if kind.meets(asked)}
    assert bool(index._found) is bool(held - gone)


@given(st.dictionaries(kinds, kinds), st.sets(kinds))
def test_kinds_follow_from_kinds_by_conclusions(
    rules: dict[TriplesRead, TriplesRead], begun: set[TriplesRead]
) -> None:
    rules = {one: other for one, other in rules.items() if one.predicate and other.predicate}

    def conclusions(triple: Triple) -> list[Triple]:
        _, p, o = triple
        made = (rules.get(TriplesRead(p, each)) for each in (None, o))
        return [(triple[0], each.predicate, each.object or o) for each in made if each]  # type: ignore[misc]

    found = set(begun)
    while True:
        more = {
            TriplesRead(made.predicate, made.object or kind.object)
            for kind in found
            for made in (rules.get(TriplesRead(kind.predicate, o)) for o in {None, kind.object})
            if kind.predicate and made
        }
        if more <= found:
            break
        found |= more
    assert with_conclusions(begun, conclusions) == found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("?x :p ?y . ?x a :C", {(P, None, None), (rdf.TYPE, C, None)}),
        ("?x ?p :C", {(None, C, None)}),
        ("?x :p/^:q ?y", {(P, None, "a property path"), (Q, None, "a property path")}),
        ("?x :p* ?y", {(None, None, "a property path")}),
        ("{ ?x :p ?y } UNION { ?x :q :C }", {(P, None, "UNION"), (Q, C, "UNION")}),
        ("?x :p ?y OPTIONAL { ?x :q ?z }", {(P, None, None), (Q, None, "OPTIONAL")}),
        ("?x :p ?y MINUS { ?x :q ?z }", {(P, None, None), (Q, None, "MINUS")}),
        (
            "?x :p ?y FILTER NOT EXISTS { ?x :q ?z OPTIONAL { ?z a :D } }",
            {(P, None, None), (Q, None, "EXISTS"), (rdf.TYPE, D, "EXISTS")},
        ),
        (
            "?x :p ?y MINUS { ?x :q ?z FILTER EXISTS { ?z a :D } }",
            {(P, None, None), (Q, None, "MINUS"), (rdf.TYPE, D, "MINUS")},
        ),
        ("{ SELECT ?x { ?x :p ?y } }", {(P, None, "a sub-select")}),
        ("GRAPH :g { ?x :p ?y } WINDOW :w { ?x :q ?y }", set()),
    ],
)
def test_a_body_reads_kinds_through_what_needs_all_of_them(body: str, expected: set[Any]) -> None:
    source = "FROM NAMED WINDOW :w [RANGE 1m] " if "WINDOW" in body else ""
    made = rule("r", f"{{ ?x :made ?x }} {source}WHERE {{ {body} }}")
    found = {(each.kind.predicate, each.kind.object, each.through) for each in reads(made.body)}
    assert found == expected
    assert written(made.head[0]) == TriplesRead(IRI("http://example.org/made"), None)
