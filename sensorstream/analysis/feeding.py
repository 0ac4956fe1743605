"""CONSTRUCT queries that patterns in time wait for in vain."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sensorstream.analysis.note import AnyParsed, Known, Note
from sensorstream.model.schema import Schema, shortened
from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.network.intervals.planning import is_in_time
from sensorstream.network.recursion.reads import Kind
from sensorstream.sparql.algebra import Construct, Query, TriplePattern, Variable
from sensorstream.sparql.walk import nodes


def notes(parsed: AnyParsed, known: Known) -> Iterator[Note]:
    """``feeds-nothing``: a pattern in time reads what a query makes that is none itself."""
    query = parsed.meaning
    if not known.continuous or not isinstance(query, Query):
        return
    written = partial(shortened, prefixes=parsed.prefixes)
    for name, other in known.beside.items():
        making, reading = (other, query) if is_in_time(query) else (query, other)
        if is_in_time(making) or not is_in_time(reading):
            continue
        for kind, met in _meetings(making, reading, known.schema):
            this = f"the CONSTRUCT query {name}" if making is other else "this CONSTRUCT query"
            told = "any property" if kind.predicate is None else written(kind.predicate)
            read = met.object if isinstance(met.object, IRI) else met.predicate
            if met is not kind and read is not None:
                told = f"{written(read)}, which follows from {told},"
            yield Note(
                "feeds-nothing",
                f"{this} adds nothing to the stream: a pattern in time that reads {told} does "
                "not see what it makes. To feed the stream with the intervals of its triples "
                "it asks when: BIND(getENDTIME() AS ?when) in its WHERE, and no WINDOW",
                parsed.position(kind.predicate if making is query else met.predicate),
            )
            break


def _meetings(making: Query, reading: Query, schema: Schema) -> Iterator[tuple[Kind, Kind]]:
    """What a query makes, each with what another reads of it: the same, or what follows from it."""
    for kind in _made(making):
        for met in (kind, *_following(kind, schema)):
            if any(map(met.meets, _read(reading))):
                yield kind, met


def _following(kind: Kind, schema: Schema) -> Iterator[Kind]:
    """What the ontology's hierarchies, domains and ranges let follow from a triple."""
    predicate = kind.predicate
    if predicate == RDF_TYPE and isinstance(kind.object, IRI):
        classes = schema.superclasses(kind.object)
    elif predicate is not None:
        yield from (Kind(each, None) for each in schema.superproperties(predicate))
        said = schema.domains(predicate) | schema.ranges(predicate)
        classes = said.union(*map(schema.superclasses, said))
    else:
        return
    yield from (Kind(RDF_TYPE, each) for each in classes)


def _made(query: Query) -> Iterator[Kind]:
    form = query.form
    if isinstance(form, Construct):
        yield from map(_kind, form.template)


def _read(query: Query) -> Iterator[Kind]:
    for each in nodes(query.form.pattern):
        if not isinstance(each, TriplePattern):
            continue
        if isinstance(each.predicate, IRI | Variable):
            yield _kind(each)
        else:
            yield from (Kind(p, None) for p in nodes(each.predicate) if isinstance(p, IRI))


def _kind(triple: TriplePattern) -> Kind:
    predicate = triple.predicate if isinstance(triple.predicate, IRI) else None
    object_ = triple.object
    return Kind(predicate, object_ if predicate == RDF_TYPE and isinstance(object_, IRI) else None)
