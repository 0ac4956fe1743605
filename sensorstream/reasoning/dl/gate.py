"""Which axioms let individuals affect each other without a link between them.

docs/reasoning.md has the arguments. Source: OWL 2 Direct Semantics, section 2.3; OWL 2
Structural Specification, section 9.5 (keys).
"""

from __future__ import annotations

from typing import Final

from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term
from sensorstream.model.vocabulary import (
    OWL,
    OWL_HAS_VALUE,
    OWL_ONE_OF,
    RDF_TYPE,
)
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.swrl import individuals_of_rules, joins_strangers

_HAS_KEY: Final = IRI(f"{OWL}hasKey")
_UNIVERSAL: Final = IRI(f"{OWL}topObjectProperty")
_ALL_DIFFERENT: Final = IRI(f"{OWL}AllDifferent")
_ENDS_OF_NEGATIVE: Final = frozenset({f"{OWL}sourceIndividual", f"{OWL}targetIndividual"})
_MEMBERS: Final = frozenset({f"{OWL}distinctMembers", f"{OWL}members"})


def named_individuals(axioms: Axioms) -> set[Subject]:
    """The individuals that axioms name."""
    named = individuals_of_rules(axioms)
    for s, p, o in axioms.triples:
        if (p == OWL_HAS_VALUE or p in _ENDS_OF_NEGATIVE) and not isinstance(o, Literal):
            named.add(o)
        elif _is_in_expression(p, o):
            named.add(s)
        elif p == OWL_ONE_OF:
            named.update(m for m in axioms.members(o) if not isinstance(m, Literal))
    for node in axioms.typed(_ALL_DIFFERENT):
        for _, p, o in axioms.about(node):
            if p in _MEMBERS:
                named.update(m for m in axioms.members(o) if not isinstance(m, Literal))
    return named


def why_whole(axioms: Axioms, objects: frozenset[IRI]) -> tuple[str, ...]:
    """The reasons why every question must be about the whole window; empty if islands are sound.

    ``objects`` are the object properties.
    """
    reasons: dict[str, None] = {}
    for triple in axioms.triples:
        if _UNIVERSAL in triple:
            reasons["the universal role (owl:topObjectProperty)"] = None
        elif triple[1] == _HAS_KEY and objects.isdisjoint(axioms.members(triple[2])):
            reasons["a key of nothing but values (owl:hasKey)"] = None
    if joins_strangers(axioms):
        reasons["a SWRL rule about individuals that no link of its body connects"] = None
    return tuple(reasons)


def has_keys(axioms: Axioms) -> bool:
    """Whether there are keys."""
    return any(p == _HAS_KEY for _, p, _ in axioms.triples)


def _is_in_expression(predicate: IRI, value: Term) -> bool:
    """Whether a statement puts an individual into a class without a name, as denials do."""
    return predicate == RDF_TYPE and isinstance(value, BlankNode)
