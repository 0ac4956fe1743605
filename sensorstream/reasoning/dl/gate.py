"""Which axioms let individuals affect each other without a link between them.

docs/reasoning.md has the arguments. Source: OWL 2 Direct Semantics, section 2.3; OWL 2
Structural Specification, section 9.5 (keys); SWRL, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyoxigraph as ox

from sensorstream.kb.oxigraph import from_oxigraph
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_COMPLEMENT_OF,
    OWL_EQUIVALENT_CLASS,
    OWL_HAS_VALUE,
    OWL_NOTHING,
    OWL_ONE_OF,
    OWL_SOME_VALUES_FROM,
    OWL_THING,
    RDF_FIRST,
    RDF_REST,
    RDF_TYPE,
)
from sensorstream.reasoning.ontology import to_ntriples

_SWRL: Final = "http://www.w3.org/2003/11/swrl#"
_HAS_KEY: Final = IRI(f"{OWL}hasKey")
_UNIVERSAL: Final = IRI(f"{OWL}topObjectProperty")
_ALL_DIFFERENT: Final = IRI(f"{OWL}AllDifferent")
_NEGATIVE: Final = IRI(f"{OWL}NegativePropertyAssertion")
_ENDS_OF_NEGATIVE: Final = frozenset({f"{OWL}sourceIndividual", f"{OWL}targetIndividual"})
_MEMBERS: Final = frozenset({f"{OWL}distinctMembers", f"{OWL}members"})


class Axioms:
    """Axioms by subject, as lists and expressions are read."""

    def __init__(self, triples: Sequence[Triple]) -> None:
        self.triples = triples
        self._about: dict[Term, list[Triple]] = {}
        for triple in triples:
            self._about.setdefault(triple[0], []).append(triple)

    def about(self, node: Term) -> list[Triple]:
        """The triples with one subject."""
        return self._about.get(node, [])

    def value(self, node: Term, predicate: str) -> Term | None:
        """The first object of a subject and predicate."""
        return next((o for _, p, o in self.about(node) if p == predicate), None)

    def members(self, head: Term) -> list[Term]:
        """The members of an RDF list."""
        found: list[Term] = []
        for cell in self.cells(head):
            member = self.value(cell, RDF_FIRST)
            if member is not None:
                found.append(member)
        return found

    def cells(self, head: Term) -> Iterator[Term]:
        """The nodes of an RDF list without its end; a cyclic list ends where it repeats."""
        seen: set[Term] = set()
        cell: Term | None = head
        while cell is not None and cell not in seen and self.value(cell, RDF_FIRST) is not None:
            seen.add(cell)
            yield cell
            cell = self.value(cell, RDF_REST)

    def typed(self, kind: str) -> list[Subject]:
        """The subjects of a type."""
        return [s for s, p, o in self.triples if p == RDF_TYPE and o == kind]


def named_individuals(axioms: Axioms) -> set[Subject]:
    """The individuals that axioms name."""
    named: set[Subject] = set()
    for _, p, o in axioms.triples:
        if (p == OWL_HAS_VALUE or p in _ENDS_OF_NEGATIVE) and not isinstance(o, Literal):
            named.add(o)
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
    if any(_joins_strangers(axioms, rule) for rule in axioms.typed(f"{_SWRL}Imp")):
        reasons["a SWRL rule about individuals that no link of its body connects"] = None
    return tuple(reasons)


def has_rules(axioms: Axioms) -> bool:
    """Whether there are SWRL rules."""
    return bool(axioms.typed(f"{_SWRL}Imp"))


def has_keys(axioms: Axioms) -> bool:
    """Whether there are keys."""
    return any(p == _HAS_KEY for _, p, _ in axioms.triples)


def without_named(axioms: Axioms) -> tuple[Triple, ...]:
    """The axioms without named individuals: each nominal is empty."""
    gone: set[Term] = {*axioms.typed(_ALL_DIFFERENT), *axioms.typed(_NEGATIVE)}
    lists = [o for node in gone for _, p, o in axioms.about(node) if p in _MEMBERS]
    kept: list[Triple] = []
    for s, p, o in axioms.triples:
        if s in gone:
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


def read_without_named(ntriples: bytes) -> bytes | None:
    """:func:`without_named` of an N-Triples document; None if it names no individual."""
    axioms = Axioms([_triple(each) for each in ox.parse(ntriples, format=ox.RdfFormat.N_TRIPLES)])
    return to_ntriples(without_named(axioms)) if named_individuals(axioms) else None


def _triple(quad: ox.Quad) -> Triple:
    subject, predicate = from_oxigraph(quad.subject), from_oxigraph(quad.predicate)
    assert isinstance(subject, IRI | BlankNode)
    assert isinstance(predicate, IRI)
    return subject, predicate, from_oxigraph(quad.object)


def _joins_strangers(axioms: Axioms, rule: Subject) -> bool:
    """Whether a rule may fire for individuals of different islands, or names one."""
    body = _atoms(axioms, rule, "body")
    groups: list[set[Term]] = []
    everyone: set[Term] = set()
    for atom in (*body, *_atoms(axioms, rule, "head")):
        kind = axioms.value(atom, RDF_TYPE)
        ends = [axioms.value(atom, f"{_SWRL}argument{n}") for n in (1, 2)]
        if kind in (f"{_SWRL}BuiltinAtom", f"{_SWRL}DataRangeAtom"):
            continue
        if kind in (f"{_SWRL}ClassAtom", f"{_SWRL}DatavaluedPropertyAtom"):
            ends = ends[:1]
        about = {end for end in ends if end is not None}
        if not all(_is_variable(axioms, end) for end in about):
            return True
        everyone |= about
        connects = kind in (f"{_SWRL}IndividualPropertyAtom", f"{_SWRL}SameIndividualAtom")
        if atom in body and connects:
            touching = [group for group in groups if group & about]
            groups = [group for group in groups if not group & about]
            groups.append(about.union(*touching))
    return len(everyone) != 1 and not any(group >= everyone for group in groups)


def _atoms(axioms: Axioms, rule: Subject, part: str) -> list[Term]:
    head = axioms.value(rule, f"{_SWRL}{part}")
    return [] if head is None else axioms.members(head)


def _is_variable(axioms: Axioms, term: Term) -> bool:
    return any(p == RDF_TYPE and o == f"{_SWRL}Variable" for _, p, o in axioms.about(term))
