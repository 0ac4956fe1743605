"""The check of a mapping after it is read: its XPaths, names and constants."""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.errors import LanguageError, NotMovable, TermError
from sensorstream.language import syntax
from sensorstream.language.ontology_names import unknown_names
from sensorstream.language.wellformed import place
from sensorstream.mapping import xpath
from sensorstream.mapping.functions.function_definition import NO_LIBRARY, Library
from sensorstream.mapping.functions.function_registry import call_faults
from sensorstream.mapping.mapped_values import check_graph_name, literal_maker
from sensorstream.mapping.moved_paths import absolute, from_document
from sensorstream.mapping.rml.rml_model import RmlMapping, TriplesMap
from sensorstream.mapping.term_recipe import ConstantTerm, FunctionValue, TermMap
from sensorstream.model import rdf
from sensorstream.model.schema import Schema
from sensorstream.model.terms import Literal, iri
from sensorstream.sparql.walk import nodes


def faults(
    mapping: RmlMapping, schema: Schema, library: Library = NO_LIBRARY
) -> list[LanguageError]:
    """The faults of a mapping, each with its position in the document."""
    found: list[LanguageError] = []
    for each in mapping.maps:
        found += _xpaths(each)
        found += _constants(each)
        found += _functions(each, library)
        found += unknown_names(_as_rules(mapping, each), schema)
    return sorted(found, key=place)


def _xpaths(triples_map: TriplesMap) -> Iterator[LanguageError]:
    source = triples_map.source
    namespaces = dict(source.namespaces)
    try:
        path = absolute(source.iterator.text)
    except NotMovable:
        path = source.iterator.text
    iterator = syntax.Hole(path, position=source.iterator.position)
    yield from _at(triples_map, xpath.faults(iterator, namespaces, (), nodes=True))
    parts = (triples_map.subject, triples_map.graphs, triples_map.properties, triples_map.at)
    for hole in nodes(parts, syntax.Hole):
        found = list(_at(triples_map, xpath.faults(hole, namespaces, ())))
        yield from found
        if not found and source.iterator.text == "/":
            try:
                from_document(hole.text)
            except NotMovable as error:
                yield LanguageError(
                    f"rule {triples_map.rule}: {error}: expected an rml:iterator",
                    position=hole.position,
                )


def _at(triples_map: TriplesMap, found: Iterator[LanguageError]) -> Iterator[LanguageError]:
    for fault in found:
        what = fault.message.partition(": expected 'xmlns")[0]
        hint = ": expected an rml:namespace of the reference formulation"
        message = what + hint if what != fault.message else what
        yield LanguageError(f"rule {triples_map.rule}: {message}", position=fault.position)


def _functions(triples_map: TriplesMap, library: Library) -> Iterator[LanguageError]:
    """Faults of functions that do not take the value before them, or do not give the datatype."""
    parts = (triples_map.subject, triples_map.graphs, triples_map.properties)
    datatypes = {
        id(each.expression): each.datatype.constant
        for each in nodes(parts, TermMap)
        if each.datatype is not None
    }
    inner = {id(each.value) for each in nodes(parts, FunctionValue)}
    for each in nodes(parts, FunctionValue):
        if id(each) not in inner:
            calls = tuple(reversed(tuple(_chain(each))))
            yield from call_faults(calls, library, datatypes.get(id(each)))


def _chain(value: FunctionValue) -> Iterator[syntax.ValueCall]:
    yield value.call
    if isinstance(value.value, FunctionValue):
        yield from _chain(value.value)


def _constants(triples_map: TriplesMap) -> Iterator[LanguageError]:
    for term_map in nodes((triples_map.subject, triples_map.properties), TermMap):
        try:
            if isinstance(term_map.expression, ConstantTerm) and term_map.type == "Literal":
                term = term_map.expression.term
                assert isinstance(term, Literal)
                kind = term_map.datatype and term_map.datatype.constant
                literal_maker(kind or term.datatype, term.language)(term.lexical)
            match term_map.language:
                case TermMap(expression=ConstantTerm(term=Literal() as tag)):
                    literal_maker(None, tag.lexical)("")
        except TermError as error:
            message = f"{term_map.where}: {error.message}"
            yield LanguageError(message, position=term_map.position)
    for graphs in (triples_map.graphs, *(each.graphs for each in triples_map.properties)):
        for graph in graphs:
            name = graph.constant
            try:
                if name is not None:
                    check_graph_name(name)
            except TermError as error:
                yield LanguageError(f"{graph.where}: {error.message}", position=graph.position)
    if triples_map.base is not None:
        try:
            iri(triples_map.base)
        except TermError as error:
            yield LanguageError(f"the base IRI: {error.message}", position=triples_map.position)


def _as_rules(mapping: RmlMapping, triples_map: TriplesMap) -> syntax.RuleFile:
    """The constant classes, properties and datatypes as a rule that only names them."""
    place_ = triples_map.position

    def name(term: str) -> syntax.WrittenName:
        return syntax.WrittenName(None, (term,), position=place_)

    classes = [name(each) for each in triples_map.classes]
    properties = []
    for values in triples_map.properties:
        predicates = [each.constant for each in values.predicates]
        terms = [each for each in values.objects if isinstance(each, TermMap)]
        if rdf.TYPE in predicates:
            classes += [name(each) for term in terms if (each := term.constant) is not None]
        literals = tuple(
            syntax.XPathValue(
                syntax.Hole("."),
                None if kind is None else name(kind),
                position=place_,
            )
            for term in terms
            if term.type == "Literal"
            for kind in [None if term.datatype is None else term.datatype.constant]
        )
        links = tuple(
            syntax.WrittenName(None, ("x:",), position=place_)
            for each in values.objects
            if not isinstance(each, TermMap) or each.type != "Literal"
        )
        properties += [
            syntax.PropertyValues(name(each), (*literals, *links), position=place_)
            for each in predicates
            if each is not None and each != rdf.TYPE
        ]
    action = syntax.IndividualAction(
        "insert", name("x:"), tuple(classes), tuple(properties), position=place_
    )
    rule = syntax.MappingRule(
        triples_map.rule, syntax.Hole("/"), (), (), (action,), position=place_
    )
    prefixes = tuple(syntax.Prefix(*each) for each in mapping.prefixes)
    return syntax.RuleFile(prefixes, (), (rule,), file=mapping.file)
