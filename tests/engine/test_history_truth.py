"""History and window together say of every instant what held then.

The oracle of asserted statements is the definition in docs/use/history.md, over a list of all that
was ever said; that of inferred ones is a recording of the inferred graph after every message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sensorstream.app.control.wiring import Deployment, read_deployment, reasoner_of
from sensorstream.engine.checkpoint import dump, load
from sensorstream.engine.message_reading import Arrived
from sensorstream.engine.outcome import Outcome
from sensorstream.kb.graph_index import Origin
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Ended, Event, Message, Status
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.reasoning.reasoner import Aside
from sensorstream.settings.settings import (
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WindowSettings,
)
from sensorstream.window.window_spec import Elements
from tests.engine import feeding
from tests.engine.test_engine import iri
from tests.prefixes import TURTLE

EX: Final = "http://example.org/"
ONTOLOGY: Final = f"""{TURTLE}
<http://example.org/> a owl:Ontology .
:Actor a owl:Class . :Thing a owl:Class . :Place a owl:Class . :Marked a owl:Class .
:Human a owl:Class ; rdfs:subClassOf :Actor .
:near a owl:ObjectProperty ; rdfs:domain :Actor .
:at a owl:ObjectProperty ; rdfs:range :Place .
:mark a owl:DatatypeProperty ; rdfs:domain :Marked .
:level a owl:DatatypeProperty ; rdfs:range xsd:integer .
:High a owl:Class ; owl:equivalentClass [ a owl:Restriction ; owl:onProperty :level ;
  owl:someValuesFrom [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
    owl:withRestrictions ( [ xsd:minInclusive 3 ] ) ] ] .
