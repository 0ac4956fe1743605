"""The checks of a rule file beyond its grammar that need no ontology."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sensorstream.errors import LanguageError, Position, TermError
from sensorstream.language import syntax
from sensorstream.model.terms import HAS_SCHEME, iri
from sensorstream.sparql.walk import nodes

_OF_MAPPING_RULES: Final[Mapping[type[Any], str]] = {
    syntax.BlankValue: "'['",
    syntax.BlankName: "a node such as _:place",
    syntax.ListValue: "'('",
    syntax.KnownName: "'known'",
    syntax.KnownBy: "'known'",
    syntax.Fallback: "'or' or 'if valid'",
    syntax.ValueCall: "'|>'",
}
_WHOLE: Final[Mapping[type[syntax.Rule], str]] = {
    syntax.MappingRule: "hole only, such as <{concat(@base, '/x')}>",
    syntax.SemanticRule: "hole only, such as <{?iri}>, with a value from IRI() in a select",
}
_DECLARED: Final[Mapping[type[Any], str]] = {
    syntax.Prefix: "prefix",
    syntax.XmlNamespace: "xmlns",
    syntax.LookupTable: "table",
}
_RULE_HOLE: Final = re.compile(r"(\?[^\W\d]\w*|new)\Z")


def faults(file: syntax.RuleFile) -> Iterator[LanguageError]:
    """Every fault of the file's names, variables and braces."""
    yield from _declarations(file)
    yield from same_names([file])
    for rule in file.rules:
        yield from _names(rule, file)
        yield from _misplaced_holes(rule)
        for action in nodes(rule, syntax.IndividualAction):
            if not action.classes and not action.properties:
                yield LanguageError(
                    "the individual gets neither a class nor a property: "
                    "expected 'a CLASS' or '; PROPERTY VALUE'",
                    position=action.position,
                )
        if isinstance(rule, syntax.MappingRule):
            yield from _mapping_rule(rule)
        else:
            yield from _semantic_rule(rule)


def place(error: LanguageError) -> tuple[str, int, int]:
    """The position of an error, as a sort key."""
    position = error.position or syntax.NOWHERE
    return position.file, position.line, position.column


def same_names(files: Iterable[syntax.RuleFile]) -> Iterator[LanguageError]:
    """Rules that share a name, within a file and across files."""
    first: dict[str, Position] = {}
    for file in files:
        for rule in file.rules:
            if rule.name in first:
                yield LanguageError(
                    f"there is a rule '{rule.name}' already, at {first[rule.name]}: "
                    "expected another name",
                    position=rule.position,
                )
            first.setdefault(rule.name, rule.position)


def _declarations(file: syntax.RuleFile) -> Iterator[LanguageError]:
    for base in file.bases:
        yield from _invalid(base.iri, base.position)
    for base in file.bases[1:]:
        yield LanguageError("base is declared twice", position=base.position)
    for prefix in file.prefixes:
        yield from _invalid(file.absolute(prefix.iri), prefix.position, file)
    for space in file.xml_namespaces:
        if not space.uri:
            yield LanguageError(
                f"xmlns '{space.name}' is empty: expected a namespace", position=space.position
            )
    for declared, end in ((file.prefixes, ":"), (file.xml_namespaces, ""), (file.tables, "")):
        seen: set[str] = set()
        for each in declared:
            if each.name in seen:
                what = f"{_DECLARED[type(each)]} '{each.name}{end}'"
                yield LanguageError(f"{what} is declared twice", position=each.position)
            seen.add(each.name)
    for part in file.parts:
        yield from _called(part.xpath, "'message each'")


def _names(rule: syntax.Rule, file: syntax.RuleFile) -> Iterator[LanguageError]:
    """Prefixes that are not declared, and names that are no absolute IRI."""
    prefixes = file.prefix_map
    for name in nodes(rule, syntax.WrittenName):
        if name.prefix is not None and name.prefix not in prefixes:
            yield LanguageError(
                f"undeclared prefix '{name.prefix}:': "
                f"expected 'prefix {name.prefix}: <iri>' at the head of the file",
                position=name.position,
            )
        elif name.whole is not None:
            continue
        elif name.prefix is None and isinstance(name.parts[0], syntax.Hole):
            yield LanguageError(
                "an IRI cannot begin with a hole, whose value is percent-encoded: expected one "
                + _WHOLE[type(rule)],
                position=name.position,
            )
        else:
            start = "" if name.prefix is None else prefixes[name.prefix]
            if name.prefix is None or not any(_invalid(start, name.position)):
                # A digit may stand nearly everywhere in an IRI, so it stands for the hole.
                parts = (part if isinstance(part, str) else "0" for part in name.parts)
                yield from _invalid(file.absolute(start + "".join(parts)), name.position, file)


