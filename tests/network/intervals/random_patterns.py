"""Random streams and patterns in time, and what a processor finds."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import strategies as st

from sensorstream.engine.codec import decode, encode
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report, RowOperation
from sensorstream.streams.query_state import ProcessorState
from tests.network.intervals.definition import ALWAYS, Occurrence, Solution, solutions, timed

PREFIX = "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"
NAMES = [IRI(f"http://example.org/{name}") for name in "ab"]
PROPERTIES = [IRI(f"http://example.org/{name}") for name in "pq"]
NUMBERS = [Literal(str(number), xsd.INTEGER) for number in (1, 2)]

triples = st.tuples(
    st.sampled_from(NAMES), st.sampled_from(PROPERTIES), st.sampled_from([*NAMES, *NUMBERS])
)
streams = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([0, 0, 0, 1, 3]),
        st.lists(triples, min_size=1, max_size=3, unique=True),
    ),
    min_size=2,
    max_size=8,
)
backgrounds = st.lists(triples, max_size=2, unique=True)

ends = st.sampled_from(["?x", "?y", "?z", "?z", "?v", "?w", ":a", "1"])
blocks = st.lists(
    st.tuples(
        st.sampled_from(["?x", "?x", "?y", ":a"]), st.sampled_from([":p", ":p", ":q", "?p"]), ends
    ).map(" ".join),
    min_size=1,
    max_size=2,
).map(" . ".join)
conditions = st.sampled_from(
    [
        'getDURATION() < "PT3S"^^xsd:duration',
        'getDURATION() <= "PT3S"^^xsd:duration',
        '"PT1S"^^xsd:duration <= getDURATION()',
        "getSTARTTIME() > 2",
        "getENDTIME() < 6",
        "?x != ?y",
        "?v < ?w",
        "?z >= ?v",
        "?v < 2 || getENDTIME() > 4",
        "?z > 1",
        "!BOUND(?z)",
        "BOUND(?y) && ?x != :b",
    ]
)


def groups(patterns: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    filters = st.one_of(*[st.just("")] * 3, conditions.map(lambda c: f" FILTER({c})"))
    return st.tuples(patterns, filters).map(lambda parts: f"{{ {''.join(parts)} }}")


def combined(patterns: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = groups(patterns)
    operators = st.sampled_from(
        ["SEQ", "SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL", "UNION", "OPTIONAL", "MINUS", ""]
    )
    return st.tuples(group, operators, group).map(" ".join)


texts = combined(st.recursive(blocks, combined, max_leaves=3)).map(
    lambda where: f"{PREFIX}SELECT ?x ?y ?z ?v WHERE {{ {where} FILTER(getENDTIME() >= 0) }}"
)


def events(gaps: list[tuple[int, int, list[Triple]]]) -> list[StreamEvent]:
    time, found = 0, []
    for gap, length, said in gaps:
        time += gap
        found.append(StreamEvent(time, tuple(said), end=time + length))
    return found


def stream_of(said: list[StreamEvent], background: list[Triple]) -> frozenset[Occurrence]:
    happened: set[Any] = {(t, e.time, e.end) for e in said for t in e.triples}
    return frozenset({*happened, *((t, *ALWAYS) for t in background)})


def processor(background: list[Triple]) -> StreamProcessor:
    graph = TripleIndex()
    for triple in background:
        graph.add(triple)
    return StreamProcessor(graph, instant=lambda literal: int(literal.lexical), second=1)


def found_in(reports: list[Report]) -> list[Solution]:
    found: list[Solution] = []
    for each in reports:
        assert each.operation is RowOperation.ADDED
        assert each.intervals is not None
        for row, interval in zip(each.rows, each.intervals, strict=True):
            assert interval[1] == each.time, "a solution is told when its interval is over"
            pairs = zip(each.variables, row, strict=True)
            bindings = frozenset((name, term) for name, term in pairs if term is not None)
            found.append((bindings, *interval))
    return found


def run(text: str, said: list[StreamEvent], background: list[Triple]) -> list[Solution]:
    """What is found if events come one by one, and if several come at once."""
    alone, together = (reported(text, said, background, at_once) for at_once in (1, 3))
    assert together == alone
    return found_in(alone)


def reported(
    text: str, said: list[StreamEvent], background: list[Triple], at_once: int
) -> list[Report]:
    """The reports, of which those may come late that are due between events that come at once."""
    reports: list[Report] = []
    machine = processor(background)
    machine.register("q", text, parse_query(text), reports.append)
    for number, event in enumerate(said, 1):
        machine.more = number % at_once != 0
        machine.push(event)
    machine.finish()
    assert machine.faults == []
    return reports


def restarted(
    text: str, said: list[StreamEvent], background: list[Triple], cut: int
) -> list[Solution]:
    """What is found if the processor is another one from an event on."""
    reports: list[Report] = []
    machine = processor(background)
    machine.register("q", text, parse_query(text), reports.append)
    for event in said[:cut]:
        machine.push(event)
    state = decode(encode(machine.state(), ProcessorState), ProcessorState)
    again = processor(background)
    again.restore(
        state, lambda name, text: again.register(name, text, parse_query(text), reports.append)
    )
    for event in said[cut:]:
        again.push(event)
    again.finish()
    assert again.faults == []
    return found_in(reports)


Gaps = list[tuple[int, int, list[Triple]]]

inner = st.sampled_from(
    [
        "?x :q ?z",
        "?x ?p ?x",
        "?y :p ?o",
        "?x :p ?o FILTER(?o != ?y)",
        "?x :q ?o FILTER(?o < ?v)",
        "{ ?x :p ?o } SEQ { ?x :q ?u }",
        "?a :q ?o FILTER(getENDTIME() > 2)",
        "?x :p ?o MINUS { ?o :q ?u }",
        "?x :p ?o FILTER NOT EXISTS { ?o :q ?x }",
    ]
)
questions = st.tuples(st.sampled_from(["", "NOT "]), inner).map(
    lambda each: f"{each[0]}EXISTS {{ {each[1]} }}"
)
asking = st.one_of(
    questions,
    questions.map(lambda one: f"{one} || ?x = :b"),
    st.tuples(questions, questions).map(" && ".join),
    questions.map(lambda one: f'getDURATION() < "PT3S"^^xsd:duration && {one}'),
)
bodies = st.one_of(
    blocks,
    st.tuples(blocks, st.sampled_from(["SEQ", "OPTIONAL", "UNION", "EQUALS"]), blocks).map(
        lambda each: f"{{ {each[0]} }} {each[1]} {{ {each[2]} }}"
    ),
)
existing = st.tuples(bodies, asking).map(
    lambda each: (
        f"{PREFIX}SELECT ?x ?y ?z ?v WHERE {{ {{ {each[0]} FILTER({each[1]}) }} "
        "FILTER(getENDTIME() >= 0) }"
    )
)


limited = st.tuples(bodies, st.sampled_from(["LIMIT 1", "LIMIT 2 OFFSET 1", "OFFSET 2", "LIMIT 0"]))
limits = limited.map(
    lambda each: (
        f"{PREFIX}SELECT ?x ?y ?z ?w WHERE {{ {{ SELECT ?x ?y ?z {{ {each[0]} }} {each[1]} }} "
        "SEQ { ?x ?p ?w } }"
    )
)


def found_and_defined(text: str, gaps: Gaps, background: list[Triple]) -> Any:
    """What is reported, and each solution of the definition once, as counts."""
    said = events(gaps)
    expected = solutions(parse_query(text).form.pattern, stream_of(said, background))
    found = Counter(run(text, said, background))
    return found, Counter({each for each in expected if timed(each)})