"""
MORE: Final = ONTOLOGY + ":Actor rdfs:subClassOf :Thing . :near rdfs:range :Human .\n"
RULES: Final = """
prefix : <http://example.org/>
rule mark on change if select { SELECT ?x { ?x :level 2 } } then insert individual ?x ; :mark "on" .
rule unmark on change if select { SELECT ?x { ?x :level 1 } } then delete { ?x :mark ?m }
rule drop on change if select { SELECT ?x { ?x :level 4 } } then delete { ?x :level 4 }
"""


def level(number: int) -> Literal:
    return Literal(str(number), xsd.INTEGER)


NAMES: Final = tuple(map(iri, "abc"))
AT, DISTANCE, LEVEL, MARK, NEAR = map(iri, ("at", "distance", "level", "mark", "near"))


# -- the definition ----------------------------------------------------------------------------


@dataclass(slots=True)
class Said:
    """Something that an event said: a statement of its own, even if another says the same."""

    triple: Triple
    time: Instant
    arrival: int
    stay: int
    reference: Said | None = None
    """For a statement about a blank node: what refers to the node."""
    removed: Instant | None = None
    newer: Instant | None = None
    """What comes late: since when something newer is held, the same or instead of it."""


@dataclass(slots=True)
class Truth:
    """All that was ever said, and which updates there were."""

    every: list[Said] = field(default_factory=list)
    updates: list[tuple[int, Event, int]] = field(default_factory=list)
    arrivals: Iterator[int] = field(default_factory=count)

    def end(self, said: Said) -> Instant | None:
        """When it ended: the first update that comes after it in time and says otherwise."""
        ends = [] if said.removed is None else [max(said.removed, said.time)]
        ends += () if said.newer is None else (said.newer,)
        pair = said.triple[:2]
        ends += (
            event.time
            for stay, event, arrival in self.updates
            if stay == said.stay
            and pair in event.replaces
            and (said.triple not in event.triples or self.is_removed(said, event, arrival))
            and (event.time, arrival) > (said.time, said.arrival)
        )
        if said.reference is not None and (end := self.end(said.reference)) is not None:
            ends.append(end)
        return min(ends, default=None)

    def is_removed(self, late: Said, event: Event, arrival: int) -> bool:
        """Whether an update said the same as a late event, and a rule has removed that."""
        return arrival < late.arrival and any(
            each.removed is not None
            for each in self.every
            if (each.triple, each.stay, each.arrival) == (late.triple, late.stay, arrival)
        )

    def present(self) -> list[Said]:
        """What has not ended."""
        return [each for each in self.every if self.end(each) is None]

    def at(self, time: Instant) -> set[Triple]:
        """What held at an instant."""
        return {
            each.triple
            for each in self.every
            if each.time <= time and ((end := self.end(each)) is None or time < end)
        }

    def say(self, event: Event, stays: dict[Subject, int]) -> None:
        """Take an event in; ``stays`` are those of its individuals."""
        arrival = next(self.arrivals)
        held: dict[tuple[Triple, int], Instant] = {}
        for each in self.present():
            known = held.get((each.triple, each.stay), each.time)
            held[each.triple, each.stay] = min(known, each.time)
        references: dict[BlankNode, Said] = {}
        for triple in event.triples:
            reference = references.get(triple[0]) if isinstance(triple[0], BlankNode) else None
            stay = stays[triple[0]] if reference is None else reference.stay
            since = held.get((triple, stay))
            if triple[:2] not in event.replaces and since is not None and since <= event.time:
                continue
            newer = [
                time
                for (other, its), time in held.items()
                if its == stay and time > event.time
                if other == triple
                or (
                    triple[:2] == other[:2]
                    and triple[:2] in event.replaces
                    and other not in event.triples
                )
            ]
            said = Said(triple, event.time, arrival, stay, reference)
            said.newer = min(newer, default=None)
            self.every.append(said)
            if isinstance(triple[2], BlankNode):
                references[triple[2]] = said
        self.updates += ((stay, event, arrival) for stay in set(stays.values()))

    def remove(self, gone: Iterable[Said], time: Instant) -> None:
        for each in gone:
            each.removed = time


# -- the engine --------------------------------------------------------------------------------


class Watched:
    """An engine, what its outcomes leave behind, and what the definition makes of its events."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        # A window of triples lets each go by its own age: tests/window defines when.
        self.by_triple = deployment.window.elements is Elements.TRIPLES
        self.engine = feeding.machine_of(deployment).engine
        self.truth = Truth()
        self.history: Counter[Ended] = Counter()
        self.inferred: dict[Instant, set[Triple]] = {}
        self.number = 0

    def take(self, event: Event) -> None:
        before = {each.name: each.stay for each in self.engine.window}
        outcome = self.engine.take(Arrived.of(event))
        assert outcome.status is Status.ACCEPTED, outcome.warnings
        self.keep(outcome)
        gone = {each.individual.name: each.individual.stay for each in outcome.departures}
        after = {each.name: each.stay for each in self.engine.window}
        names = {triple[0] for triple in event.triples if not isinstance(triple[0], BlankNode)}
        self.truth.say(event, {name: after.get(name, gone.get(name, 0)) for name in names})
        assert before.keys() - after.keys() <= gone.keys()
        ended = {each.individual.stay for each in outcome.departures}
        now = self.engine.window.now
        assert now is not None
        if not self.by_triple:
            self.follow_rules(now, ended)
        self.record()

    def follow_rules(self, now: Instant, departed: set[int]) -> None:
        """What rules did is known from the window; all else must be as defined."""
        truth = self.truth
        held = {
            (triple, each.stay): None for each in self.engine.window for triple in each.statements
        }
        present = {(each.triple, each.stay): each for each in truth.present()}
        truth.remove((each for each in truth.present() if each.stay in departed), now)
        for triple, stay in held.keys() - present.keys():
            assert triple[1] == MARK, f"nobody said {triple}"
            arrival = next(truth.arrivals)
            truth.every.append(Said(triple, now, arrival, stay))
        for triple, stay in present.keys() - held.keys():
            if stay not in departed:
                assert self.by_triple or triple[1] == MARK or triple[2] == level(4), (
                    f"lost {triple}"
                )
                gone = [e for e in truth.present() if (e.triple, e.stay) == (triple, stay)]
                truth.remove(gone, now)

    def keep(self, outcome: Outcome) -> None:
        """Store what has ended, as a store does."""
        self.history.update(outcome.ended)
        self.history.update(e for gone in outcome.departures for e in gone.ended())
        self.history.subtract(outcome.revoked)
        assert min(self.history.values(), default=0) >= 0, "revoked, but never handed out"

    def record(self) -> None:
        now = self.engine.window.now
        if now is not None:
            self.inferred[now] = set(self.engine.kb.triples(Origin.INFERRED))

    def restart(self) -> None:
        state = load(dump(self.engine.state()))
        self.engine.close()
        self.engine = feeding.machine_of(self.deployment).engine
        self.engine.restore(state)
        assert self.engine.state().inferred == state.inferred

    def put(self, deployment: Deployment) -> None:
        """Another ontology."""
        self.number += 1
        self.deployment = deployment
        aside = Aside(deployment.ontology.triples, reasoner_of(deployment))
        name = f"o{self.number}"
        self.engine.adopt(aside, deployment.rules, deployment.filters, deployment.shedding, name)
        self.keep(self.engine.accepted(Message(name, b"", 0)))
        self.record()

    def at(self, time: Instant, inferred: bool) -> set[Triple]:
        """What history and window together say of an instant."""
        rows = (each for each, times in self.history.items() if times and each.inferred is inferred)
        found = {each.triple for each in rows if each.valid_from <= time < each.valid_to}
        if not inferred:
            return found | {
                triple
                for each in self.engine.window
                for triple, said in each.statements.items()
                if said.time <= time
            }
        return found | {
            (each.subject, *value)
            for each in self.engine.state().inferred or ()
            for value in each.values
            if each.time <= time
        }

    def check(self) -> None:
        if not self.inferred:
            return
        stays = [each.stay for each in self.history if not each.inferred]
        assert 0 not in stays
        known: set[Triple] = set()
        for time in range(min(self.inferred) - 8, max(self.inferred) + 2):
            if not self.by_triple:
                assert self.at(time, inferred=False) == self.truth.at(time), f"at {time}"
            known = self.inferred.get(time, known)
            assert self.at(time, inferred=True) == known, f"at {time}"


