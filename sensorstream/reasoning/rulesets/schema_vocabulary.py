"""Which triples are of the schema: what is known before anything streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import (
    OWL,
    OWL_DIFFERENT_FROM,
    OWL_NAMED_INDIVIDUAL,
    OWL_NOTHING,
    OWL_SAME_AS,
    OWL_THING,
    RDF,
    RDF_FIRST,
    RDF_REST,
    RDF_TYPE,
    RDFS,
)
from sensorstream.network.recursion.reads import Kind, written
from sensorstream.network.recursion.rule import DerivationRule, clauses
from sensorstream.reasoning.rulesets.substitution import triples_of
from sensorstream.sparql.algebra import (
    Alternative,
    Inverse,
    OneOrMore,
    Path,
    Sequence,
    TriplePattern,
    Variable,
    ZeroOrMore,
    ZeroOrOne,
)

_SPACES: Final = (RDF, RDFS, OWL)
_OF_INDIVIDUALS: Final = frozenset((OWL_SAME_AS, OWL_DIFFERENT_FROM, RDF_TYPE))
"""Properties of the vocabulary that individuals have."""
_CLASSES_OF_INDIVIDUALS: Final = frozenset(
    (
        *(OWL_THING, OWL_NOTHING, OWL_NAMED_INDIVIDUAL),
        *(IRI(f"{RDFS}Resource"), IRI(f"{RDFS}Literal"), IRI(f"{RDF}Statement")),
        *(IRI(f"{RDF}List"), IRI(f"{RDF}Bag"), IRI(f"{RDF}Seq"), IRI(f"{RDF}Alt")),
    )
)
_OF_LISTS: Final = frozenset((RDF_FIRST, RDF_REST))


def is_schema(triple: TriplePattern) -> bool:
    """Whether a pattern asks for the schema, by its predicate, or by the class of ``rdf:type``.

    The other properties of RDF, RDFS and OWL are of the schema (rdfs:domain, rdf:first, …), and so
    are their classes of classes, properties and axioms (owl:TransitiveProperty, …).
    """
    if triple.predicate == RDF_TYPE:
        class_ = triple.object
        return _is_of_vocabulary(class_) and class_ not in _CLASSES_OF_INDIVIDUALS
    if isinstance(triple.predicate, Variable):
        return False
    return all(
        step is not None and step not in _OF_INDIVIDUALS and _is_of_vocabulary(step)
        for step in _steps(triple.predicate)
    )


def is_of_lists(triple: TriplePattern) -> bool:
    """Whether a pattern asks only for the members or the rest of lists."""
    path = triple.predicate
    return not isinstance(path, Variable) and all(step in _OF_LISTS for step in _steps(path))


def schema_kinds(rules: Iterable[DerivationRule]) -> frozenset[Kind]:
    """The kinds of triples that the rules take for schema.

    Rules must be specialised anew when such a triple comes or goes, asserted or inferred.
    """
    found: set[Kind] = set()
    for rule in rules:
        for clause in clauses(rule):
            for triple in triples_of(clause.body.pattern):
                if is_schema(triple):
                    found.update(kinds_of(triple))
    return frozenset(found)


def kinds_of(triple: TriplePattern) -> Iterator[Kind]:
    """The kinds of triples that a pattern of the schema reads."""
    if isinstance(triple.predicate, IRI):
        yield written(triple)
    else:
        yield from (Kind(step, None) for step in _steps(triple.predicate))


def _is_of_vocabulary(term: object) -> bool:
    return isinstance(term, IRI) and term.startswith(_SPACES)


def _steps(path: Path | Variable) -> list[IRI | None]:
    """The properties along a path; None: it may use any."""
    match path:
        case IRI():
            return [path]
        case Sequence(left, right) | Alternative(left, right):
            return _steps(left) + _steps(right)
        case Inverse(inner) | ZeroOrMore(inner) | OneOrMore(inner) | ZeroOrOne(inner):
            return _steps(inner)
    return [None]
