"""CONSTRUCT queries that patterns in time wait for in vain."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sensorstream.analysis.note import AnyParsed, Known, Note
from sensorstream.model.similar import shortened
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
        for kind in _made(making):
            if any(map(kind.meets, _read(reading))):
                this = f"the CONSTRUCT query {name}" if making is other else "this CONSTRUCT query"
                yield Note(
                    "feeds-nothing",
                    f"{this} adds nothing to the stream: a pattern in time that reads "
                    f"{'any property' if kind.predicate is None else written(kind.predicate)} does "
                    "not see what it makes. To feed the stream with the intervals of its triples "
                    "it asks when: BIND(getENDTIME() AS ?when) in its WHERE, and no WINDOW",
                    parsed.position(kind.predicate),
                )
                break


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
