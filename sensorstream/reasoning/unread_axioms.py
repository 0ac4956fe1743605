"""Axioms that messages say, where the reasoner reads axioms from the ontology alone.

HermiT, Pellet and the plain profile take from the window which classes individuals have, their
values, and which are the same or different. All else in OWL's vocabulary has no effect there: a
negative assertion of a property, for example. Rule sets read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_DIFFERENT_FROM,
    OWL_NAMED_INDIVIDUAL,
    OWL_NOTHING,
    OWL_SAME_AS,
    OWL_THING,
    RDF_TYPE,
    RDFS_DOMAIN,
    RDFS_RANGE,
    RDFS_SUBCLASS_OF,
    RDFS_SUBPROPERTY_OF,
)
from sensorstream.reasoning.dl.axioms import ANNOTATIONS
from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.reasoning.resilient import ResilientReasoner
from sensorstream.reasoning.schema_closure import SchemaClosure

_OF_SCHEMA: Final = frozenset({RDFS_SUBCLASS_OF, RDFS_SUBPROPERTY_OF, RDFS_DOMAIN, RDFS_RANGE})
_OF_INDIVIDUALS: Final = ANNOTATIONS | {
    *(OWL_SAME_AS, OWL_DIFFERENT_FROM, OWL_THING, OWL_NOTHING, OWL_NAMED_INDIVIDUAL),
}
"""The names of OWL that say nothing of the ontology where they stand in a message."""


def says_axiom(word: Term) -> bool:
    """Whether a class or a property is one of axioms, from which nothing follows in a message."""
    return word in _OF_SCHEMA or (
        isinstance(word, IRI) and word.startswith(OWL) and word not in _OF_INDIVIDUALS
    )


def unread_axiom(reasoner: Reasoner, triples: Iterable[Triple]) -> str:
    """What to tell of the first axiom that has no effect; "": there is none."""
    if not isinstance(reasoner, ResilientReasoner | SchemaClosure):
        return ""
    for triple in triples:
        _, p, o = triple
        if says_axiom(o if p == RDF_TYPE else p):
            told = " ".join(each.n3 for each in triple)
            return (
                f"nothing follows from '{told}': the profiles plain, hermit and pellet read axioms "
                "from the ontology alone: put it into the ontology, or choose a profile with rule "
                "sets that read it"
            )
    return ""
