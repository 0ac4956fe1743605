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

from sensorstream.model.terms import Triple
from sensorstream.model.vocabulary import CONTRADICTION, OWL_SAME_AS, RDF_TYPE
from sensorstream.reasoning.dl.bounds.rules import lower, upper
from tests.reasoning.dl import test_random_ontologies as random_ontologies
from tests.reasoning.dl.bounds.saturation import Facts, saturate

EXAMPLES = int(os.environ.get("TEST_ONTOLOGIES", "12"))
COUNTS: Counter[str] = Counter()

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


def _of_individuals(text: str) -> bool:
    return not any(word in text for word in ("xsd:", ":d ", ":e ", "swrl:", "top"))


leaves = st.one_of(names, names, random_ontologies.expressions.filter(_of_individuals), special)
expressions = st.recursive(leaves, _nested, max_leaves=4)
class_axioms = st.one_of(
    random_ontologies.class_axioms.filter(_of_individuals),
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
)
property_axioms = random_ontologies.property_axioms.filter(_of_individuals)
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


# Few individuals: then the assertions about one meet.
individuals = st.sampled_from(random_ontologies.NODES[2:])
facts = st.one_of(
    random_ontologies.facts,
    st.tuples(individuals, st.just(RDF_TYPE), st.sampled_from(random_ontologies.CLASSES)),
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
    deadline=None,
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
        entailed = oracle.entailed(everything)
    except RuntimeError as error:
        COUNTS[f"not OWL 2 DL: {error}"[:70]] += 1
        return
    below = lower(axioms)
    lower_facts = saturate(below.rules, everything)
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
    upper_facts = saturate(above.rules, everything, lower_facts)
    if entailed is None:
        assert contradicts(upper_facts)
    else:
        most = said(upper_facts, everything)
        assert entailed <= most
        equal = "equal bounds" if most == said(lower_facts, everything) else "a gap"
        COUNTS[f"{equal}, {'contradictory' if contradicts(upper_facts) else 'a model'} above"] += 1


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
        if p == RDF_TYPE and o in classes:
            found.add((str(s), "type", str(o)))
        elif p == OWL_SAME_AS and o in individuals and s != o:
            found.add((str(s), "same", str(o)))
        elif p in links and o in individuals:
            found.add((str(s), str(p), str(o)))
        elif p in data:
            found.add((str(s), str(p), getattr(o, "lexical", "")))
    return found


def teardown_module() -> None:
    if "TEST_ONTOLOGIES" in os.environ:
        print(*(f"{count:6} {what}" for what, count in COUNTS.most_common()), sep="\n")
