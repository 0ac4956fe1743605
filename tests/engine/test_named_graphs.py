"""Named graphs of messages in the knowledge base: there as long as their statements are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.app.control.wiring import read_deployment
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.engine import EngineState
from sensorstream.engine.engine_state import Core, Parts
from sensorstream.engine.message_run import MessageRun
from sensorstream.engine.notices import Notices
from sensorstream.engine.outcome import Timings
from sensorstream.errors import QueryError
from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.model.events import Event, Message, Status
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import GRAPH_WINDOW
from sensorstream.reasoning.reasoner import NoReasoner
from sensorstream.rules.conditions import ConditionQuery
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.rules.rule_memory import RuleMemory
from sensorstream.settings.settings import RuleSettings, Settings
from sensorstream.sparql.query_parser import parse_query
from sensorstream.window.window import Window, make_window
from sensorstream.window.window_spec import Elements, WindowMove, WindowSpec, WindowUnitKind
from tests.engine import feeding
from tests.oxigraph import Copy

SIZE = 3
NAMES = [IRI(f"http://e/{name}") for name in "abcde"]
P, Q = IRI("http://e/p"), IRI("http://e/q")
G, H = IRI("http://g/1"), IRI("http://g/2")

Quad = tuple[Triple, IRI | None]


class Store:
    """Window, knowledge base and store; events come and may be taken back."""

    def __init__(self, elements: Elements = Elements.INDIVIDUALS) -> None:
        spec = WindowSpec(WindowMove.SLIDING, WindowUnitKind.INDIVIDUALS, SIZE, elements=elements)
        self.kb, self.window = KnowledgeBase(), make_window(spec)
        self.copy = Copy(self.kb)
        self.core = Core(
            Parts(
                knowledge=self.kb,
                window=self.window,
                reasoner=NoReasoner(),
                rules=(),
                evaluator=ConditionEvaluator(self.kb),
                max_rounds=1,
                timeline=Timeline.INTEGER,
            )
        )

    def take(self, event: Event) -> MessageRun:
        run = MessageRun(self.core, event.message, Timings())
        run.apply(event, ())
        return run

    def named(self) -> set[tuple[Triple, IRI]]:
        """The quads that /sparql finds in graphs of messages."""
        return {
            (triple, graph)
            for triple, graph in self.copy.quads()
            if graph is not None and graph != GRAPH_WINDOW
        }


def event(time: int, quads: Iterable[Quad], *, update: bool = False) -> Event:
    """What a message says, as a plan makes it."""
    quads = list(dict.fromkeys(quads))
    triples = tuple(dict.fromkeys(triple for triple, _ in quads))
    named = {triple for triple, graph in quads if graph is not None}
    replaces = frozenset((s, p) for s, p, _ in triples) if update else frozenset()
    graphs = tuple(quad for quad in quads if quad[0] in named)
    return Event(triples, time, f"m{time}", replaces, graphs=graphs)


quads = st.tuples(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from([P, Q]),
        st.sampled_from([Literal("1"), Literal("2")]),
    ),
    st.sampled_from([None, G, H]),
)
messages = st.lists(
    st.tuples(st.lists(quads, min_size=1, max_size=6), st.booleans(), st.booleans()), max_size=12
)


@given(messages)
@settings(max_examples=150)
def test_a_graph_holds_what_was_said_in_it_while_its_individual_is_in_the_window(
    said: list[tuple[list[Quad], bool, bool]],
) -> None:
    store = Store()
    expected: set[Quad] = set()
    latest: dict[IRI, int] = {}
    for time, (told, update, taken_back) in enumerate(said):
        run = store.take(event(time, told, update=update))
        if taken_back:
            run.take_back()
        else:
            replaced = {triple[:2] for triple, _ in told} if update else set()
            expected = {quad for quad in expected if quad[0][:2] not in replaced} | set(told)
            names = dict.fromkeys(cast(IRI, triple[0]) for triple, _ in told)
            for name in names:
                latest.pop(name, None)
            latest.update(dict.fromkeys(names, time))
            for name in list(latest)[: max(0, len(latest) - SIZE)]:
                del latest[name]
            expected = {quad for quad in expected if quad[0][0] in latest}
        assert store.named() == {quad for quad in expected if quad[1] is not None}


@given(messages)
@settings(max_examples=60)
def test_a_window_of_triples_empties_its_graphs_too(
    said: list[tuple[list[Quad], bool, bool]],
) -> None:
    store = Store(Elements.TRIPLES)
    for time, (told, update, taken_back) in enumerate(said):
        before = store.named()
        run = store.take(event(time, told, update=update))
        if taken_back:
            run.take_back()
            assert store.named() == before
        held = {t for each in store.window for t in each.statements}
        assert {triple for triple, _ in store.named()} <= held
        if not taken_back:
            assert {quad for quad in told if quad[1] and quad[0] in held} <= store.named()


def restored(window: Window) -> Window:
    state = load(dump(EngineState(window.state(), RuleMemory(), Notices()))).window
    again = make_window(window.spec)
    again.restore(state)
    return again


def test_graphs_are_in_checkpoints_those_of_waiting_events_too() -> None:
    window = make_window(WindowSpec(WindowMove.SLIDING, WindowUnitKind.TIME, 10, 5))
    said, waits = (NAMES[0], P, Literal("1")), (NAMES[1], P, Literal("2"))
    window.insert(event(5, [(said, G), (said, None), (said, H)]))
    window.insert(event(7, [(waits, H)]))
    assert window.pending == 1
    again = restored(window)
    assert again.state() == window.state()
    change = again.insert(event(20, [((NAMES[2], P, NAMES[0]), None)]))
    assert change.graphs == {said: ((G, H), ())}
    change = restored(window).insert(event(10, [((NAMES[2], P, NAMES[0]), None)]))
    assert change.graphs == {waits: ((), (H,))}


def rows(store: Store, text: str) -> list[str]:
    found = store.copy.query(text)
    assert isinstance(found, ox.QuerySolutions)
    return sorted(" ".join(str(value) for value in row) for row in found)


def test_sparql_reads_the_graphs_and_their_union() -> None:
    store = Store()
    both, plain = (NAMES[0], P, Literal("1")), (NAMES[0], Q, Literal("2"))
    store.take(event(1, [(both, G), (both, H), (plain, None)]))
    assert rows(store, "SELECT ?p { ?s ?p ?o }") == [str(ox.NamedNode(P)), str(ox.NamedNode(Q))]
    assert rows(store, "SELECT ?p { GRAPH <http://g/1> { ?s ?p ?o } }") == [str(ox.NamedNode(P))]
    assert rows(store, "SELECT ?g { GRAPH ?g { ?s <http://e/p> ?o } }") == [
        f"<{G}>",
        f"<{H}>",
        f"<{GRAPH_WINDOW}>",
    ]
    assert rows(store, "SELECT ?p FROM <http://g/2> { ?s ?p ?o }") == [str(ox.NamedNode(P))]
    assert rows(store, "SELECT ?p { GRAPH <http://g/empty> { ?s ?p ?o } }") == []


def test_only_names_of_the_system_that_no_graph_has_are_refused() -> None:
    store = Store()
    with pytest.raises(QueryError, match="no graph <urn:sensorstream:windows>: expected"):
        store.copy.query("SELECT * { GRAPH <urn:sensorstream:windows> { ?s ?p ?o } }")


def test_a_condition_of_a_rule_does_not_see_the_graphs_of_messages() -> None:
    store = Store()
    store.take(event(1, [((NAMES[0], P, Literal("1")), G)]))
    query = ConditionQuery(parse_query("SELECT ?g { GRAPH ?g { ?s ?p ?o } }"), frozenset())
    assert store.core.evaluator.select(query, {}) == [{"g": GRAPH_WINDOW}]


RML = """@prefix rml: <http://w3id.org/rml/> .
@prefix ss: <urn:sensorstream:mapping#> .
@prefix : <http://e/> .
:people rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/m/p" ] ;
  rml:subjectMap [ rml:template "http://e/{@id}" ; ss:at "@t" ; ss:update true ;
    rml:graphMap [ rml:template "http://g/{@team}" ] ] ;
  rml:predicateObjectMap [ rml:predicate :p ; rml:objectMap [ rml:reference "@x" ] ] .
