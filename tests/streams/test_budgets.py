"""A query that takes too much in an instant is stopped; the others report what they always do."""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import Overrun
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model import xsd
from sensorstream.model.regex import LONGEST_TEXT
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.network.budget import Limits, Meter
from sensorstream.sparql.query_parser import parse_query
from sensorstream.streams.operator_graph import graph_data
from sensorstream.streams.processor import StreamEvent, StreamProcessor
from sensorstream.streams.query_report import Report

WINDOW = "REPORT ON CHANGE FROM NAMED WINDOW <w:> [RANGE PT5S]"
QUERIES = {
    "plain": "SELECT ?x ?y WHERE { ?x <p:> ?y }",
    "filtered": "SELECT ?x ?y WHERE { ?x <p:> ?y FILTER(?x != ?y) }",
    "product": "SELECT ?x ?u WHERE { ?x <p:> ?y . ?u <q:> ?v }",
    "star": "SELECT ?x ?u WHERE { ?x <p:> ?y . ?u <p:> ?y }",
    "path": "SELECT ?x ?y WHERE { ?x <p:>+ ?y }",
    "optional": "SELECT ?x ?u WHERE { ?x <p:> ?y OPTIONAL { ?u <q:> ?v } }",
    "minus": "SELECT ?x WHERE { ?x <p:> ?y MINUS { ?x <q:> ?v } }",
    "count": "SELECT ?y (COUNT(*) AS ?n) WHERE { ?x <p:> ?y . ?u <q:> ?v } GROUP BY ?y",
    "windowed": f"SELECT ?x ?u {WINDOW} WHERE {{ WINDOW <w:> {{ ?x <p:> ?y . ?u <p:> ?v }} }}",
    "union": "SELECT ?x WHERE { { ?x <p:> ?y } UNION { ?x <q:> ?y } }",
}
NODES = [IRI(f"n:{n}") for n in range(6)]
_TRIPLES = st.tuples(
    st.sampled_from(NODES), st.sampled_from([IRI("p:"), IRI("q:")]), st.sampled_from(NODES)
)
_CHANGES = st.lists(st.lists(_TRIPLES, min_size=1, max_size=8), min_size=1, max_size=10)


class Machine(StreamProcessor):
    """One whose graph outside of windows tests can change."""

    def __init__(self, limits: Limits) -> None:
        self.index = TripleIndex()
        super().__init__(
            self.index, instant=lambda text: int(text.lexical), second=1, limits=limits
        )


def told(limits: Limits, changes: list[list[Triple]]) -> tuple[Machine, dict[str, Counter[object]]]:
    """What each query reports while triples come and go, in the graph and on a stream."""
    running, found = Machine(limits), list[Report]()
    for name, text in QUERIES.items():
        running.register(name, text, parse_query(text), found.append)
    index = running.index
    for time, triples in enumerate(changes, 1):
        for triple in dict.fromkeys(triples):
            (index.discard if triple in index else index.add)(triple)
        running.push(StreamEvent(time, tuple(dict.fromkeys(triples))))
    reports = {name: Counter[object]() for name in QUERIES}
    for each in found:
        rows = tuple(sorted(map(str, each.rows)))
        reports[each.query][each.time, each.operation, rows] += 1
    return running, reports


@settings(max_examples=40)
@given(_CHANGES, st.integers(1, 120), st.none() | st.integers(1, 20))
def test_those_that_are_not_stopped_report_what_they_report_without_limits(
    changes: list[list[Triple]], rows: int, kept: int | None
) -> None:
    limited, reports = told(Limits(rows=rows, kept=kept), changes)
    _, expected = told(Limits(), changes)
    stopped = {name for name, _ in limited.faults}
    assert stopped | set(limited.queries) == set(QUERIES)
    assert all(isinstance(error, Overrun) for _, error in limited.faults)
    for name in limited.queries:
        assert reports[name] == expected[name], name
    for name in list(limited.queries):
        limited.unregister(name)
    assert not list(limited.network.nodes())
    assert not limited._windows


def test_a_product_of_three_is_stopped_by_its_rows() -> None:
    running = Machine(Limits(rows=10_000))
    text = "SELECT ?a ?b ?c WHERE { ?a <p:> ?x . ?b <q:> ?y . ?c <r:> ?z }"
    running.register("product", text, parse_query(text), lambda _: None)
    running.register("plain", QUERIES["plain"], parse_query(QUERIES["plain"]), lambda _: None)
    for property in ("p:", "q:", "r:"):
        for n in range(100):
            running.index.add((IRI(f"n:{n}"), IRI(property), NODES[0]))
    running.settle(1)
    ((name, error),) = running.faults
    assert name == "product"
    assert str(error) == (
        "more than 10,000 rows in one instant; the setting limits.query_rows raises the limit"
    )
    assert list(running.queries) == ["plain"]


