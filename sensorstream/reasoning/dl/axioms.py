"""Axioms by subject, as lists and expressions are read, and what they are called by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sensorstream.model.terms import Subject, Term, Triple
from sensorstream.model.vocabulary import OWL, RDF_FIRST, RDF_REST, RDF_TYPE, RDFS

COUNTS: Final = {
    f"{OWL}minCardinality": (True, False),
    f"{OWL}maxCardinality": (False, True),
    f"{OWL}cardinality": (True, True),
    f"{OWL}minQualifiedCardinality": (True, False),
    f"{OWL}maxQualifiedCardinality": (False, True),
    f"{OWL}qualifiedCardinality": (True, True),
}
"""Whether the number is a lower limit, and whether it is an upper one."""
AT_MOST: Final = frozenset(name for name, (_, most) in COUNTS.items() if most)

ANNOTATIONS: Final = frozenset(
    {
        *(f"{RDFS}{word}" for word in ("label", "comment", "seeAlso", "isDefinedBy")),
        *(f"{OWL}{word}" for word in ("versionInfo", "deprecated", "versionIRI", "imports")),
        *(f"{OWL}{word}" for word in ("priorVersion", "incompatibleWith")),
        f"{OWL}backwardCompatibleWith",
    }
)
"""OWL 2's own annotation properties, and what else says nothing of individuals."""


def name_of(axiom: Triple) -> str:
    """An axiom as text, which names the rules that are made of it."""
    return " ".join(each.n3 for each in axiom)


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