"""


def test_a_message_says_statements_in_graphs_until_an_update_moves_them(tmp_path: Path) -> None:
    (tmp_path / "people.ttl").write_text(RML)
    settings = Settings(
        tmp_path / "sensorstream.toml", rules=RuleSettings((tmp_path / "people.ttl",))
    )
    machine = feeding.machine_of(read_deployment(settings))
    copy = Copy(machine.engine.kb)

    def graphs(number: int, xml: str) -> list[str]:
        outcome = feeding.process(machine.engine, Message(f"m{number}", xml.encode(), number))
        assert outcome.status is Status.ACCEPTED
        found = copy.query("SELECT ?g ?o { GRAPH ?g { ?s <http://e/p> ?o } }")
        assert isinstance(found, ox.QuerySolutions)
        pairs = ((row["g"], row["o"]) for row in found)
        return sorted(f"{g.value} {o.value}" for g, o in pairs if g.value != GRAPH_WINDOW)

    try:
        assert graphs(1, "<m><p id='1' t='1' team='a' x='7'/></m>") == ["http://g/a 7"]
        assert graphs(2, "<m><p id='2' t='2' team='b' x='7'/></m>") == [
            "http://g/a 7",
            "http://g/b 7",
        ]
        assert graphs(3, "<m><p id='1' t='3' team='b' x='8'/></m>") == [
            "http://g/b 7",
            "http://g/b 8",
        ]
    finally:
        machine.engine.close()


def test_a_store_made_anew_has_the_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sensorstream.kb.graph_changes._WORN", 5)
    store = Store()
    stores = set()
    for time in range(20):
        told = [((NAMES[time % 5], P, Literal(str(time))), G)]
        store.take(event(time, told, update=True))
        assert len(store.named()) == min(time + 1, SIZE)
        stores.add(id(store.copy.store))
    assert len(stores) > 1


def test_values_in_several_forms_do_not_take_each_other_away() -> None:
    store = Store()
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    one, other = ((NAMES[0], P, Literal(text, integer)) for text in ("1", "01"))
    store.take(event(1, [(one, G), (other, G)]))
    store.named()
    store.take(event(2, [(one, None), (other, G)], update=True))
    assert len(store.named()) == 1
    store.take(event(3, [(one, None)], update=True))
    assert store.named() == set()
