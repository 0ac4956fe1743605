"""Names that nobody knows: classes, properties, sources of streams; graphs without effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from sensorstream.analysis.note import AnyParsed, Note, QueryContext
from sensorstream.model import rdf
from sensorstream.model.schema import Schema, local_name, shortened, similar
from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.sparql.algebra import Query, Stream, TriplePattern, Variable, Window
from sensorstream.sparql.walk import nodes


def undeclared_notes(parsed: AnyParsed, known: QueryContext) -> Iterator[Note]:
    """``unknown-class`` and ``unknown-property``; names of RDF, RDFS and OWL are always known, and
    an ontology without any name allows all.
    """
    schema = known.schema
    properties = schema.object_properties | schema.datatype_properties
    if not schema.classes and not properties:
        return
    for triple in nodes(parsed.meaning, TriplePattern):
        if triple.predicate == rdf.TYPE and isinstance(triple.object, IRI):
            yield from _unknown("class", triple.object, schema.classes, parsed, schema)
        if not isinstance(triple.predicate, Variable):
            for name in nodes(triple.predicate, IRI):
                yield from _unknown("property", name, properties, parsed, schema)


def _unknown(
    what: str, name: IRI, known: Iterable[IRI], parsed: AnyParsed, schema: Schema
) -> Iterator[Note]:
    if name in known or name.startswith((RDF, RDFS, OWL)):
        return
    written = partial(shortened, prefixes=parsed.prefixes)
    hint = _hint(name, known, written)
    names = schema.classes | schema.object_properties | schema.datatype_properties
    if _namespace(name) in map(_namespace, names):
        text = f"the ontology has no {what} {written(name)}{hint}"
    else:
        text = f"the ontology does not declare the {what} {written(name)}, maybe data use it{hint}"
    yield Note(f"unknown-{what}", text, parsed.position(name))


def _hint(name: IRI, known: Iterable[IRI], written: Callable[[str], str]) -> str:
    guess = similar(name, known, written)
    return "" if guess is None else f": did you mean {guess}?"


def _namespace(name: str) -> str:
    return name.removesuffix(local_name(name))


def graph_notes(parsed: AnyParsed, known: QueryContext) -> Iterator[Note]:
    """``from-without-effect``: continuous queries read the knowledge base as one graph;
    ``unused-window``: no WINDOW group matches what a window holds.
    """
    query = parsed.meaning
    if not isinstance(query, Query):
        return
    read = {each.name for each in nodes(query.form.pattern, Window)}
    for window in query.dataset.windows:
        if (
            window.in_default
            or window.name in read
            or any(isinstance(each, Variable) for each in read)
        ):
            continue
        yield Note(
            "unused-window",
            f"nothing matches what the window <{window.name}> holds, only its steps are moments to "
            f"report at: write WINDOW <{window.name}> {{ … }} around the patterns that it is for",
            parsed.position(window.name),
        )
    if not known.continuous:
        return
    for graph in query.dataset.default:
        yield Note(
            "from-without-effect",
            f"FROM <{graph}> changes nothing: outside WINDOW a continuous query reads the whole "
            "knowledge base, or the --static files of 'sensorstream run'",
            parsed.position(graph),
        )


def stream_notes(parsed: AnyParsed, known: QueryContext) -> Iterator[Note]:
    """``silent-stream``: a stream that a window or STREAM reads is not one of the known streams."""
    query = parsed.meaning
    if known.streams is None or not isinstance(query, Query):
        return
    written = partial(shortened, prefixes=parsed.prefixes)
    for what, stream in _streams_read(query, written):
        if stream in known.streams:
            continue
        yield Note(
            "silent-stream",
            f"{what} unless events arrive on the stream {written(stream)}, which has no known "
            f"source{_hint(stream, known.streams, written)}",
            parsed.position(stream),
        )


def _streams_read(query: Query, written: partial[str]) -> Iterator[tuple[str, IRI]]:
    """The single streams that a query reads, with a text on what happens without their events."""
    for window in query.dataset.windows:
        if window.stream is not None:
            yield f"the window {written(window.name)} stays empty", window.stream
    names = (each.name for each in nodes(query.form.pattern, Stream))
    for name in dict.fromkeys(names):
        yield "STREAM matches what a query of that name makes, and nothing else,", name
