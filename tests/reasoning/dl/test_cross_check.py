"""The cross-check is silent about right inferences and names wrong ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sensorstream.clock import SystemClock
from sensorstream.errors import ReasonerError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import owl, rdf, xsd
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, BlankNode, Literal, Triple
from sensorstream.model.xsd import XSD
from sensorstream.reasoning.dl.cross_check import Differences, compare, cross_check
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.reasoner_process import JavaProcess, Worker
from sensorstream.reasoning.dl.reasoner_worker import Served
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology, load_ontology, to_ntriples
from tests.prefixes import TURTLE

EX = "http://example.org/"
ONTOLOGY = f"""{TURTLE}
:Room a owl:Class . :Human a owl:Class . :Busy a owl:Class ; owl:equivalentClass
  [ owl:intersectionOf ( :Room [ a owl:Restriction ; owl:onProperty :holds ;
    owl:someValuesFrom :Human ] ) ] .
:Adult a owl:Class ; rdfs:subClassOf :Human ; owl:equivalentClass [ a owl:Restriction ;
  owl:onProperty :age ; owl:someValuesFrom [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
  owl:withRestrictions ( [ xsd:minInclusive 18 ] ) ] ] .
:in a owl:ObjectProperty . :holds a owl:ObjectProperty ; owl:inverseOf :in .
:badge a owl:ObjectProperty , owl:InverseFunctionalProperty .
:age a owl:DatatypeProperty . :born a owl:DatatypeProperty ; rdfs:range xsd:date .
:note a owl:DatatypeProperty . :score a owl:DatatypeProperty ; rdfs:subPropertyOf :mark .
:mark a owl:DatatypeProperty . :label a owl:DatatypeProperty .
:Room rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :floor ; owl:hasValue 0 ] .
:floor a owl:DatatypeProperty .
:hall a :Room . _:someone a :Human ; :in :hall .
"""


def iri(name: str) -> IRI:
    return IRI(EX + name)


WINDOW = (
    (iri("a"), IRI(rdf.TYPE), iri("Human")),
    (iri("a"), iri("in"), iri("cellar")),
    (iri("cellar"), IRI(rdf.TYPE), iri("Room")),
    (iri("b"), iri("age"), Literal("30", xsd.INTEGER)),
    (iri("b"), iri("born"), Literal("2000-01-01", f"{XSD}date")),
    (iri("b"), iri("note"), Literal("no number", xsd.INTEGER)),
    (BlankNode("_:guest"), iri("in"), iri("attic")),
    (BlankNode("_:guest"), iri("age"), Literal("40", xsd.INTEGER)),
    (iri("attic"), IRI(rdf.TYPE), iri("Room")),
    (iri("c"), iri("badge"), iri("n7")),
    (iri("d"), iri("badge"), iri("n7")),
    (iri("c"), iri("score"), Literal(" 007", xsd.INTEGER)),
    (iri("c"), iri("label"), Literal("seven")),
    (iri("c"), iri("label"), Literal("sieben", language="de")),
)
Check = Callable[..., Differences]
ZERO = Literal("0", xsd.INTEGER)


@pytest.fixture(scope="module")
def process() -> Iterator[JavaProcess]:
    made = JavaProcess("the cross-check", heap=256, clock=SystemClock())
    made.launch()
    yield made
    made.close()


def loaded(folder: Path, text: str) -> Ontology:
    (folder / "o.ttl").write_text(text)
    return load_ontology([folder / "o.ttl"])


def derived(ontology: Ontology, window: Iterable[Triple]) -> KnowledgeBase:
    """A window as the engine keeps it, inferences included."""
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, ontology.triples)
    terminology = Terminology.of(ontology)
    worker = Worker("hermit", terminology.document(), timeout=60, heap=256)
    reasoner = DlReasoner(terminology, worker)
    reasoner.start(kb)
    for triple in window:
        delta = kb.apply(Origin.WINDOW, Delta(0, added=(triple,)))
        reasoner.react(kb, delta)
    reasoner.close()
    return kb


def marks_of(kb: KnowledgeBase) -> dict[Triple, Origin]:
    return {triple: kb.origins(triple) for triple in kb.match(None, None, None)}


@pytest.fixture(scope="module")
def ontology(tmp_path_factory: pytest.TempPathFactory) -> Ontology:
    return loaded(tmp_path_factory.mktemp("cross-check"), ONTOLOGY)


@pytest.fixture(scope="module")
def kb(ontology: Ontology) -> KnowledgeBase:
    return derived(ontology, WINDOW)


@pytest.fixture
def check(ontology: Ontology, kb: KnowledgeBase, process: JavaProcess) -> Check:
    def run(injected: tuple[Triple, ...] = (), lost: tuple[Triple, ...] = ()) -> Differences:
        marks = marks_of(kb)
        for triple in injected:
            marks[triple] = Origin.INFERRED
        for triple in lost:
            del marks[triple]
        return compare(ontology, marks, process, seconds=120, clock=SystemClock())

    return run


def test_right_inferences_are_passed_over_in_silence(check: Check, kb: KnowledgeBase) -> None:
    assert (iri("cellar"), IRI(rdf.TYPE), iri("Busy")) in kb
    assert (iri("hall"), IRI(rdf.TYPE), iri("Busy")) in kb
    assert (BlankNode("_:guest"), IRI(rdf.TYPE), iri("Adult")) in kb
    assert (iri("c"), IRI(owl.SAME_AS), iri("d")) in kb
    assert (iri("d"), iri("mark"), Literal(" 007", xsd.INTEGER)) in kb
    assert (iri("d"), iri("label"), Literal("sieben", language="de")) in kb
    assert (iri("hall"), iri("floor"), ZERO) in kb
    assert check() == Differences()


def test_wrong_inferences_are_named_each_on_its_side(check: Check) -> None:
    wrong = (
        (iri("a"), IRI(rdf.TYPE), iri("Adult")),
        (iri("a"), IRI(owl.SAME_AS), iri("b")),
        (iri("a"), iri("mark"), Literal("7", xsd.INTEGER)),
        (iri("d"), iri("label"), Literal("sieben")),
    )
    lost = (
        (iri("cellar"), IRI(rdf.TYPE), iri("Busy")),
        (iri("cellar"), iri("floor"), ZERO),
        (iri("d"), iri("label"), Literal("sieben", language="de")),
        (BlankNode("_:guest"), IRI(rdf.TYPE), iri("Human")),
    )
    found = check(wrong, lost)
    assert found == Differences(tuple(sorted(lost)), tuple(sorted(wrong)))
    assert len(found) == 8
    assert f"is inferred and should not be: <{EX}a> " in str(found)
    assert "should be inferred and is not: " in str(found)


def test_a_value_written_in_another_way_is_no_difference(check: Check) -> None:
    seven, padded = Literal("7", xsd.INTEGER), Literal(" 007", xsd.INTEGER)
    assert check([(iri("d"), iri("mark"), seven)], [(iri("d"), iri("mark"), padded)]) == (
        Differences()
    )


def test_names_that_one_model_merges_by_chance_raise_no_false_alarm(
    tmp_path: Path, process: JavaProcess
) -> None:
    """HermiT's own list then gives each the types and values of the other."""
    chance = loaded(
        tmp_path,
        """@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
        @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :A a owl:Class ; rdfs:subClassOf [ a owl:Class ; owl:oneOf ( :a :b ) ] .
        :B a owl:Class . :C a owl:Class . :r a owl:ObjectProperty . :n a owl:DatatypeProperty .
        :a a :B ; :r :a ; :n 1 . :b a :C ; :r :b ; :n 2 .""",
    )
    kb = derived(chance, [(iri("c"), IRI(rdf.TYPE), iri("A"))])
    marks = marks_of(kb)
    document = to_ntriples([*chance.triples, (iri("c"), IRI(rdf.TYPE), iri("A"))]).decode()
    statements = process.exchange(partial(Served.realise, document=document, values=[]), 60)
    assert statements is not None
    listed = {o for s, p, o in statements if s == f"<{EX}c>" and p == f"<{rdf.TYPE}>"}
    assert listed > {f"<{EX}A>"}, "HermiT lists no chance findings any more"
    assert compare(chance, marks, process, seconds=60, clock=SystemClock()) == Differences()
    # Nor is it an excuse: what is wrongly inferred is found, listed by HermiT or not.
    wrong = [(iri("c"), IRI(rdf.TYPE), iri(name)) for name in ("B", "C")]
    marks.update(dict.fromkeys(wrong, Origin.INFERRED))
    found = compare(chance, marks, process, seconds=60, clock=SystemClock())
    assert found == Differences(unfounded=tuple(wrong))


