"""Which axioms let individuals affect each other without a link between them.

docs/reasoning.md has the arguments. Source: OWL 2 Direct Semantics, section 2.3; OWL 2
Structural Specification, section 9.5 (keys).
"""

from __future__ import annotations

from typing import Final

import pyoxigraph as ox

from sensorstream.kb.oxigraph import from_oxigraph
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_COMPLEMENT_OF,
    OWL_EQUIVALENT_CLASS,
    OWL_HAS_VALUE,
    OWL_NEGATIVE_ASSERTION,
    OWL_NOTHING,
    OWL_ONE_OF,
    OWL_SOME_VALUES_FROM,
    OWL_THING,
    RDF_TYPE,
)
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.swrl import individuals_of_rules, joins_strangers
from sensorstream.reasoning.ontology import to_ntriples

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


def without_named(axioms: Axioms) -> tuple[Triple, ...]:
    """The axioms without named individuals: each nominal is empty."""
    gone: set[Term] = {*axioms.typed(_ALL_DIFFERENT), *axioms.typed(OWL_NEGATIVE_ASSERTION)}
    lists = [o for node in gone for _, p, o in axioms.about(node) if p in _MEMBERS]
    kept: list[Triple] = []
    for s, p, o in axioms.triples:
        if s in gone or _is_in_expression(p, o):
            continue
        if p == OWL_HAS_VALUE and not isinstance(o, Literal):
            kept.append((s, OWL_SOME_VALUES_FROM, OWL_NOTHING))
        elif p == OWL_ONE_OF and not any(isinstance(m, Literal) for m in axioms.members(o)):
            lists.append(o)
            if isinstance(s, IRI):
                kept.append((s, OWL_EQUIVALENT_CLASS, OWL_NOTHING))
            else:
                kept.append((s, OWL_COMPLEMENT_OF, OWL_THING))
        else:
            kept.append((s, p, o))
    cells = {cell for head in lists for cell in axioms.cells(head)}
    return tuple(t for t in kept if t[0] not in cells)


def _is_in_expression(predicate: IRI, value: Term) -> bool:
    """Whether a statement puts an individual into a class without a name, as denials do."""
    return predicate == RDF_TYPE and isinstance(value, BlankNode)


def read_without_named(ntriples: bytes) -> bytes | None:
    """:func:`without_named` of an N-Triples document; None if it names no individual."""
    axioms = Axioms([_triple(each) for each in ox.parse(ntriples, format=ox.RdfFormat.N_TRIPLES)])
    return to_ntriples(without_named(axioms)) if named_individuals(axioms) else None


def _triple(quad: ox.Quad) -> Triple:
    subject, predicate = from_oxigraph(quad.subject), from_oxigraph(quad.predicate)
    assert isinstance(subject, IRI | BlankNode)
    assert isinstance(predicate, IRI)
    return subject, predicate, from_oxigraph(quad.object)
