"""A pattern in windows of many lengths, with many constants, against its definition."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report, RowOperation

EX = "http://example.org/"
STREAM, ROOM, VALUE = IRI(f"{EX}s"), IRI(f"{EX}in"), IRI(f"{EX}value")

said = st.one_of(
    st.tuples(
        st.sampled_from("ab"), st.just(ROOM), st.sampled_from("xy").map(lambda n: IRI(EX + n))
    ),
    st.tuples(
        st.sampled_from("ab"),
        st.just(VALUE),
        st.integers(0, 3).map(lambda n: Literal(str(n), xsd.INTEGER)),
    ),
).map(lambda t: (IRI(EX + t[0]), t[1], t[2]))
queries = st.tuples(st.integers(1, 9), st.integers(-1, 3))
"""The length of the window, and what values must be above."""


def text_of(length: int, above: int) -> str:
    return (
        f"PREFIX : <{EX}> SELECT ?s ?room ?v FROM NAMED WINDOW :w ON :s [RANGE PT{length}S] "
        f"WHERE {{ WINDOW :w {{ ?s :in ?room ; :value ?v FILTER(?v > {above}) }} }}"
    )


def rows_of(content: set[Triple], above: int) -> Counter[tuple[object, ...]]:
    return Counter(
        (s, room, v)
        for s, p, room in content
        for other, q, v in content
        if s == other and p == ROOM and q == VALUE
        if isinstance(v, Literal) and int(v.lexical) > above
    )


@settings(max_examples=80)
@given(
    events=st.lists(
        st.tuples(st.integers(0, 4), st.lists(said, min_size=1, max_size=3, unique=True)),
        min_size=1,
        max_size=14,
    ),
    early=st.lists(queries, min_size=1, max_size=4, unique=True),
    late=st.lists(queries, max_size=3, unique=True),
    swap=st.integers(0, 14),
)
def test_windows_of_all_lengths_hold_what_their_definition_says(
    events: list[tuple[int, list[Triple]]],
    early: list[tuple[int, int]],
    late: list[tuple[int, int]],
    swap: int,
) -> None:
    processor = StreamProcessor(TripleIndex(), instant=lambda text: int(text.lexical), second=1)
    told: dict[str, Counter[tuple[object, ...]]] = {}

    def take(report: Report) -> None:
        if report.operation is RowOperation.ADDED:
            told[report.query].update(report.rows)
        else:
            told[report.query].subtract(report.rows)
        assert not -told[report.query]

    running: dict[str, tuple[int, int]] = {}

    def register(name: str, query: tuple[int, int]) -> None:
        text = text_of(*query)
        begun = processor.register(name, text, parse_query(text), take)
        told[name] = Counter(begun.result())
        running[name] = query

    for n, query in enumerate(early):
        register(f"early{n}", query)
    widest = max(length for length, _ in early)
    happened: list[tuple[int, list[Triple]]] = []
    time = 0
    for n, (gap, triples) in enumerate(events):
        for now in range(time, time + gap):
            # What leaves in silence is reported in silence.
            processor.complete(now + 1)
            for name, (length, above) in running.items():
                content = {t for at, ts in happened if now - length < at for t in ts}
                assert +told[name] == rows_of(content, above)
        time += gap
        if n == swap:
            # A new window begins with what others still hold, so only the narrower ones are exact.
            for each, query in enumerate(late):
                if query[0] <= widest:
                    register(f"late{each}", query)
            processor.unregister("early0")
            del running["early0"]
        processor.push(StreamEvent(time, tuple(triples), STREAM))
        happened.append((time, triples))
        for name, (length, above) in running.items():
            content = {t for at, ts in happened if time - length < at for t in ts}
            assert Counter(processor.queries[name].result()) == rows_of(content, above)
    for name in running:
        processor.unregister(name)
    assert len(processor.network) == 0
