"""Random ontologies and assertions: what is entailed lies between the two bounds.

``TEST_ONTOLOGIES`` sets how many ontologies are tried (a campaign: thousands).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from sensorstream.model import owl, rdf, xsd
from sensorstream.model.terms import Literal, Triple
from sensorstream.model.vocabulary import CONTRADICTION, OWL, RDFS
from sensorstream.model.xsd import XSD
from sensorstream.reasoning.dl.bounds.bound_rules import RulesBound, lower, upper
from sensorstream.reasoning.dl.datatypes import Datatypes, value_of
from tests.reasoning.dl import test_random_ontologies as random_ontologies
from tests.reasoning.dl.bounds.saturation import Facts, saturate

EXAMPLES = int(os.environ.get("TEST_ONTOLOGIES", "12"))
COUNTS: Counter[str] = Counter()
OWL_AND_RDFS = (OWL, RDFS)

names = random_ontologies.names
roles = random_ontologies.roles
simple = random_ontologies.simple


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    restriction = random_ontologies.restriction
    inverse = st.one_of(roles, roles.map("[ owl:inverseOf {} ]".format))
    return st.one_of(
        st.builds("[ a owl:Class ; owl:complementOf {} ]".format, inner),
        st.builds("[ a owl:Class ; owl:unionOf ( {} {} ) ]".format, inner, inner),
        st.builds("[ a owl:Class ; owl:intersectionOf ( {} {} ) ]".format, inner, inner),
        st.builds(lambda r, c: restriction(r, f"owl:someValuesFrom {c}"), inverse, inner),
        st.builds(lambda r, c: restriction(r, f"owl:allValuesFrom {c}"), inverse, inner),
        st.builds(
            random_ontologies.counted,
            simple,
            st.sampled_from(["maxCardinality", "cardinality", "minCardinality"]),
            st.sampled_from([0, 1, 2]),
            st.one_of(st.just(""), inner),
        ),
    )


special = st.sampled_from(["owl:Thing", "owl:Nothing"])
datas = random_ontologies.datas
literals = ['"{}"^^xsd:int', '"{}"^^xsd:decimal', '"0{}"^^xsd:integer', '"{}"', '"{}"^^xsd:double']
basic_ranges = st.one_of(
    random_ontologies.ranges,
    st.sampled_from(["xsd:string", "xsd:double", "xsd:decimal", "xsd:boolean", "rdfs:Literal"]),
    st.sampled_from(["xsd:nonNegativeInteger", "xsd:byte", "xsd:dateTime", "xsd:date"]),
    st.builds(
        "[ a rdfs:Datatype ; owl:onDatatype xsd:string ;"
        " owl:withRestrictions ( [ xsd:{} ] ) ]".format,
        st.sampled_from(["minLength 2", "maxLength 1", "length 2", 'pattern "[34]+"']),
    ),
    st.builds("[ a rdfs:Datatype ; owl:oneOf ( 3 4 {} ) ]".format, st.sampled_from([3, 5, 6])),
    st.builds(
        "[ a rdfs:Datatype ; owl:onDatatype {} ; owl:withRestrictions ( [ xsd:{} {} ] ) ]".format,
        st.sampled_from(["xsd:integer", "xsd:decimal"]),
        st.sampled_from(["minInclusive", "minExclusive", "maxInclusive", "maxExclusive"]),
        st.sampled_from([3, 4, 5]),
    ),
)
ranges = st.recursive(
    basic_ranges,
    lambda inner: st.one_of(
        st.builds("[ a rdfs:Datatype ; owl:datatypeComplementOf {} ]".format, inner),
        st.builds("[ a rdfs:Datatype ; owl:unionOf ( {} {} ) ]".format, inner, inner),
        st.builds("[ a rdfs:Datatype ; owl:intersectionOf ( {} {} ) ]".format, inner, inner),
    ),
    max_leaves=3,
)


def _of_values(kind: str, number: int, data: str, filler: str) -> str:
    return random_ontologies.counted(data, kind, number, filler).replace("onClass", "onDataRange")


of_values = st.one_of(
    st.builds(
        lambda d, k: random_ontologies.restriction(d, f"owl:someValuesFrom {k}"), datas, ranges
    ),
    st.builds(
        lambda d, k: random_ontologies.restriction(d, f"owl:allValuesFrom {k}"), datas, ranges
    ),
    st.builds(
        lambda d, v, n: random_ontologies.restriction(d, f"owl:hasValue {v.format(n)}"),
        datas,
        st.sampled_from(literals),
        st.sampled_from([3, 4, 5]),
    ),
    st.builds(
        _of_values,
        st.sampled_from(["maxCardinality", "cardinality", "minCardinality"]),
        st.sampled_from([0, 1, 2, 3]),
        datas,
        st.one_of(st.just(""), ranges),
    ),
)


leaves = st.one_of(names, names, random_ontologies.expressions, special, of_values)
expressions = st.recursive(leaves, _nested, max_leaves=4)
class_axioms = st.one_of(
    random_ontologies.class_axioms,
    st.builds("{} rdfs:subClassOf {} .".format, expressions, expressions),
    st.builds("{} rdfs:subClassOf {} .".format, names, expressions),
    st.builds("{} owl:equivalentClass {} .".format, names, expressions),
    # OWLAPI reads "disjoint with itself" as nothing, so the oracle is not asked about it.
    st.tuples(names, expressions)
    .filter(lambda pair: pair[0] != pair[1])
    .map(lambda pair: "{} owl:disjointWith {} .".format(*pair)),
    st.builds("{} rdfs:domain {} .".format, roles, expressions),
    st.builds("{} rdfs:range {} .".format, roles, expressions),
    st.builds("[] a owl:AllDisjointClasses ; owl:members ( {} {} :E ) .".format, names, names),
    st.builds(":o1 a {} .".format, expressions),
    st.builds("{} rdfs:subClassOf {} .".format, names, of_values),
    st.builds("{} rdfs:subClassOf {} .".format, of_values, names),
    st.builds("{} rdfs:range {} .".format, datas, ranges),
    st.builds("{} rdfs:domain {} .".format, datas, expressions),
    st.sampled_from(
        [
            ":d a owl:FunctionalProperty .",
            ":d owl:propertyDisjointWith :e .",
            ":d rdfs:subPropertyOf :e .",
            ":d owl:equivalentProperty :e .",
            ":A owl:disjointUnionOf ( :B :C ) .",
            "[] a owl:AllDisjointProperties ; owl:members ( :p :q :s ) .",
            """[] a owl:NegativePropertyAssertion ; owl:sourceIndividual :n1 ;
                owl:assertionProperty :d ; owl:targetValue 4 .""",
        ]
    ),
)
property_axioms = random_ontologies.property_axioms
others = st.one_of(
    random_ontologies.property_axioms,
    random_ontologies.individual_axioms,
    random_ontologies.rare_axioms,
)


@st.composite
def ontologies(draw: st.DrawFn) -> str:
    axioms = draw(st.lists(class_axioms, min_size=3, max_size=7))
    axioms += draw(st.lists(property_axioms, min_size=1, max_size=3))
    if draw(st.integers(0, 5)) == 0:
        axioms += draw(st.lists(others, max_size=2))
    return "\n".join(axioms)


ASKED = random_ontologies.VALUES
VALUES = [
    Literal("4", xsd.INTEGER),
    Literal("4", f"{XSD}int"),
    Literal("4.0", f"{XSD}decimal"),
    Literal("4.5", f"{XSD}decimal"),
    Literal("4", f"{XSD}double"),
    Literal("4"),
    Literal("true", f"{XSD}boolean"),
    Literal("2026-01-01", f"{XSD}date"),
    Literal("2026-01-01T00:00:00Z", f"{XSD}dateTime"),
]
# Few individuals: then the assertions about one meet.
individuals = st.sampled_from(random_ontologies.NODES[2:])
facts = st.one_of(
    random_ontologies.facts,
    st.tuples(individuals, st.sampled_from(random_ontologies.DATA), st.sampled_from(VALUES)),
    st.tuples(individuals, st.just(rdf.TYPE), st.sampled_from(random_ontologies.CLASSES)),
    st.tuples(individuals, st.sampled_from(random_ontologies.ROLES[:3]), individuals),
)
windows = st.sets(facts, min_size=4, max_size=9)


@pytest.fixture(scope="module")
def oracle() -> Iterator[random_ontologies.Oracle]:
    made = random_ontologies.Oracle()
    yield made
    made.close()


@settings(
    max_examples=EXAMPLES,
    derandomize="TEST_ONTOLOGIES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(text=ontologies(), window=windows)
def test_what_is_entailed_lies_between_the_bounds(
    oracle: random_ontologies.Oracle, text: str, window: set[Triple]
) -> None:
    note(text)
    axioms = random_ontologies.ontology(text).triples
    everything = list(dict.fromkeys([*axioms, *sorted(window)]))
    try:
        entailed = oracle.entailed(list(Datatypes(axioms).rewritten(everything)))
    except RuntimeError as error:
        COUNTS[f"not OWL 2 DL: {error}"[:70]] += 1
        return
    below = lower(axioms)
    given_facts = facts_about(below, everything)
    lower_facts = saturate(below.rules, given_facts)
    COUNTS["consistent" if entailed is not None else "contradictions"] += 1
    if entailed is None:
        COUNTS["contradictions that the lower bound finds"] += contradicts(lower_facts)
    else:
        assert not contradicts(lower_facts)
        assert said(lower_facts, everything) <= entailed
        COUNTS["entailed"] += len(entailed)
        COUNTS["in the lower bound"] += len(said(lower_facts, everything))
    above = upper(axioms)
    if above.untreated:
        COUNTS["an axiom untreated"] += 1
        COUNTS[above.untreated[0].rpartition(": ")[2]] += 1
        return
    upper_facts = saturate(above.rules, given_facts, lower_facts)
    if entailed is None:
        assert contradicts(upper_facts)
    else:
        most = said(upper_facts, everything)
        assert entailed <= most
        equal = "equal bounds" if most == said(lower_facts, everything) else "a gap"
        COUNTS[f"{equal}, {'contradictory' if contradicts(upper_facts) else 'a model'} above"] += 1


@pytest.mark.parametrize(
    "text",
    [
        ":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ] .",
        "[ a owl:Restriction ; owl:onProperty :p ] rdfs:subClassOf :A .",
        ":A rdfs:subClassOf [ a owl:Class ; owl:unionOf ( :B _:x ) ] .",
        ":A owl:equivalentClass [ a owl:Restriction ; owl:onProperty :p ] ; owl:disjointWith :B .",
        ":p owl:inverseOf [ owl:unionOf ( :q :s ) ] .",
    ],
)
def test_an_expression_without_content_is_a_name_for_hermit(
    oracle: random_ontologies.Oracle, text: str
) -> None:
    one, other = random_ontologies.NODES[:2]
    a, b = random_ontologies.CLASSES[:2]
    axioms = random_ontologies.ontology(text).triples
    window = [
        (one, rdf.TYPE, a),
        (other, rdf.TYPE, b),
        *((one, role, other) for role in random_ontologies.ROLES[:3]),
    ]
    everything = [*axioms, *window]
    lower_facts = saturate(lower(axioms).rules, everything)
    assert upper(axioms).untreated == ()
    upper_facts = saturate(upper(axioms).rules, everything, lower_facts)
    entailed = oracle.entailed(everything)
    assert entailed is not None
    assert said(lower_facts, everything) <= entailed <= said(upper_facts, everything)
    assert not contradicts(upper_facts)


def facts_about(bound: RulesBound, everything: list[Triple]) -> list[Triple]:
    """The assertions, with what a bound takes for granted about their terms."""
    terms = {end for s, p, o in everything for end in (s, o) if not p.startswith(OWL_AND_RDFS)}
    return [*everything, *(fact for term in sorted(terms) for fact in bound.facts_of(term))]


def contradicts(facts: Facts) -> bool:
    return bool(facts.match(None, CONTRADICTION, None))


def said(facts: Facts, told: list[Triple]) -> set[tuple[str, str, str]]:
    """What is derived about the individuals, in the oracle's words."""
    individuals = set(random_ontologies.individuals_of(told))
    classes, links = set(random_ontologies.CLASSES), set(random_ontologies.ROLES)
    data = set(random_ontologies.DATA)
    found = set()
    for s, p, o in facts.all:
        if s not in individuals:
            continue
        if p == rdf.TYPE and o in classes:
            found.add((str(s), "type", str(o)))
        elif p == owl.SAME_AS and o in individuals and s != o:
            found.add((str(s), "same", str(o)))
        elif p in links and o in individuals:
            found.add((str(s), str(p), str(o)))
        elif p in data and isinstance(o, Literal):
            found.update((str(s), str(p), v.lexical) for v in ASKED if value_of(v) == value_of(o))
    return found


def teardown_module() -> None:
    if "TEST_ONTOLOGIES" in os.environ:
        print(*(f"{count:6} {what}" for what, count in COUNTS.most_common()), sep="\n")