# -- streams -----------------------------------------------------------------------------------


@st.composite
def events(draw: st.DrawFn) -> tuple[int, tuple[Triple, ...], frozenset[tuple[Subject, IRI]]]:
    """How far time moves, the triples, and the properties that are updated."""
    said: list[Triple] = []
    updated: set[tuple[Subject, IRI]] = set()
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True)):
        its: list[Triple] = []
        if draw(st.booleans()):
            its.append((name, rdf.TYPE, iri("Human")))
        for number in draw(st.lists(st.integers(0, 4), max_size=2, unique=True)):
            its.append((name, LEVEL, level(number)))
        if draw(st.integers(0, 3)) == 0 or not its:
            its.append((name, NEAR, draw(st.sampled_from([*NAMES, iri("d")]))))
        if draw(st.integers(0, 4)) == 0:
            node = BlankNode(f"_:b-{name[-1]}")
            its += [(name, AT, node), (node, DISTANCE, level(draw(st.integers(0, 1))))]
        if draw(st.integers(0, 3)):
            updated |= {(s, p) for s, p, _ in its if s == name}
        said += its
    shift = draw(st.sampled_from([0, 1, 1, 1, 2, 3, -1, -1, -2, -5, 9]))
    return shift, tuple(said), frozenset(updated)


Step = tuple[int, tuple[Triple, ...], frozenset[tuple[Subject, IRI]]] | str
steps = st.lists(st.one_of(events(), events(), events(), st.sampled_from(["restart", "ontology"])))


def numbered(number: int, event: Event) -> Event:
    """The event with blank nodes of its own, as a mapping makes them."""

    def own(term: Subject) -> Subject:
        return BlankNode(f"{term}-{number}") if isinstance(term, BlankNode) else term

    triples = tuple(
        (own(s), p, o if isinstance(o, Literal) else own(o)) for s, p, o in event.triples
    )
    return replace(event, triples=triples)


def play(watched: Watched, stream: Sequence[Step], ontologies: Sequence[Deployment]) -> None:
    now, put = 300, 0
    for number, step in enumerate(stream, 1):
        if step == "restart":
            watched.restart()
        elif step == "ontology":
            put += 1
            watched.put(ontologies[put % len(ontologies)])
        else:
            assert not isinstance(step, str)
            shift, said, replaces = step
            event = Event(said, now + shift, f"m{number}", replaces)
            watched.take(numbered(number, event))
            now = max(now, now + shift)
    watched.check()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("truth")