def test_an_audit_that_takes_too_long_is_given_up(ontology: Ontology, kb: KnowledgeBase) -> None:
    with pytest.raises(ReasonerError, match="gave no answer"):
        cross_check(ontology, marks_of(kb), java="", heap=256, seconds=0.01, clock=SystemClock())


def test_what_is_certain_when_the_time_is_up_is_told(
    ontology: Ontology, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ending(JavaProcess):
        """Verifies twice and is gone."""

        left = 2

        def exchange(self, question: Any, seconds: float, limit: float | None = None) -> Any:
            if question.func is Served.verify:
                self.left -= 1
                if self.left < 0:
                    raise ReasonerError("gone")
            return super().exchange(question, seconds)

    monkeypatch.setattr("sensorstream.reasoning.dl.cross_check._AT_ONCE", 1)
    process = Ending("the cross-check", heap=256, clock=SystemClock())
    process.launch()
    marks = marks_of(kb)
    wrong = [(iri(name), IRI(rdf.TYPE), iri("Adult")) for name in ("a", "c", "d")]
    marks.update(dict.fromkeys(wrong, Origin.INFERRED))
    try:
        found = compare(ontology, marks, process, seconds=60, clock=SystemClock())
    finally:
        process.close()
    assert len(found.unfounded) == 2
    assert set(found.unfounded) < set(wrong)
