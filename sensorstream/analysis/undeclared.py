"""Classes and properties that the ontology does not declare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from sensorstream.analysis.note import AnyParsed, Known, Note
from sensorstream.model.schema import Schema, local_name, shortened, similar
from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import OWL, RDF, RDF_TYPE, RDFS
from sensorstream.sparql.algebra import TriplePattern, Variable
from sensorstream.sparql.walk import nodes


def notes(parsed: AnyParsed, known: Known) -> Iterator[Note]:
    """``unknown-class`` and ``unknown-property``.

    The names of RDF, RDFS and OWL are always known; an ontology without any name allows all.
    """
    schema = known.schema
    properties = schema.object_properties | schema.datatype_properties
    if not schema.classes and not properties:
        return
    for triple in nodes(parsed.meaning):
        if not isinstance(triple, TriplePattern):
            continue
        if triple.predicate == RDF_TYPE and isinstance(triple.object, IRI):
            yield from _unknown("class", triple.object, schema.classes, parsed, schema)
        if not isinstance(triple.predicate, Variable):
            for name in nodes(triple.predicate):
                if isinstance(name, IRI):
                    yield from _unknown("property", name, properties, parsed, schema)


def _unknown(
    what: str, name: IRI, known: Iterable[IRI], parsed: AnyParsed, schema: Schema
) -> Iterator[Note]:
    if name in known or name.startswith((RDF, RDFS, OWL)):
        return
    written = partial(shortened, prefixes=parsed.prefixes)
    guess = similar(name, known, written)
    hint = "" if guess is None else f": did you mean {guess}?"
    if _namespace(name) in _namespaces(schema):
        text = f"the ontology has no {what} {written(name)}{hint}"
    else:
        text = f"the ontology does not declare the {what} {written(name)}, maybe data use it{hint}"
    yield Note(f"unknown-{what}", text, parsed.position(name))


def _namespace(name: str) -> str:
    return name.removesuffix(local_name(name))


def _namespaces(schema: Schema) -> frozenset[str]:
    names = schema.classes | schema.object_properties | schema.datatype_properties
    return frozenset(map(_namespace, names))