def deployment(folder: Path, ontology: str, window: WindowSettings, profile: str) -> Deployment:
    name = "more" if ontology is MORE else "less"
    (folder / f"{name}.ttl").write_text(ontology)
    (folder / "r.rules").write_text(RULES)
    return read_deployment(
        Settings(
            folder / "sensorstream.toml",
            ontology=OntologySettings((folder / f"{name}.ttl",)),
            rules=RuleSettings((folder / "r.rules",), 8),
            window=window,
            reasoning=ReasoningSettings(profile),
        )
    )


WINDOWS: Final = {
    "individuals": WindowSettings(size="2"),
    "time": WindowSettings(unit="time", size="4"),
    "triples": WindowSettings(unit="triples", size="5"),
    "landmark": WindowSettings(kind="landmark"),
}


def one(name: str, number: int) -> tuple[tuple[Triple, ...], frozenset[tuple[Subject, IRI]]]:
    return ((iri(name), LEVEL, level(number)),), frozenset({(iri(name), LEVEL)})


@pytest.mark.parametrize("window", WINDOWS)
def test_history_and_window_tell_of_every_instant_what_held(folder: Path, window: str) -> None:
    both = [deployment(folder, each, WINDOWS[window], "plain") for each in (ONTOLOGY, MORE)]

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(steps)
    @example([(0, *one("a", 0)), (2, *one("a", 3)), (-1, *one("a", 2))])
    @example([(0, *one("a", 0)), (2, *one("a", 0)), (-1, *one("a", 3))])
    @example([(0, *one("a", 0)), (2, *one("a", 4)), (-1, *one("a", 3)), "restart"])
    # What an update said, and a rule removed, is said late.
    @example(
        [
            (0, (*one("b", 4)[0], (iri("b"), NEAR, iri("a"))), one("b", 4)[1]),
            (1, *one("a", 0)),
            (-2, one("b", 4)[0], frozenset()),
        ]
    )
    def check(stream: list[Step]) -> None:
        watched = Watched(both[0])
        try:
            play(watched, stream, both)
        finally:
            watched.engine.close()

    check()


@pytest.mark.parametrize("profile", ["hermit"])
def test_what_hermit_inferred_is_in_history_too(folder: Path, profile: str) -> None:
    both = [deployment(folder, each, WINDOWS["time"], profile) for each in (ONTOLOGY, MORE)]
    high, low = one("a", 3), one("a", 0)
    watched = Watched(both[0])
    try:
        stream: list[Step] = [(0, *one("b", 3)), (1, *high), (1, *low), (-1, *one("b", 0))]
        play(watched, [*stream, "restart", (2, *high), "ontology", (1, *low), (9, *high)], both)
    finally:
        watched.engine.close()
    rows = {
        (each.stay, each.valid_from, each.valid_to)
        for each in watched.history
        if each.triple == (iri("a"), rdf.TYPE, iri("High"))
    }
    assert rows == {(2, 301, 302), (2, 304, 305)}


def test_a_late_update_ends_the_value_before_it_and_is_ended_by_the_one_after(folder: Path) -> None:
    watched = Watched(deployment(folder, ONTOLOGY, WINDOWS["individuals"], "plain"))
    for number, (time, value) in enumerate([(300, 1), (302, 3), (301, 2)], 1):
        said, replaces = one("a", value)
        watched.take(Event(said, time, f"m{number}", replaces))
    rows = sorted(
        (each.triple[2].n3.split('"')[1], each.valid_from, each.valid_to)
        for each, times in watched.history.items()
        if times and not each.inferred and each.triple[1] == LEVEL
    )
    assert rows == [("1", 300, 301), ("2", 301, 302)]
    (held,) = watched.engine.window
    assert [(t[2], said.time) for t, said in held.statements.items() if t[1] == LEVEL] == [
        (level(3), 302)
    ]
    watched.engine.close()
