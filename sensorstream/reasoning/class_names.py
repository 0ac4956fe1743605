"""Gives classes that are described, and not named, a name in an ontology."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sensorstream.errors import QueryError
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Term, Triple
from sensorstream.model.vocabulary import (
    OWL,
    OWL_CLASS,
    OWL_EQUIVALENT_CLASS,
    OWL_ON_PROPERTY,
    OWL_RESTRICTION,
    OWL_SOME_VALUES_FROM,
    RDF_TYPE,
    RDFS,
)
from sensorstream.reasoning.ontology import Ontology
from sensorstream.sparql.described import NAMES, DescribedClass, name_of

_LITERAL = IRI(f"{RDFS}Literal")


def with_classes(ontology: Ontology, classes: Iterable[DescribedClass]) -> Ontology:
    """The ontology with a definition of each class: its name is equivalent to its description.

    A definition of a new name is conservative: nothing else follows that did not before.

    Raises:
        QueryError: a description has a property that the ontology does not declare.
    """
    triples = dict.fromkeys(ontology.triples)
    for each in classes:
        _check(each, ontology.schema)
        triples.update(dict.fromkeys(_definition(each)))
    return replace(ontology, triples=tuple(triples), schema=Schema.of(triples))


def having(name: IRI) -> DescribedClass:
    """The class of all that have a value of a datatype property."""
    node = BlankNode("_:having")
    description = (
        (node, RDF_TYPE, OWL_RESTRICTION),
        (node, OWL_ON_PROPERTY, name),
        (node, OWL_SOME_VALUES_FROM, _LITERAL),
    )
    return DescribedClass(name_of(f"having {name.n3}"), node, description)


def _definition(each: DescribedClass) -> Iterator[Triple]:
    yield each.name, RDF_TYPE, OWL_CLASS
    yield each.name, OWL_EQUIVALENT_CLASS, _apart(each.node, each)
    for s, p, o in each.description:
        subject = _apart(s, each)
        assert not isinstance(subject, str) or isinstance(subject, IRI | BlankNode)
        yield subject, p, _apart(o, each)


def _apart(part: Term, each: DescribedClass) -> Term:
    """A term of a description, with blank nodes that no other description has."""
    if not isinstance(part, BlankNode):
        return part
    return BlankNode(f"_:described{each.name.removeprefix(NAMES)}{part[2:]}")


def _check(each: DescribedClass, schema: Schema) -> None:
    declared = schema.object_properties | schema.datatype_properties
    for _, p, o in each.description:
        if p == OWL_ON_PROPERTY and isinstance(o, IRI) and not o.startswith(OWL):
            if o in declared:
                continue
            raise QueryError(
                f"the query describes a class by <{o}>, which the ontology does not declare: "
                "expected an owl:ObjectProperty or owl:DatatypeProperty of the ontology",
                part=o,
            )