def _invalid(
    text: str, position: Position, file: syntax.RuleFile | None = None
) -> Iterator[LanguageError]:
    try:
        iri(text)
    except TermError as error:
        message = error.message
        if file is not None and file.base is None and not HAS_SCHEME.match(text):
            message += ", or 'base <iri>' at the head of the file"
        yield LanguageError(message, position=position)


def _misplaced_holes(rule: syntax.Rule) -> Iterator[LanguageError]:
    """Properties, datatypes and classes in conditions must be constant: they have no holes."""
    fixed: list[tuple[str, syntax.WrittenName]] = []
    for node in nodes(rule, object):
        match node:
            case syntax.IndividualAction(classes=names) if isinstance(rule, syntax.SemanticRule):
                fixed += [("class", name) for name in names]
            case (
                syntax.OnInsert(class_name=name)
                | syntax.OnExpire(class_name=name)
                | syntax.ExistsCondition(class_name=name)
                | syntax.CountCondition(class_name=name)
            ):
                fixed.append(("class", name))
            case syntax.KnownBy():
                fixed += [("class", node.class_name), ("property", node.property)]
            case syntax.PropertyValues(property=name):
                fixed.append(("property", name))
            case (
                syntax.XPathValue(datatype=syntax.WrittenName() as name)
                | syntax.TextValue(datatype=syntax.WrittenName() as name)
            ):
                fixed.append(("datatype", name))
    for what, name in fixed:
        if not name.is_constant:
            yield LanguageError(f"a {what} cannot have holes", position=name.position)


def _called(hole: syntax.Hole, where: str) -> Iterator[LanguageError]:
    for call in hole.calls:
        yield LanguageError(
            f"{where} selects nodes: expected an XPath without value functions",
            position=call.position,
        )


def _mapping_rule(rule: syntax.MappingRule) -> Iterator[LanguageError]:
    seen: set[str] = set()
    yield from _called(rule.message, "'on message'")
    for loop in rule.for_each:
        yield from _called(loop.xpath, "'for each'")
    bindings: tuple[syntax.ForEach | syntax.Let, ...] = (*rule.for_each, *rule.lets)
    for bound in bindings:
        if bound.variable in seen:
            yield LanguageError(
                f"${bound.variable} is bound twice: expected another name", position=bound.position
            )
        seen.add(bound.variable)
    for variable in nodes(rule.actions, syntax.RuleVariable):
        yield LanguageError(
            f"?{variable.name} belongs to semantic rules: expected an XPath such as "
            f"{{${variable.name}}}",
            position=variable.position,
        )


def _semantic_rule(rule: syntax.SemanticRule) -> Iterator[LanguageError]:
    for action in nodes(rule, syntax.IndividualAction):
        for part, written, gets in (
            (action.at, "at", "has the time of the message"),
            (action.graph, "in graph", "is in the default graph"),
        ):
            if part is not None:
                yield LanguageError(
                    f"'{written}' belongs to mapping rules: what a semantic rule inserts {gets}",
                    position=part.position,
                )
    for kind, written in _OF_MAPPING_RULES.items():
        for node in nodes(rule, kind):
            yield LanguageError(f"{written} belongs to mapping rules", position=node.position)
    for value in nodes(rule, syntax.XPathValue):
        yield LanguageError(
            'an XPath belongs to mapping rules: expected a ?variable or a "text"',
            position=value.position,
        )
    for text in nodes(rule, syntax.TextValue):
        if isinstance(text.language, syntax.Hole):
            yield LanguageError(
                "a language with a hole belongs to mapping rules: expected one such as @en",
                position=text.language.position,
            )
    for hole in nodes(rule, syntax.Hole):
        if not _RULE_HOLE.match(hole.text):
            yield LanguageError(
                f"unexpected '{hole.text}' in the braces of a semantic rule: "
                "expected ?variable or new",
                position=hole.position,
            )
