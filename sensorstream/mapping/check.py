"""Everything that can be wrong with mapping rules before the first message comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sensorstream.errors import LanguageError, TermError
from sensorstream.language import syntax
from sensorstream.language.vocabulary import unknown_names
from sensorstream.language.walk import nodes
from sensorstream.language.wellformed import place, same_names
from sensorstream.mapping import xpath
from sensorstream.mapping.values import literal_maker
from sensorstream.model.schema import Schema


def check(files: Iterable[syntax.RuleFile], schema: Schema) -> list[LanguageError]:
    """All faults of several parsed files, each with its position, file by file.

    The names in semantic rules are looked up too; their SPARQL is left to whoever compiles it.
    """
    listed = list(files)
    found = list(same_names(listed))
    for file in listed:
        found += unknown_names(file, schema)
        for rule in file.mapping_rules:
            found += _xpaths(rule, file.namespace_map)
            found += _constants(file, rule, schema)
    return sorted(found, key=place)


def _xpaths(rule: syntax.MappingRule, namespaces: dict[str, str]) -> Iterator[LanguageError]:
    yield from xpath.faults(rule.message, namespaces, (), nodes=True)
    bound: list[str] = []
    for loop in rule.for_each:
        yield from xpath.faults(loop.xpath, namespaces, bound, nodes=True)
        bound.append(loop.variable)
    for part in (*rule.guards, *rule.actions):
        for hole in nodes(part, syntax.Hole):
            yield from xpath.faults(hole, namespaces, bound)


def _constants(
    file: syntax.RuleFile, rule: syntax.MappingRule, schema: Schema
) -> Iterator[LanguageError]:
    """Numbers and texts without holes must suit their datatype."""
    for values in nodes(rule, syntax.PropertyValues):
        for value in values.values:
            try:
                match value:
                    case syntax.Number():
                        literal_maker(datatype_of(file, values, value, schema), None)(value.text)
                    case syntax.TextValue() if not any(nodes(value.text, syntax.Hole)):
                        text = "".join(nodes(value.text.parts, str))
                        kind = datatype_of(file, values, value, schema)
                        literal_maker(kind, value.language)(text)
                    case (
                        syntax.TextValue(language=str() as tag)
                        | syntax.XPathValue(language=str() as tag)
                    ):
                        literal_maker(None, tag)("")
            except TermError as error:
                yield LanguageError(error.message, position=value.position)


def datatype_of(
    file: syntax.RuleFile,
    values: syntax.PropertyValues,
    value: syntax.Number | syntax.TextValue | syntax.XPathValue,
    schema: Schema,
) -> str | None:
    """The datatype of a value: the one written, else the property's range, else its own form."""
    if not isinstance(value, syntax.Number) and value.datatype is not None:
        return file.resolve(value.datatype)
    told = schema.datatype_of(file.resolve(values.property))
    return value.datatype if told is None and isinstance(value, syntax.Number) else told
