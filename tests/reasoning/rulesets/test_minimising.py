"""Rule sets without what an ontology and queries do not need: all that is asked stays the same."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sensorstream.errors import Inconsistent, OntologyError, ProgramError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model import owl, rdf
from sensorstream.model.events import Delta
from sensorstream.model.terms import IRI, Triple
from sensorstream.network.recursion.triple_kinds import TriplesRead
from sensorstream.reasoning.rulesets.minimising import kinds_asked, minimised
from sensorstream.reasoning.rulesets.rule_blocks import excerpt
from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set import RuleSet
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules, read, text_of
from sensorstream.sparql.query_parser import parse_query
from tests.reasoning.rulesets.graphs import PREFIXES, graph, rules
from tests.reasoning.rulesets.strategies import schemas, windows

POOL = """
{ ?x a :D } WHERE { ?x a :C }
{ ?x a :E } WHERE { ?x a :D }
{ ?x a :E } WHERE { ?x a :C }
{ ?x :q ?y } WHERE { ?x :p ?y }
{ ?y :r ?x } WHERE { ?x :q ?y }
{ ?x :q ?y } WHERE { ?y :r ?x }
{ ?y a :C } WHERE { ?x :p ?y }
{ ?y a :C } WHERE { ?x :q ?y }
{ ?x :q ?z } WHERE { ?x :q ?y . ?y :q ?z }
{ ?x a :D . ?y a :E } WHERE { ?x :r ?y }
{ ?x owl:sameAs ?x } WHERE { ?x ?p ?y }
{ ?x owl:sameAs ?y } WHERE { ?z :p ?x . ?z :p ?y FILTER(!sameTerm(?x, ?y)) }
{ ?y owl:sameAs ?x } WHERE { ?x owl:sameAs ?y }
{ ?y ?p ?z } WHERE { ?x owl:sameAs ?y . ?x ?p ?z FILTER(!sameTerm(?x, ?y)) }
{ ?x a :F } WHERE { ?x a :C FILTER NOT EXISTS { ?x a :D } }
{ ?x a :F } WHERE { ?x :r ?y FILTER(isLiteral(?y)) }
{ ?x a :F } WHERE { ?x :p/:q ?y }
{ ?x a :F } WHERE { ?x :p ?y . ?y :q ?z }
{ ?x a :D } WHERE { { ?x :p ?y } UNION { ?x :r ?y } }
{ ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c }
{ ?c rdfs:subClassOf ?e } WHERE { ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?e }
{ ?x ?q ?y } WHERE { ?p rdfs:subPropertyOf ?q . ?x ?p ?y }
{ ?x ss:contradiction "no" } WHERE { ?x a :C . ?x a :F }
""".strip().splitlines()
some_rules = st.lists(st.sampled_from(POOL), min_size=2, max_size=9, unique=True).map(
    lambda texts: PREFIXES + "".join(f"# r{n}\nINSERT {each} ;\n" for n, each in enumerate(texts))
)
KINDS = [
    *(TriplesRead(IRI(f"http://example.org/{name}"), None) for name in "pqr"),
    *(TriplesRead(rdf.TYPE, IRI(f"http://example.org/{name}")) for name in "CDEF"),
    *(TriplesRead(owl.SAME_AS, None), TriplesRead(rdf.TYPE, None)),
]
goals = st.none() | st.lists(st.sampled_from(KINDS), min_size=1, max_size=2, unique=True)


def without(text: str, rule_set: RuleSet, kept: Collection[str]) -> RuleSet:
    """The text of the rules that are kept, read."""
    left_out = {note.position for name, note in rule_set.notes.items() if name not in kept}
    return read(excerpt(text, rule_set.name, left_out), rule_set.name)


class Side:
    """A reasoner and its graph."""

    def __init__(self, rule_set: RuleSet | None, static: set[Triple]) -> None:
        self.kb = KnowledgeBase()
        self.kb.add(Origin.STATIC, sorted(static))
        self._reasoner = RuleReasoner(rule_set or RuleSet("none", (), (), {}))
        self._reasoner.start(self.kb)

    def change(self, delta: Delta) -> bool:
        """Whether the change contradicts nothing, and is made."""
        self.kb.apply(Origin.WINDOW, delta)
        try:
            self._reasoner.react(self.kb, delta)
        except Inconsistent:
            self.kb.apply(Origin.WINDOW, delta.inverse())
            return False
        return True

    def asked(self, kinds: Collection[TriplesRead] | None) -> set[Triple]:
        return {
            triple
            for triple in self.kb.index
            if kinds is None or any(each.meets(TriplesRead(triple[1], triple[2])) for each in kinds)
        }


def check(
    text: str,
    static: set[Triple],
    changes: list[list[Triple]],
    asked: Collection[TriplesRead] | None,
) -> None:
    try:
        whole = read(text, "mine.ru")
        found = minimised(whole, static, asked)
    except (OntologyError, ProgramError):
        assume(False)
        return
    assert len(found.kept) + len(found.idle) + len(found.implied) == len(whole.rules)
    kept = without(text, whole, found.kept) if found.kept or whole.facts else None
    assert [rule.name for rule in kept.rules] == list(found.kept) if kept else not found.kept
    sides = Side(whole, static), Side(kept, static)
    assert sides[0].asked(asked) == sides[1].asked(asked)
    names = {term for triple in static for term in triple}
    window: set[Triple] = set()
    for change in changes:
        said = [
            each
            for each in change
            if (each[1] in names or each[1] == rdf.TYPE)
            and (each[1] != rdf.TYPE or each[2] in names)
            and each[1] != owl.SAME_AS
        ]
        delta = Delta(
            0,
            tuple(each for each in said if each not in window),
            tuple(each for each in said if each in window),
        )
        made = {side.change(delta) for side in sides}
        assert len(made) == 1
        if made == {True}:
            window ^= set(said)
        assert sides[0].asked(asked) == sides[1].asked(asked)


@settings(max_examples=60)
@given(text=some_rules, static=schemas, changes=windows, asked=goals)
def test_what_is_asked_is_the_same_without_the_rules_that_are_left_out(
    text: str, static: set[Triple], changes: list[list[Triple]], asked: list[TriplesRead] | None
) -> None:
    declared = graph(":p a owl:ObjectProperty . :q a owl:ObjectProperty . :C a owl:Class .")
    check(text, static | declared, changes, asked)


@pytest.mark.parametrize("name", ["owl2rl", "pdstar"])
@settings(max_examples=2)
@given(static=schemas, changes=windows, asked=goals)
def test_so_it_is_for_the_standards(
    name: str, static: set[Triple], changes: list[list[Triple]], asked: list[TriplesRead] | None
) -> None:
    check(text_of(name), static, changes, asked)


SCHOOL = """
:Person a owl:Class . :School a owl:Class . :Course a owl:Class .
:Student a owl:Class ; owl:intersectionOf ( :Person [ a owl:Restriction ;
  owl:onProperty :takes ; owl:someValuesFrom :Course ] ) .
