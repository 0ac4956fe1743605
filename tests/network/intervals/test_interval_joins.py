"""Joins, SEQ, EXISTS and the optional forms in time against their definition, with ties."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import Triple
from sensorstream.sparql.query_parser import parse_query
from tests.network.intervals.definition import solutions, timed
from tests.network.intervals.random_patterns import (
    PREFIX,
    Gaps,
    backgrounds,
    events,
    existing,
    found_and_defined,
    restarted,
    run,
    stream_of,
    streams,
    texts,
    triples,
)


@settings(max_examples=250)
@given(text=texts, gaps=streams, background=backgrounds)
def test_every_solution_is_told_once_with_its_interval_when_it_is_over(
    text: str, gaps: list[tuple[int, int, list[Triple]]], background: list[Triple]
) -> None:
    said = events(gaps)
    expected = solutions(parse_query(text).form.pattern, stream_of(said, background))
    found = run(text, said, background)
    assert len(found) == len(set(found)), "each solution once"
    assert set(found) == {each for each in expected if timed(each)}


choosing = st.tuples(
    st.sampled_from(["?x :p ?v", "?x :q ?v", "?x ?p ?v", "?x :p ?v . ?y :q ?u"]),
    st.sampled_from(["RECENT", "CHRONOLOGICAL"]),
    st.sampled_from(["?x :p ?w", "?y :q ?w", "?x :q ?w . ?y :p ?u"]),
    st.sampled_from(["", "?v < ?w", "?v != ?w", 'getDURATION() < "PT3S"^^xsd:duration']),
    st.sampled_from(["", " SEQ { ?x ?q ?z } FILTER(getDURATION() < 'PT6S'^^xsd:duration)"]),
).map(
    lambda parts: (
        f"{PREFIX}SELECT ?x ?v ?w ?z WHERE {{ {{ {{ {parts[0]} }} SEQ {parts[1]} {{ {parts[2]} }} "
        f"{f'FILTER({parts[3]})' if parts[3] else ''} }}{parts[4]} }}"
    )
)


@settings(max_examples=150)
@given(text=choosing, gaps=streams, order=st.randoms(use_true_random=False), cut=st.integers(0, 7))
def test_a_consuming_seq_chooses_among_what_fits_and_survives_a_restart(
    text: str, gaps: list[tuple[int, int, list[Triple]]], order: Any, cut: int
) -> None:
    said = sorted(events(gaps), key=lambda event: (event.time, order.random()))
    expected = solutions(parse_query(text).form.pattern, stream_of(said, []))
    found = restarted(text, said, [], cut)
    assert len(found) == len(set(found))
    assert set(found) == expected


@settings(max_examples=60)
@given(text=texts, gaps=streams, order=st.randoms(use_true_random=False))
def test_the_order_of_what_happens_at_one_time_makes_no_difference(
    text: str, gaps: list[tuple[int, int, list[Triple]]], order: Any
) -> None:
    said = events(gaps)
    shuffled = sorted(said, key=lambda event: (event.time, order.random()))
    assert set(run(text, said, [])) == set(run(text, shuffled, []))


@settings(max_examples=50)
@given(text=existing, gaps=streams, background=st.lists(triples, max_size=2, unique=True))
def test_exists_asks_for_what_has_ended_by_then(
    text: str, gaps: Gaps, background: list[Triple]
) -> None:
    found, defined = found_and_defined(text, gaps, background)
    assert found == defined
