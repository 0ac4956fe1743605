"""What kind of class expression a node is (OWL 2 Mapping to RDF Graphs, section 3.2.4)."""

from __future__ import annotations

from typing import Final

from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.vocabulary import (
    OWL,
    OWL_COMPLEMENT_OF,
    OWL_HAS_VALUE,
    OWL_INTERSECTION_OF,
    OWL_ONE_OF,
    OWL_SOME_VALUES_FROM,
)
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.bounds.clauses import Untreated

UNION: Final = IRI(f"{OWL}unionOf")
ALL: Final = IRI(f"{OWL}allValuesFrom")
SELF: Final = IRI(f"{OWL}hasSelf")
COUNTS: Final = {
    f"{OWL}minCardinality": (True, False),
    f"{OWL}maxCardinality": (False, True),
    f"{OWL}cardinality": (True, True),
    f"{OWL}minQualifiedCardinality": (True, False),
    f"{OWL}maxQualifiedCardinality": (False, True),
    f"{OWL}qualifiedCardinality": (True, True),
}
"""Whether the number is a lower limit, and whether it is an upper one."""
_KINDS: Final = frozenset(
    {
        OWL_INTERSECTION_OF,
        UNION,
        OWL_COMPLEMENT_OF,
        OWL_ONE_OF,
        OWL_SOME_VALUES_FROM,
        OWL_HAS_VALUE,
        SELF,
        ALL,
        *map(IRI, COUNTS),
    }
)


def has_kind(axioms: Axioms, node: Term) -> bool:
    """Whether the node is any expression."""
    return any(p in _KINDS for _, p, _ in axioms.about(node))


def kind_of(axioms: Axioms, node: Term) -> tuple[IRI, Term]:
    """The property that makes the node an expression, and its value.

    Raises:
        Untreated: it has several of them, or none.
    """
    found = [(p, o) for _, p, o in axioms.about(node) if p in _KINDS]
    if len(found) != 1:
        raise Untreated("an unknown class expression")
    return IRI(found[0][0]), found[0][1]


def limits_of(kind: IRI, value: Term) -> tuple[int, bool, bool]:
    """The number of a cardinality, and whether it is a lower limit, and an upper one.

    Raises:
        Untreated: it is no number.
    """
    least, most = COUNTS[kind]
    if not isinstance(value, Literal) or not value.lexical.strip().isdecimal():
        raise Untreated(f"{kind.removeprefix(OWL)} {value.n3}")
    return int(value.lexical), least, most