:Graduate a owl:Class ; rdfs:subClassOf :Person , [ a owl:Restriction ;
  owl:onProperty :takes ; owl:someValuesFrom :Seminar ] .
:Seminar a owl:Class ; rdfs:subClassOf :Course .
:takes a owl:ObjectProperty . :age a owl:DatatypeProperty .
:memberOf a owl:ObjectProperty ; owl:inverseOf :member . :member a owl:ObjectProperty .
:worksFor a owl:ObjectProperty ; rdfs:subPropertyOf :memberOf .
:partOf a owl:TransitiveProperty ; rdfs:domain :School
"""


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("SELECT * { ?x :age ?y }", ()),
        ("SELECT * { ?x :partOf :a }", ("prp-trp",)),
        # That x is part of more than one thing says nothing new of x, but is not found out.
        ("SELECT * { ?x a :School }", ("prp-dom", "prp-trp")),
        ("ASK { ?x :memberOf ?y }", ("prp-spo1", "prp-inv1", "prp-inv2")),
        # A graduate takes a seminar, which is a course: scm-svf1 makes that a student.
        ("SELECT * { ?x a :Student }", ("cls-int1", "cls-int2", "cls-svf1", "cax-sco", "scm-svf1")),
    ],
)
def test_queries_need_few_of_the_rules(query: str, kept: tuple[str, ...]) -> None:
    asked = kinds_asked(parse_query(f"{PREFIXES} {query}"))
    assert minimised(bundled_rules("owl2rl"), graph(SCHOOL), asked).kept == kept


def test_a_description_asks_for_everything() -> None:
    found = minimised(
        rules("# a\nINSERT { ?x a :D } WHERE { ?x a :C } ;"),
        graph(":C a owl:Class"),
        kinds_asked(parse_query("DESCRIBE <urn:a>")),
    )
    assert found.kept == ("a",)


def test_an_ontology_that_contradicts_itself_is_refused() -> None:
    amiss = rules('# a\nINSERT { ?x ss:contradiction "no" } WHERE { ?x a owl:Class } ;')
    with pytest.raises(OntologyError, match=r"contradicts itself: no: <"):
        minimised(amiss, graph(":C a owl:Class"))


def test_an_excerpt_keeps_comments_prefixes_and_facts() -> None:
    text = """# What this is.
PREFIX : <http://example.org/>

# one
# its source
INSERT { ?x a :B } WHERE { ?x a :A } ; # two
INSERT { ?x a :C } WHERE { ?x a :B ; :p ";" } ;
PREFIX e: <http://example.org/e/>
# facts
INSERT DATA { e:a a :A } ;

# three
INSERT { ?x a e:D } WHERE { ?x a :C }"""
    whole = read(text, "mine.ru")
    expected = """# What this is.
PREFIX : <http://example.org/>

 # two
INSERT { ?x a :C } WHERE { ?x a :B ; :p ";" } ;
PREFIX e: <http://example.org/e/>
# facts
INSERT DATA { e:a a :A } ;
"""
    left_out = {whole.notes["one"].position, whole.notes["three"].position}
    assert excerpt(text, "mine.ru", left_out) == expected
    assert excerpt(text, "mine.ru", ()) == f"{text}\n;\n"
    assert read(excerpt(text, "mine.ru", ()), "mine.ru").notes == whole.notes
    with pytest.raises(ProgramError, match="Datalog"):
        excerpt("PREFIX : <urn:>\n:a(?x) :- :b(?x) .", "mine.dlog", ())
