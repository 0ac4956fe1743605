"""Contradictions that an ontology states outright, found without HermiT or Pellet.

Sound and incomplete: what is found has no model; what is not found may have none either. Classes
and links of the individuals are those of the plain profile.

Source: OWL 2 Profiles, section 4.3: the rules eq-diff1 to 3, prp-npa1 and 2, cls-nothing2, cls-com,
cax-dw and cax-adc, whose conclusion is ``false``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from sensorstream.errors import TermError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Subject, Term
from sensorstream.model.vocabulary import (
    OWL,
    OWL_COMPLEMENT_OF,
    OWL_DIFFERENT_FROM,
    OWL_EQUIVALENT_CLASS,
    OWL_NEGATIVE_ASSERTION,
    OWL_NOTHING,
    OWL_SAME_AS,
    RDF_TYPE,
    RDFS_SUBCLASS_OF,
)
from sensorstream.reasoning.dl.axioms import Axioms
from sensorstream.reasoning.dl.bounds.data_ranges import value_of
from sensorstream.reasoning.ontology import Ontology
from sensorstream.reasoning.schema_closure import SchemaClosure

_DISJOINT_WITH: Final = IRI(f"{OWL}disjointWith")
_UNION: Final = IRI(f"{OWL}disjointUnionOf")
_MEMBERS: Final = (f"{OWL}members", f"{OWL}distinctMembers")
_BELOW: Final = frozenset({RDFS_SUBCLASS_OF, OWL_EQUIVALENT_CLASS})


def clashes(ontology: Ontology) -> Iterator[str]:
    """Sentences, each of statements about individuals that cannot be true together."""
    kb = KnowledgeBase()
    kb.add(Origin.STATIC, ontology.triples)
    SchemaClosure(ontology.schema).start(kb)
    axioms = Axioms(ontology.triples)
    yield from _of_classes(kb, axioms, ontology.schema)
    yield from _of_equals(kb, axioms)
    yield from _of_denials(kb, axioms)


def _of_classes(kb: KnowledgeBase, axioms: Axioms, schema: Schema) -> Iterator[str]:
    """Individuals in two classes that have no common member, or in one that has no member."""
    groups_of: defaultdict[Term, list[int]] = defaultdict(list)
    for number, group in enumerate(_apart(axioms)):
        for name in group:
            groups_of[name].append(number)
    empty = {OWL_NOTHING, *_below_nothing(axioms, schema)}
    seen: dict[tuple[Subject, int], Term] = {}
    for one, _, kind in sorted(kb.match(None, RDF_TYPE, None)):
        if kind in empty:
            yield f"{one.n3} is in {kind.n3}, which can have no member"
        for number in groups_of.get(kind, ()):
            other = seen.setdefault((one, number), kind)
            if other != kind:
                yield f"{one.n3} is in {other.n3} and in {kind.n3}, which have no common member"


def _apart(axioms: Axioms) -> Iterator[set[Term]]:
    """Sets of names of classes of which no two have a common member."""
    for s, p, o in axioms.triples:
        if p in (_DISJOINT_WITH, OWL_COMPLEMENT_OF) and isinstance(s, IRI):
            yield {s, o}
        elif p == _UNION:
            yield set(axioms.members(o))
        elif p in _BELOW and (other := axioms.value(o, OWL_COMPLEMENT_OF)) is not None:
            yield {s, other}
    for node in axioms.typed(f"{OWL}AllDisjointClasses"):
        yield from _listed(axioms, node)


def _listed(axioms: Axioms, node: Term) -> Iterator[set[Term]]:
    for link in _MEMBERS:
        if (head := axioms.value(node, link)) is not None:
            yield set(axioms.members(head))


def _below_nothing(axioms: Axioms, schema: Schema) -> Iterator[IRI]:
    """The classes stated to be below owl:Nothing."""
    for s, p, o in axioms.triples:
        if p in _BELOW and o == OWL_NOTHING and isinstance(s, IRI):
            yield s
            yield from schema.subclasses(s)


def _of_equals(kb: KnowledgeBase, axioms: Axioms) -> Iterator[str]:
    """Individuals that are stated to be the same and to be different."""
    first: dict[Term, Term] = {}

    def named(one: Term) -> Term:
        while (other := first.get(one, one)) != one:
            one = other
        return one

    for s, _, o in kb.match(None, OWL_SAME_AS, None):
        first[named(s)] = named(o)
    for s, _, o in sorted(kb.match(None, OWL_DIFFERENT_FROM, None)):
        if named(s) == named(o):
            yield f"{s.n3} and {o.n3} are the same and different"
    for node in axioms.typed(f"{OWL}AllDifferent"):
        for group in _listed(axioms, node):
            met: dict[Term, Term] = {}
            for member in sorted(group):
                other = met.setdefault(named(member), member)
                if other != member:
                    yield f"{other.n3} and {member.n3} are the same and different"


def _of_denials(kb: KnowledgeBase, axioms: Axioms) -> Iterator[str]:
    """Statements that are asserted, or follow, and are denied."""
    for node in axioms.typed(OWL_NEGATIVE_ASSERTION):
        one = axioms.value(node, f"{OWL}sourceIndividual")
        prop = axioms.value(node, f"{OWL}assertionProperty")
        value = axioms.value(node, f"{OWL}targetIndividual")
        value = axioms.value(node, f"{OWL}targetValue") if value is None else value
        if one is None or isinstance(one, Literal) or not isinstance(prop, IRI) or value is None:
            continue
        for stated in sorted(o for _, _, o in kb.match(one, prop, None) if _is_same(o, value)):
            other = "" if stated == value else f" as {value.n3}"
            yield f"{one.n3} {prop.n3} {stated.n3} is stated and denied{other}"


def _is_same(one: Term, other: Term) -> bool:
    """Whether two terms are one, or literals of one value."""
    if one == other or not (isinstance(one, Literal) and isinstance(other, Literal)):
        return one == other
    try:
        return value_of(one) == value_of(other)
    except (TermError, ValueError):  # not valid, or more digits than Python accepts
        return False
