"""Properties above others, and those that need a reasoner.

Hierarchies, equivalences, inverses and symmetry are *linear*: a triple implies triples, one
at a time. If no axiom can make individuals equal, all other implied property values come from
transitivity, chains, reflexivity and self restrictions (docs/reasoning.md).
"""

from __future__ import annotations

from typing import Final, TypeAlias

from sensorstream.model.schema import transitive
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.vocabulary import (
    OWL,
    OWL_EQUIVALENT_PROPERTY,
    OWL_INVERSE_OF,
    OWL_ON_PROPERTY,
    RDF_TYPE,
    RDFS_SUBPROPERTY_OF,
)
from sensorstream.reasoning.dl.axioms import Axioms

_SYMMETRIC: Final = IRI(f"{OWL}SymmetricProperty")
_CHAIN: Final = IRI(f"{OWL}propertyChainAxiom")
_COMPLEX_KINDS: Final = frozenset({f"{OWL}TransitiveProperty", f"{OWL}ReflexiveProperty"})
_EQUATING_KINDS: Final = frozenset({f"{OWL}FunctionalProperty", f"{OWL}InverseFunctionalProperty"})
_COUNTS: Final = frozenset(
    f"{OWL}{word}"
    for word in ("maxCardinality", "cardinality", "maxQualifiedCardinality", "qualifiedCardinality")
)
# A signed name, as one string so that hierarchies are computed by the usual function.
_Signed: TypeAlias = IRI
_BACKWARD: Final = "^"


class Roles:
    """The stated hierarchy of properties, inverses included."""

    __slots__ = ("_above",)

    def __init__(self, axioms: Axioms) -> None:
        edges: dict[_Signed, set[_Signed]] = {}

        def tell(lower: _Signed, upper: _Signed) -> None:
            edges.setdefault(lower, set()).add(upper)
            edges.setdefault(_converse(lower), set()).add(_converse(upper))

        for s, p, o in axioms.triples:
            if p == RDF_TYPE and o == _SYMMETRIC and isinstance(s, IRI):
                tell(s, _converse(s))
                continue
            one, other = _signed(axioms, s), _signed(axioms, o)
            if one is None or other is None:
                continue
            if p == RDFS_SUBPROPERTY_OF:
                tell(one, other)
            elif p == OWL_EQUIVALENT_PROPERTY:
                tell(one, other)
                tell(other, one)
            elif p == OWL_INVERSE_OF and isinstance(s, IRI):
                tell(one, _converse(other))
                tell(_converse(other), one)
        self._above = transitive(edges)

    def above(self, names: set[IRI]) -> set[IRI]:
        """The properties and all superproperties of them or of their inverses."""
        found = set(names)
        for name in names:
            for signed in (name, _converse(name)):
                found.update(_name(each) for each in self._above.get(IRI(signed), ()))
        return found


def complex_roles(axioms: Axioms) -> set[IRI]:
    """The properties with an axiom that derives triples from several, or from none."""
    found: set[IRI] = set()
    for s, p, o in axioms.triples:
        role: Term | None = None
        if (p == RDF_TYPE and o in _COMPLEX_KINDS) or p == _CHAIN:
            role = s
        elif p == f"{OWL}hasSelf":
            role = axioms.value(s, OWL_ON_PROPERTY)
        signed = None if role is None else _signed(axioms, role)
        if signed is not None:
            found.add(_name(signed))
    return found


def counts_individuals(axioms: Axioms, values: frozenset[IRI]) -> bool:
    """Whether some axiom limits the number of neighbours of an individual.

    ``values`` are the datatype properties: a limit on values makes no individuals equal.
    """
    for s, p, o in axioms.triples:
        if p in _COUNTS and axioms.value(s, OWL_ON_PROPERTY) not in values:
            return True
        if p == RDF_TYPE and o in _EQUATING_KINDS and s not in values:
            return True
    return False


def leaves_a_choice(axioms: Axioms, values: frozenset[IRI]) -> bool:
    """Whether some limit above one lets models differ in which neighbours are equal."""
    return any(
        p in _COUNTS
        and isinstance(o, Literal)
        and o.lexical.strip() not in {"0", "1"}
        and axioms.value(s, OWL_ON_PROPERTY) not in values
        for s, p, o in axioms.triples
    )


def _converse(name: str) -> IRI:
    return IRI(name[1:] if name.startswith(_BACKWARD) else _BACKWARD + name)


def _name(signed: str) -> IRI:
    return IRI(signed.removeprefix(_BACKWARD))


def _signed(axioms: Axioms, term: Term) -> _Signed | None:
    if isinstance(term, BlankNode):
        inverse = axioms.value(term, OWL_INVERSE_OF)
        inner = None if inverse is None else _signed(axioms, inverse)
        return None if inner is None else _converse(inner)
    return term if isinstance(term, IRI) else None
