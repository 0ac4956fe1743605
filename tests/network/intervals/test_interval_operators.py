"""GROUP BY and LIMIT in time against their definition."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.terms import Triple
from sensorstream.sparql.query_parser import parse_query
from tests.network.intervals.definition import solutions, timed
from tests.network.intervals.random_patterns import (
    PREFIX,
    Gaps,
    backgrounds,
    blocks,
    combined,
    events,
    found_and_defined,
    limits,
    restarted,
    stream_of,
    streams,
    triples,
)

grouped = st.tuples(
    st.sampled_from(["(COUNT(*) AS ?n)", "(SUM(?w) AS ?n) (COUNT(DISTINCT ?w) AS ?m)"]),
    combined(blocks),
    st.sampled_from(["", "GROUP BY ?x", "GROUP BY ?x ?y"]),
    st.sampled_from(["", "< 'PT3S'", "<= 'PT2S'", "< 'PT0S'"]),
    st.sampled_from(["", " SEQ { ?x ?q ?y }", " UNION { ?x :p ?n }"]),
).map(
    lambda parts: (
        f"{PREFIX}SELECT ?x ?y ?n ?m WHERE {{ {{ {{ SELECT {parts[2].removeprefix('GROUP BY')} "
        f"{parts[0]} WHERE {{ {parts[1]} }} {parts[2]} }}"
        f"{f' FILTER(getDURATION() {parts[3]}^^xsd:duration)' if parts[3] else ''} }}"
        f"{parts[4]} FILTER(getENDTIME() >= 0) }}"
    )
)


@settings(max_examples=150)
@given(text=grouped, gaps=streams, background=backgrounds, cut=st.integers(0, 7))
def test_aggregates_are_told_when_something_ends_and_survive_a_restart(
    text: str, gaps: list[tuple[int, int, list[Triple]]], background: list[Triple], cut: int
) -> None:
    said = events(gaps)
    expected = solutions(parse_query(text).form.pattern, stream_of(said, background))
    found = restarted(text, said, background, cut)
    assert len(found) == len(set(found))
    assert set(found) == {each for each in expected if timed(each)}


@settings(max_examples=40)
@given(text=limits, gaps=streams, background=st.lists(triples, max_size=2, unique=True))
def test_limit_takes_the_solutions_that_end_first(
    text: str, gaps: Gaps, background: list[Triple]
) -> None:
    found, defined = found_and_defined(text, gaps, background)
    assert found == defined
