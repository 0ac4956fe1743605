"""GROUP BY and LIMIT in time against their definition."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model import xsd
from sensorstream.model.terms import Literal, Triple
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent
from tests.network.intervals.definition import solutions, timed
from tests.network.intervals.random_patterns import (
    NAMES,
    NUMBERS,
    PREFIX,
    PROPERTIES,
    Gaps,
    backgrounds,
    blocks,
    combined,
    events,
    found_and_defined,
    limits,
    restarted,
    run,
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


def test_a_group_has_as_many_rows_as_its_length_allows() -> None:
    said = [StreamEvent(time, ((NAMES[0], PROPERTIES[0], NUMBERS[0]),)) for time in (0, 2, 4, 9)]
    where = "{ SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING(getDURATION() < 'PT3S'^^xsd:duration) }"
    found = run(f"{PREFIX}SELECT ?n {{ {where} FILTER(getENDTIME() >= 0) }}", said, [])
    counted = [(0, 0, 1), (0, 2, 2), (2, 4, 2), (9, 9, 1)]
    assert found == [
        (frozenset({("n", Literal(str(count), xsd.INTEGER))}), start, end)
        for start, end, count in counted
    ]