def test_what_takes_too_many_seconds_is_stopped_too() -> None:
    seconds = count()
    running = Machine(Limits(seconds=5.0, counter=lambda: float(next(seconds))))
    text = 'SELECT ?x WHERE { ?x <p:> ?y FILTER REGEX(STR(?x), "[0-9]$") }'
    running.register("slow", text, parse_query(text), lambda _: None)
    for n in range(1000):
        running.index.add((IRI(f"n:{n}"), IRI("p:"), NODES[0]))
    running.settle(1)
    ((_, error),) = running.faults
    assert "more than 5 s in one instant" in str(error)


def test_a_query_that_is_too_much_to_begin_leaves_nothing() -> None:
    running = Machine(Limits(rows=500))
    for n in range(100):
        running.index.add((IRI(f"n:{n}"), IRI("p:"), NODES[0]))
    text = "SELECT (COUNT(*) AS ?n) WHERE { ?x <p:> ?y . ?u <p:> ?v }"
    # It is refused before it is filled, with all that it would have visited.
    with pytest.raises(Overrun, match=r"^10,000 rows in one instant, more than 500; the setting"):
        running.register("counted", text, parse_query(text), lambda _: None)
    assert not running.queries
    assert not list(running.network.nodes())
    assert not running.index.watchers


def test_a_query_that_keeps_too_much_is_stopped_though_each_instant_brings_little() -> None:
    running = Machine(Limits(rows=2_000, kept=1_000))
    for name, text in (
        ("kept", "SELECT DISTINCT ?x ?y WHERE { ?x <p:> ?y }"),
        ("plain", QUERIES["plain"]),
        ("passing", "SELECT DISTINCT ?x ?y WHERE { ?x <q:> ?y }"),
    ):
        running.register(name, text, parse_query(text), lambda _: None)
    previous: Triple = (NODES[0], IRI("q:"), NODES[0])
    running.index.add(previous)
    for n in range(1_200):
        running.index.add((IRI(f"n:{n}"), IRI("p:"), NODES[0]))
        running.index.discard(previous)
        previous = (IRI(f"n:{n}"), IRI("q:"), NODES[0])
        running.index.add(previous)
        running.settle(n)
    ((name, error),) = running.faults
    assert name == "kept"
    assert str(error) == (
        "more than 1,000 rows kept in memory; the setting limits.query_rows raises the limit"
    )
    assert list(running.queries) == ["plain", "passing"]


def test_lifted_limits_stop_nothing() -> None:
    running = Machine(Limits(rows=10))
    running.network.budget.lifted = True
    text = QUERIES["product"]
    running.register("product", text, parse_query(text), lambda _: None)
    for property in ("p:", "q:"):
        for n in range(20):
            running.index.add((IRI(f"n:{n}"), IRI(property), NODES[0]))
    running.settle(1)
    assert list(running.queries) == ["product"]
    running.network.budget.lifted = False
    running.index.add((IRI("n:20"), IRI("p:"), NODES[0]))
    running.settle(2)
    assert [name for name, _ in running.faults] == ["product"]


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("CONCAT(?v, ?v)", "p:"),
        ("REPLACE(?v, '.', ?v)", "p:"),
        ("ENCODE_FOR_URI(CONCAT(?v, '%'))", "p:"),
        ("?v * ?v", "q:"),
        ("(?v + 0.5) * (?v + 0.5)", "q:"),
    ],
)
def test_what_grows_with_each_bind_has_no_value_beyond_the_longest(
    function: str, kind: str
) -> None:
    binds = "".join(f"BIND({function.replace('?v', f'?v{n}')} AS ?v{n + 1}) " for n in range(60))
    running = Machine(Limits(rows=100_000))
    running.index.add((NODES[0], IRI("p:"), Literal("%" * 50)))
    running.index.add((NODES[0], IRI("q:"), Literal("9" * 50, xsd.INTEGER)))
    text = f"SELECT ?v1 ?v60 WHERE {{ ?x <{kind}> ?v0 {binds} }}"
    running.register("grows", text, parse_query(text), lambda report: None)
    (row,) = running.queries["grows"].result()
    assert row[0] is not None
    assert row[1] is None or len(str(row[1])) <= LONGEST_TEXT


def test_long_texts_count_as_many_rows() -> None:
    running = Machine(Limits(rows=5_000))
    for node in NODES:
        running.index.add((node, IRI("p:"), Literal(f"{node}" * 30_000)))
    text = "SELECT ?t WHERE { ?x <p:> ?v BIND(CONCAT(?v, ?v) AS ?t) }"
    running.register("long", text, parse_query(text), lambda report: None)
    with pytest.raises(Overrun, match="rows in one instant"):
        list(running.queries["long"].result())


# -- all together ---------------------------------------------------------------------------


