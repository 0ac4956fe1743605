"""Queries over windows of all kinds at once: one report at one time, and the right one.

The oracle knows nothing of operators: at the end of every instant it computes the content of each
window from the definition (what was said in ``(b - delay - range, b - delay]`` for the last step b,
or the last n triples), asks Oxigraph, and takes the difference to what it answered at the last
report.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.kb.oxigraph_terms import subject_to_oxigraph, to_oxigraph
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Triple
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report, RowOperation

NAMES = [IRI(f"http://example.org/{name}") for name in "abc"]
PROPERTIES = [IRI(f"http://example.org/{name}") for name in "pq"]
STREAMS = [IRI(f"http://example.org/{name}") for name in ("s", "t")]
LAST = 30


@dataclass(frozen=True)
class Given:
    """A window by its definition."""

    stream: IRI
    kind: str
    size: int
    step: int = 0
    delay: int = 0

    @property
    def text(self) -> str:
        match self.kind:
            case "time":
                return self.length
            case "steps":
                return f"{self.length} STEP PT{self.step}S"
            case "count":
                return f"TRIPLES {self.size}"
            case "count steps":
                return f"TRIPLES {self.size} STEP {self.step}"
        return "LANDMARK"

    @property
    def length(self) -> str:
        if self.delay:
            return f"FROM NOW-{self.delay + self.size}s TO NOW-{self.delay}"
        return f"RANGE PT{self.size}S"

    def content(self, said: list[StreamEvent], now: int) -> frozenset[Triple]:
        mine = [event for event in said if event.stream == self.stream and event.time <= now]
        if self.kind in ("time", "steps", "landmark"):
            until = now - now % self.step if self.kind == "steps" else now
            until -= self.delay
            low = -1 if self.kind == "landmark" else until - self.size
            return frozenset(t for e in mine if low < e.time <= until for t in e.triples)
        ready = len(mine)
        if self.kind == "count steps":
            # It is computed with the event that makes the number of triples pass a multiple.
            total = ready = 0
            for place, event in enumerate(mine, 1):
                before, total = total, total + len(event.triples)
                if total // self.step > before // self.step:
                    ready = place
        triples = [t for event in mine[:ready] for t in event.triples]
        return frozenset(triples[-self.size :])

    def computed(self, said: list[StreamEvent], now: int) -> int:
        """How often it was computed at a step so far."""
        if not said:
            return 0
        if self.kind == "steps":
            first = -(-said[0].time // self.step)
            return max(0, now // self.step - first + 1)
        if self.kind == "count steps":
            total = found = 0
            for event in said:
                if event.stream == self.stream:
                    before, total = total, total + len(event.triples)
                    found += total // self.step > before // self.step
            return found
        return 0


PATTERNS = (
    "WINDOW :v { ?x :p ?y } WINDOW :w { ?y :q ?z }",
    "WINDOW :v { ?x :p ?y } WINDOW :w { ?x :p ?z }",
    "WINDOW :v { ?x :p ?y . ?y :p ?z }",
    "WINDOW :v { ?x :p ?y } MINUS { WINDOW :w { ?x :p ?y } }",
    "WINDOW :v { ?x :p ?y } OPTIONAL { WINDOW :w { ?y :q ?z } }",
    "WINDOW :v { ?x :p ?y } FILTER NOT EXISTS { WINDOW :w { ?x :q ?z } }",
    "WINDOW ?z { ?x :p ?y OPTIONAL { ?y :q ?v } }",
    "WINDOW ?z { ?x :p ?y } FILTER NOT EXISTS { WINDOW ?w { ?y :q ?x } FILTER(?w != ?z) }",
    "{ WINDOW :v { ?x :p ?y } } UNION { WINDOW :w { ?x :q ?y } }",
    "{ SELECT ?x (COUNT(*) AS ?y) WHERE { WINDOW :v { ?x ?any ?z } } GROUP BY ?x }"
    " WINDOW :w { ?x :q ?z }",
    "{ SELECT ?x (COUNT(*) AS ?y) WHERE { WINDOW :v { ?x ?any ?o } } GROUP BY ?x }"
    " { SELECT ?x (COUNT(*) AS ?z) WHERE { WINDOW :w { ?x ?any ?o } } GROUP BY ?x }",
    "{ SELECT (COUNT(*) AS ?y) WHERE { WINDOW :v { ?x :p ?o } } }"
    " { SELECT (COUNT(?x) AS ?z) WHERE { WINDOW :w { ?x :p ?o } } }",
)

windows = st.one_of(
    st.builds(
        Given,
        st.sampled_from(STREAMS),
        st.just("time"),
        st.integers(1, 6),
        st.just(0),
        st.integers(0, 4),
    ),
    st.builds(
        Given,
        st.sampled_from(STREAMS),
        st.just("steps"),
        st.integers(1, 9),
        st.integers(1, 5),
        st.integers(0, 4),
    ),
    st.builds(Given, st.sampled_from(STREAMS), st.just("count"), st.integers(1, 5)),
    st.builds(
        Given,
        st.sampled_from(STREAMS),
        st.just("count steps"),
        st.integers(1, 5),
        st.integers(1, 4),
    ),
    st.builds(Given, st.sampled_from(STREAMS), st.just("landmark"), st.just(0)),
)
triples = st.tuples(st.sampled_from(NAMES), st.sampled_from(PROPERTIES), st.sampled_from(NAMES))
events = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from(STREAMS),
        st.lists(triples, min_size=1, max_size=3, unique=True),
    ),
    min_size=1,
    max_size=7,
)


@dataclass
class Oracle:
    """What a query should report at the end of each instant."""

    pattern: str
    windows: tuple[Given, Given]
    relation: str
    told: Counter[Any] = field(default_factory=Counter)
    computed: int = 0

    def answer(self, said: list[StreamEvent], now: int) -> Counter[Any]:
        store = ox.Store()
        for name, window in zip("vw", self.windows, strict=True):
            graph = ox.NamedNode(f"http://example.org/{name}")
            store.bulk_extend(
                ox.Quad(subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o), graph)
                for s, p, o in window.content(said, now)
            )
        text = self.pattern.replace("WINDOW", "GRAPH")
        found = store.query(f"PREFIX : <http://example.org/> SELECT ?x ?y ?z WHERE {{ {text} }}")
        assert isinstance(found, ox.QuerySolutions)
        return Counter(
            tuple(None if row[name] is None else row[name].value for name in "xyz") for row in found
        )

    def report(self, said: list[StreamEvent], now: int) -> tuple[Counter[Any], Counter[Any]] | None:
        """What is added and removed (or all, and nothing, for RSTREAM); None if not due."""
        answer = self.answer(said, now)
        # Windows of one tick over one stream are computed together.
        ticks = {(w.stream, w.kind, w.step, w.delay): w for w in self.windows}.values()
        computed = sum(window.computed(said, now) for window in ticks)
        due = computed > self.computed or answer != self.told
        added, removed = answer - self.told, self.told - answer
        if not due:
            return None
        self.told, self.computed = answer, computed
        match self.relation:
            case "RSTREAM":
                return answer, Counter()
            case "ISTREAM":
                return added, Counter()
            case "DSTREAM":
                return Counter(), removed
        return added, removed


def reported(reports: list[Report]) -> dict[int, tuple[Counter[Any], Counter[Any]]]:
    found: dict[int, tuple[Counter[Any], Counter[Any]]] = {}
    seen: set[tuple[int, RowOperation]] = set()
    for each in reports:
        assert (each.time, each.operation) not in seen, f"two reports at {each.time}"
        seen.add((each.time, each.operation))
        added, removed = found.setdefault(each.time, (Counter(), Counter()))
        into = removed if each.operation is RowOperation.REMOVED else added
        into.update(
            tuple(None if term is None else getattr(term, "lexical", str(term)) for term in row)
            for row in each.rows
        )
    return found


@settings(max_examples=120)
@given(
    pattern=st.sampled_from(PATTERNS),
    chosen=st.tuples(windows, windows),
    relation=st.sampled_from(("", "RSTREAM", "ISTREAM", "DSTREAM")),
    gaps=events,
)
def test_every_report_is_that_of_the_contents_at_the_end_of_its_instant(
    pattern: str,
    chosen: tuple[Given, Given],
    relation: str,
    gaps: list[tuple[int, IRI, list[Triple]]],
) -> None:
    head = f"REGISTER {relation} :out AS" if relation else ""
    text = f"""PREFIX : <http://example.org/> {head} SELECT ?x ?y ?z
        FROM NAMED WINDOW :v ON <{chosen[0].stream}> [{chosen[0].text}]
        FROM NAMED WINDOW :w ON <{chosen[1].stream}> [{chosen[1].text}]
        WHERE {{ {pattern} }}"""
    time, said = 0, list[StreamEvent]()
    for gap, stream, triples_ in gaps:
        time += gap
        said.append(StreamEvent(time, tuple(triples_), stream))
    found: list[Report] = []
    processor = StreamProcessor(TripleIndex(), instant=lambda _: 0, second=1)
    processor.register("q", text, parse_query(text), found.append)
    for event in said:
        processor.more = event is not said[-1]
        processor.push(event)
    # Silence: nothing more happens, and all that is due by the clock is reported.
    processor.advance(LAST)
    oracle = Oracle(pattern, chosen, relation)
    # A count of nothing is an answer too: the one that the query has when it is registered.
    oracle.told = oracle.answer([], 0)
    expected = {}
    for now in range(said[0].time, LAST):
        report = oracle.report([event for event in said if event.time <= now], now)
        if report is not None and (report[0] or report[1] or relation == "RSTREAM"):
            expected[now] = report
    nothing: tuple[Counter[Any], Counter[Any]] = (Counter(), Counter())
    actual = reported(found)
    assert {t: r for t, r in actual.items() if r != nothing} == {
        t: r for t, r in expected.items() if r != nothing
    }


def test_a_window_that_empties_another_s_shadow_is_reported_at_every_step() -> None:
    """``[RANGE 10s STEP 10s]`` less ``STEP 1s``, on a stream that falls silent at 10."""
    text = """PREFIX : <http://example.org/> REGISTER RSTREAM :out AS SELECT ?x ?y
        FROM NAMED WINDOW :v ON :s [RANGE PT10S STEP PT10S]
        FROM NAMED WINDOW :w ON :s [RANGE PT1S STEP PT1S]
        WHERE { WINDOW :v { ?x :p ?y } MINUS { WINDOW :w { ?x :p ?y } } }"""
    found: list[Report] = []
    processor = StreamProcessor(TripleIndex(), instant=lambda _: 0, second=1)
    processor.register("q", text, parse_query(text), found.append)
    processor.push(StreamEvent(10, ((NAMES[0], PROPERTIES[0], NAMES[1]),), STREAMS[0]))
    processor.advance(16)
    # At 10 there is no solution, as before: a whole result without one is told when it was another.
    assert [(each.time, len(each.rows)) for each in found] == [(t, 1) for t in range(11, 16)]


def test_a_triple_that_two_windows_see_counts_once_towards_a_report() -> None:
    text = """PREFIX : <http://example.org/> SELECT ?x REPORT EVERY 4 TRIPLES
        FROM NAMED WINDOW :v ON :s [RANGE PT10S]
        FROM NAMED WINDOW :w ON :s [TRIPLES 10]
        WHERE { WINDOW :v { ?x :p ?y } WINDOW :w { ?x :p ?y } }"""
    found: list[Report] = []
    processor = StreamProcessor(TripleIndex(), instant=lambda _: 0, second=1)
    processor.register("q", text, parse_query(text), found.append)
    for time in range(1, 10):
        triple = (IRI(f"http://example.org/n{time}"), PROPERTIES[0], NAMES[0])
        processor.push(StreamEvent(time, (triple,), STREAMS[0]))
    processor.advance(20)
    assert [each.time for each in found] == [4, 8]


def test_a_delayed_window_that_is_empty_for_a_moment_lets_go_in_time() -> None:
    """The other window holds something then, and what comes next waits for its delay."""
    text = """PREFIX : <http://example.org/> SELECT ?x ?y ?z
        FROM NAMED WINDOW :v ON :s [FROM NOW-4s TO NOW-1]
        FROM NAMED WINDOW :w ON :s [FROM NOW-2s TO NOW-1]
        WHERE { WINDOW :v { ?x :p ?y } WINDOW :w { ?y :q ?z } }"""
    found: list[Report] = []
    processor = StreamProcessor(TripleIndex(), instant=lambda _: 0, second=1)
    processor.register("q", text, parse_query(text), found.append)
    name = NAMES[0]
    for time, predicate in ((0, "p"), (1, "p"), (2, "q")):
        triple = (name, IRI(f"http://example.org/{predicate}"), name)
        processor.push(StreamEvent(time, (triple,), IRI("http://example.org/s")))
    processor.advance(LAST)
    assert [(each.time, each.operation) for each in found] == [
        (3, RowOperation.ADDED),
        (4, RowOperation.REMOVED),
    ]
