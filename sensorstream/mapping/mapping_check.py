"""Checks of mapping rules before the first message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import cast

from sensorstream.errors import LanguageError, NotMovable, TermError
from sensorstream.language import syntax
from sensorstream.language.ontology_names import alternatives, shown, unknown_names
from sensorstream.language.wellformed import place, same_names
from sensorstream.mapping import xpath
from sensorstream.mapping.functions.function_definition import Library
from sensorstream.mapping.functions.function_registry import call_faults
from sensorstream.mapping.mapped_values import check_graph_name, literal_maker
from sensorstream.mapping.moved_paths import at_part
from sensorstream.mapping.reference_data import NO_REFERENCE, ReferenceData
from sensorstream.mapping.term_recipe import LiteralValue, datatype_of
from sensorstream.model import rdf
from sensorstream.model.schema import Schema, similar
from sensorstream.model.terms import IRI
from sensorstream.sparql.walk import nodes


def check(
    files: Iterable[syntax.RuleFile], schema: Schema, reference: ReferenceData = NO_REFERENCE
) -> list[LanguageError]:
    """The faults of several parsed files, each with its position, file by file. The names in
    semantic rules are looked up too; their SPARQL is checked when it is compiled.
    """
    listed = list(files)
    found = list(same_names(listed))
    in_parts = any(file.parts for file in listed)
    for file in listed:
        found += unknown_names(file, schema)
        for part in file.parts:
            found += xpath.faults(part.xpath, file.namespace_map, (), nodes=True)
        library = reference.library_of(file.file)
        for rule in file.mapping_rules:
            invalid = list(_xpaths(rule, file.namespace_map))
            found += invalid
            if in_parts and not invalid:
                found += _not_at_part(rule)
            found += _types(file, rule)
            found += _reserved_graphs(file, rule)
            found += _literals(file, rule, schema, library)
            found += _unknown_individuals(file, rule, reference)
    return sorted(found, key=place)


def _xpaths(rule: syntax.MappingRule, namespaces: dict[str, str]) -> Iterator[LanguageError]:
    yield from xpath.faults(rule.message, namespaces, (), nodes=True)
    bound: list[str] = []
    for loop in rule.for_each:
        yield from xpath.faults(loop.xpath, namespaces, bound, nodes=True)
        bound.append(loop.variable)
    samples: dict[str, object] = {}
    for let in rule.lets:
        found = list(xpath.faults(let.value, namespaces, bound, samples=samples))
        yield from found
        bound.append(let.variable)
        if not found:
            samples[let.variable] = xpath.sample(let.value, namespaces, bound[:-1], samples)
    for part in (*rule.guards, *rule.actions):
        for hole in nodes(part, syntax.Hole):
            yield from xpath.faults(hole, namespaces, bound, samples=samples)


def _not_at_part(rule: syntax.MappingRule) -> Iterator[LanguageError]:
    """Faults of paths that a message cannot have if it is a part of a document."""
    for hole in nodes(rule, syntax.Hole):
        try:
            at_part(hole.text)
        except NotMovable as error:
            yield LanguageError(f"with 'message each', {error.message}", position=hole.position)


def _literals(
    file: syntax.RuleFile, rule: syntax.MappingRule, schema: Schema, library: Library
) -> Iterator[LanguageError]:
    """Faults of constants and results of value functions that are not valid for their datatype."""
    typed: set[int] = set()
    for values in nodes(rule.actions, syntax.PropertyValues):
        for name, value in _stated(file, file.resolve(values.property), values.values):
            kind = datatype_of(file, name, value, schema)
            language = None if isinstance(value, syntax.WrittenNumber) else value.language
            if isinstance(language, syntax.Hole):
                # Any language will do: the message gives the real one.
                language = "en"
            try:
                make = literal_maker(kind, language)
                match value:
                    case syntax.WrittenNumber():
                        make(value.text)
                    case syntax.TextValue() if not any(nodes(value.text, syntax.Hole)):
                        make("".join(cast(tuple[str, ...], value.text.parts)))
                    case syntax.TextValue() | syntax.XPathValue() if language is not None:
                        make("")
            except TermError as error:
                yield LanguageError(error.message, position=value.position)
                continue
            if (hole := _only_hole(value)) is not None:
                typed.add(id(hole))
                yield from call_faults(hole.calls, library, kind, make)
    for hole in nodes((rule.lets, rule.guards, rule.actions), syntax.Hole):
        if id(hole) not in typed:
            yield from call_faults(hole.calls, library)


def _reserved_graphs(file: syntax.RuleFile, rule: syntax.MappingRule) -> Iterator[LanguageError]:
    for action in rule.actions:
        if action.graph is not None and action.graph.is_constant:
            try:
                check_graph_name(file.resolve(action.graph))
            except TermError as error:
                yield LanguageError(error.message, position=action.graph.position)


def _types(file: syntax.RuleFile, rule: syntax.MappingRule) -> Iterator[LanguageError]:
    """Values of rdf:type that are no classes; a variable of a semantic rule may be one."""
    for values in nodes(rule.actions, syntax.PropertyValues):
        if file.resolve(values.property) != rdf.TYPE:
            continue
        for value in alternatives(values.values):
            if not isinstance(value, syntax.WrittenName):
                yield LanguageError(
                    "rdf:type takes a class: expected its name, such as :Room or :{@kind}",
                    position=value.position,
                )


def _only_hole(value: LiteralValue) -> syntax.Hole | None:
    """The hole, if the value consists of one hole only."""
    match value:
        case syntax.XPathValue():
            return value.xpath
        case syntax.TextValue(text=syntax.TextTemplate(parts=(syntax.Hole() as hole,))):
            return hole
    return None


def _stated(
    file: syntax.RuleFile,
    name: IRI,
    values: Iterable[syntax.Value | syntax.MissingPolicy | None],
) -> Iterator[tuple[IRI, LiteralValue]]:
    """The literals among values, each with the property whose range it has."""
    for value in values:
        match value:
            case syntax.XPathValue() | syntax.TextValue() | syntax.WrittenNumber():
                yield name, value
            case syntax.Fallback():
                yield from _stated(file, name, (value.value, value.otherwise))
            case syntax.ListValue():
                yield from _stated(file, rdf.FIRST, value.items)
            case syntax.KnownBy():
                yield from _stated(file, file.resolve(value.property), (value.value,))


def _unknown_individuals(
    file: syntax.RuleFile, rule: syntax.MappingRule, reference: ReferenceData
) -> Iterator[LanguageError]:
    for known in nodes(rule, syntax.KnownName):
        if not known.name.is_constant:
            continue
        iri = file.resolve(known.name)
        if iri not in reference.types:
            guess = similar(iri, reference.types, partial(shown, file))
            hint = "expected one of the ontology's" if guess is None else f"did you mean {guess}?"
            yield LanguageError(
                f"unknown individual {shown(file, iri)}: {hint}", position=known.name.position
            )