class Work:
    """Time that passes by the rows that operators visit: so many seconds for each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, row: float) -> None:
        self.now = self.stall = 0.0
        take = Meter.take

        def visited(meter: Meter, rows: int) -> None:
            self.now += rows * row + self.stall
            self.stall = 0.0
            take(meter, rows)

        monkeypatch.setattr(Meter, "take", visited)

    def counter(self) -> float:
        return self.now


COSTLY = "SELECT ?x ?u WHERE { ?x <p:> ?y . ?u <q:> ?v }"


def loaded(work: Work, together: float, queries: dict[str, str]) -> Machine:
    running = Machine(Limits(counter=work.counter, together=together))
    for n in range(100):
        running.index.add((IRI(f"n:{n}"), IRI("q:"), NODES[0]))
    for name, text in queries.items():
        running.register(name, text, parse_query(text), lambda _: None)
    return running


def send(running: Machine, work: Work, messages: int, rest: float) -> None:
    """Messages that concern all queries, each after a rest in which no query works."""
    start = running.now or 0
    for n in range(start + 1, start + messages + 1):
        running.index.add((IRI(f"m:{n}"), IRI("p:"), NODES[0]))
        running.settle(n)
        work.now += rest
        running.relieve()


def test_of_queries_that_take_too_much_together_the_costliest_are_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = Work(monkeypatch, row=0.001)
    # Each visits some hundreds of rows at each message, which no two share.
    queries = {f"costly {n}": COSTLY.replace("?u", f"?u{n}") for n in range(4)}
    running = loaded(work, 0.25, queries | {"plain": QUERIES["plain"]})
    send(running, work, 100, rest=0.01)
    stopped = [name for name, _ in running.faults]
    assert stopped
    assert set(stopped) <= set(queries)
    assert "plain" in running.queries
    text = str(running.faults[0][1])
    assert text.startswith("all continuous queries together took ")
    assert "limits.query_seconds_together (0.25) raises the limit" in text
    # What is left is within the limit, and goes on.
    send(running, work, 100, rest=0.01)
    assert [name for name, _ in running.faults] == stopped


@pytest.mark.parametrize(
    ("together", "rest", "lifted"),
    [(10.0, 0.0, False), (0.01, 3.0, False), (0.01, 0.0, True)],
    ids=["they take little for a message", "the engine has time", "it was accepted before"],
)
def test_none_is_stopped_while(
    monkeypatch: pytest.MonkeyPatch, together: float, rest: float, lifted: bool
) -> None:
    work = Work(monkeypatch, row=0.001)
    running = loaded(work, together, {"costly": COSTLY})
    running.network.budget.lifted = lifted
    send(running, work, 100, rest)
    assert not running.faults


def test_a_machine_that_stood_still_stops_no_query(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch, row=0.0)
    running = loaded(work, 0.25, {"plain": QUERIES["plain"]})
    for _ in range(3):
        # In the midst of a query's work.
        work.stall = 3600.0
        send(running, work, 1, rest=0.0)
        assert not work.stall
        send(running, work, 20, rest=0.5)
    assert not running.faults


def test_all_operators_that_a_registration_fills_share_its_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = Work(monkeypatch, row=0.001)
    running = Machine(Limits(seconds=1.0, counter=work.counter))
    for n in range(1000):
        running.index.add((IRI(f"n:{n}"), IRI("q:"), NODES[n % 6]))
    part = (
        "{ SELECT ?y (COUNT(?x) AS ?n) WHERE { ?x <q:> ?y FILTER(STR(?x) != '%d') } GROUP BY ?y }"
    )
    parts = " UNION ".join(part % n for n in range(8))
    text = f"SELECT * WHERE {{ {parts} }}"
    with pytest.raises(Overrun, match=r"more than 1 s in one instant; .* limits\.query_seconds"):
        running.register("many", text, parse_query(text), lambda _: None)
    assert work.now < 3
    assert not list(running.network.nodes())


def test_the_graph_of_a_query_tells_the_seconds_of_its_operators(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = Work(monkeypatch, row=0.001)
    running = loaded(work, 10.0, {"costly": COSTLY, "plain": QUERIES["plain"]})
    send(running, work, 20, rest=0.5)
    spent = {
        name: sum(node["seconds"] for node in graph_data(query, int)["nodes"])
        for name, query in running.queries.items()
    }
    # The product visits a hundred rows for each message.
    assert spent["costly"] >= 2.0
    assert 0.0 < spent["plain"] < spent["costly"] / 10
    unmeasured = Machine(Limits())
    unmeasured.register("plain", QUERIES["plain"], parse_query(QUERIES["plain"]), lambda _: None)
    send(unmeasured, work, 2, rest=0.5)
    (query,) = unmeasured.queries.values()
    assert {node["seconds"] for node in graph_data(query, int)["nodes"]} == {0.0}
