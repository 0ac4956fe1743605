"""Translation of RML to mapping rules, as far as the rule language can express it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NoReturn

from sensorstream.errors import LanguageError
from sensorstream.language import syntax
from sensorstream.mapping import xpath
from sensorstream.mapping.moved_paths import absolute, from_document
from sensorstream.mapping.rml.rml_model import ParentMap, PredicateObjects, RmlMapping, TriplesMap
from sensorstream.mapping.term_recipe import (
    ConstantTerm,
    FunctionValue,
    Reference,
    StringTemplate,
    TermMap,
)
from sensorstream.model import xsd
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal
from sensorstream.sparql.walk import nodes

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
# The names that the rule language's lexer knows.
_PREFIX: Final = re.compile(r"(?:[^\W\d_][\w-]*)?\Z")
_LOCAL: Final = re.compile(r"(?:[\w:-]|%[0-9A-Fa-f]{2}|\.(?=[\w:-]))+\Z")
_LOCAL_PART: Final = re.compile(r"(?:[\w:-]|%[0-9A-Fa-f]{2}|\.(?=[\w:-]))*\Z")
_LABEL_PART: Final = re.compile(r"(?:[\w-]|\.(?=[\w-]))*\Z")
_TAG: Final = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*\Z")
_HOLE: Final = re.compile(r"""(?:[^{}'"]|'[^']*'|"[^"]*")*\Z""")


def to_rules(
    mapping: RmlMapping, schema: Schema
) -> tuple[syntax.RuleFile, tuple[LanguageError, ...]]:
    """The triples maps of a checked mapping as rules, one for each rule's name and iterator, and
    the reasons why some maps are left out. A string whose property has another range in the
    ontology gets an explicit datatype, since a rule would take the range as its datatype.
    """
    rules: list[syntax.MappingRule] = []
    refused: list[LanguageError] = []
    namespaces: dict[str, str] = {}
    for each in mapping.maps:
        try:
            for prefix, uri in each.source.namespaces:
                if namespaces.get(prefix, uri) != uri:
                    _refuse(each, f"'{prefix}' for two namespaces in one file")
            if not (each.classes or each.properties):
                continue  # it has no statements itself
            rule = _Importer(mapping, each, schema).rule()
        except LanguageError as error:
            refused.append(error)
            continue
        namespaces |= dict(each.source.namespaces)
        _add(rules, rule)
    used = {name.prefix for name in nodes(tuple(rules), syntax.WrittenName)}
    prefixes = tuple(syntax.Prefix(*each) for each in mapping.prefixes if each[0] in used)
    spaces = tuple(syntax.XmlNamespace(prefix, uri) for prefix, uri in namespaces.items())
    return syntax.RuleFile(prefixes, spaces, tuple(rules), mapping.file), tuple(refused)


def _add(rules: list[syntax.MappingRule], rule: syntax.MappingRule) -> None:
    """Append a rule, or only its actions if the last rule is for the same nodes."""
    if rules:
        last = rules[-1]
        if (last.name, last.message, last.guards) == (rule.name, rule.message, rule.guards):
            rules[-1] = replace(last, actions=last.actions + rule.actions)
            return
    taken = {each.name for each in rules}
    name, number = rule.name, 1
    while name in taken:
        number += 1
        name = f"{rule.name}-{number}"
    rules.append(replace(rule, name=name))


def _refuse(triples_map: TriplesMap, what: str) -> NoReturn:
    raise LanguageError(
        f"triples map <{triples_map.key}>: the rule language has no counterpart of {what}",
        position=triples_map.position,
    )


class _Importer:
    """A translator of one triples map into a rule."""

    def __init__(self, mapping: RmlMapping, triples_map: TriplesMap, schema: Schema) -> None:
        self._mapping = mapping
        self._map = triples_map
        self._schema = schema
        self._prefixes = {
            name: iri for name, iri in mapping.prefixes if _PREFIX.match(name) and iri
        }

    def rule(self) -> syntax.MappingRule:
        each = self._map
        if each.graphs or any(values.graphs for values in each.properties):
            self._refuse("a graph map")
        subject = self._name(each.subject)
        action = syntax.IndividualAction(
            "update" if each.update else "insert",
            subject,
            tuple(self._constant_name(name) for name in each.classes),
            tuple(one for values in each.properties for one in self._properties(values)),
            None if each.at is None else self._hole(each.at),
        )
        message = self._written(absolute(each.source.iterator.text))
        return syntax.MappingRule(each.rule, message, (), self._guards(subject), (action,))

    def _guards(self, subject: syntax.WrittenName | syntax.BlankName) -> tuple[syntax.Hole, ...]:
        """A rule rejects a message whose individual has no name; RML ignores the individual."""
        if self._map.subject.if_valid:
            self._refuse("ss:invalid on a subject")
        if self._map.subject.missing == "reject":
            return ()
        guards = []
        for hole in subject.holes:
            faults = xpath.faults(hole, dict(self._map.source.namespaces), (), nodes=True)
            finds_nodes = not any(faults)
            text = (
                f"({hole.text})[normalize-space()]"
                if finds_nodes
                else f"normalize-space({hole.text})"
            )
            guards.append(syntax.Hole(text))
        return tuple(guards)

    # Values

    def _properties(self, values: PredicateObjects) -> list[syntax.PropertyValues]:
        made = []
        for predicate in values.predicates:
            match predicate.expression:
                case ConstantTerm(term=IRI() as name):
                    terms = tuple(self._value(name, each) for each in values.objects)
                    made.append(syntax.PropertyValues(self._constant_name(name), terms))
                case _:
                    self._refuse("a property whose name the message gives")
        return made

    def _value(self, name: IRI, value: TermMap | ParentMap) -> syntax.Value:
        if isinstance(value, ParentMap):
            parent = self._mapping.named(value.parent)
            if value.joins or parent is None:
                self._refuse("a join")
            return self._name(parent.subject)
        made = self._literal(name, value) if value.type == "Literal" else self._name(value)
        if value.missing == "skip" and not value.if_valid:
            return made
        policy = None if value.missing == "skip" else syntax.MissingPolicy(value.missing)
        return syntax.Fallback(made, value.if_valid, policy)

    def _literal(self, name: IRI, value: TermMap) -> syntax.XPathValue | syntax.TextValue:
        match value.expression:
            case ConstantTerm(term=Literal() as term) if not (value.datatype or value.language):
                kind, tag = term.datatype, term.language
            case _:
                kind, tag = self._constant_kind(value), self._constant_tag(value)
        datatype = None if tag is not None else self._datatype(name, kind)
        match value.expression:
            case Reference(xpath=hole):
                return syntax.XPathValue(self._hole(hole), datatype, tag)
            case FunctionValue() as called:
                return syntax.XPathValue(self._called(called), datatype, tag)
            case StringTemplate(parts=parts):
                return syntax.TextValue(syntax.TextTemplate(self._parts(parts)), datatype, tag)
            case ConstantTerm(term=Literal() as term):
                text = (term.lexical,) if term.lexical else ()
                return syntax.TextValue(syntax.TextTemplate(text), datatype, tag)
        raise AssertionError("a literal has an expression")

    def _called(self, value: FunctionValue) -> syntax.Hole:
        match value.value:
            case Reference(xpath=hole):
                inner = self._hole(hole)
            case FunctionValue() as before:
                inner = self._called(before)
            case _:
                self._refuse("a function of a constant or template")
        return syntax.Hole(inner.text, (*inner.calls, value.call))

    def _constant_kind(self, value: TermMap) -> str:
        match value.datatype:
            case None:
                return xsd.STRING
            case TermMap(expression=ConstantTerm(term=IRI() as kind)):
                return kind
        self._refuse("a datatype that the message gives")

    def _constant_tag(self, value: TermMap) -> str | None:
        match value.language:
            case None:
                return None
            case TermMap(expression=ConstantTerm(term=Literal(lexical=tag))) if _TAG.match(tag):
                return tag
        self._refuse("a language that the message gives")

    def _datatype(self, name: IRI, kind: str) -> syntax.WrittenName | None:
        told = self._schema.datatype_of(name)
        if kind == xsd.STRING and told in (None, xsd.STRING):
            return None
        return self._constant_name(IRI(kind))

    # Names

    def _name(self, term_map: TermMap) -> syntax.WrittenName | syntax.BlankName:
        match term_map:
            case TermMap(expression=ConstantTerm(term=IRI() as term)):
                return self._constant_name(term)
            case TermMap(expression=StringTemplate(parts=parts), type="IRI"):
                return self._name_of_parts(self._with_base(self._parts(parts)))
            case TermMap(expression=Reference(xpath=hole), type="IRI") if self._map.base is None:
                return syntax.WrittenName(None, (self._hole(hole),))
            case TermMap(expression=StringTemplate(parts=parts), type="BlankNode"):
                if not all(_LABEL_PART.match(part) for part in parts if isinstance(part, str)):
                    self._refuse("such a label of a blank node")
                return syntax.BlankName(self._parts(parts))
            case TermMap(expression=Reference(xpath=hole), type="BlankNode"):
                return syntax.BlankName((self._hole(hole),))
            case TermMap(type="BlankNode"):
                self._refuse("a blank node without an expression")
        self._refuse(f"a name of term type rml:{term_map.type} that is not an encoded template")

    def _with_base(self, parts: tuple[syntax.Part, ...]) -> tuple[syntax.Part, ...]:
        """Make the text before the values absolute, because the values have no colon."""
        first = parts[0] if parts and isinstance(parts[0], str) else ""
        if _SCHEME.match(first):
            return parts
        if self._map.base is None:
            self._refuse("a relative IRI without a base")
        rest = parts[1:] if first else parts
        return (self._map.base + first, *rest)

    def _constant_name(self, iri: IRI) -> syntax.WrittenName:
        return self._name_of_parts((str(iri),))

    def _name_of_parts(self, parts: tuple[syntax.Part, ...]) -> syntax.WrittenName:
        first, rest = parts[0], parts[1:]
        assert isinstance(first, str)
        for name, namespace in self._prefixes.items():
            local = first.removeprefix(namespace)
            texts = [local, *(part for part in rest if isinstance(part, str))]
            fits = _LOCAL_PART if rest else _LOCAL
            if first.startswith(namespace) and all(fits.match(text) for text in texts):
                return syntax.WrittenName(name, (local, *rest) if local else rest)
        return syntax.WrittenName(None, parts)

    # XPath

    def _parts(self, parts: Sequence[syntax.Part]) -> tuple[syntax.Part, ...]:
        return tuple(part if isinstance(part, str) else self._hole(part) for part in parts)

    def _hole(self, hole: syntax.Hole) -> syntax.Hole:
        at_document = self._map.source.iterator.text == "/"
        return self._written(from_document(hole.text) if at_document else hole.text)

    def _written(self, text: str) -> syntax.Hole:
        if not _HOLE.match(text):
            self._refuse(f"braces in the XPath '{text}'")
        return syntax.Hole(text)

    def _refuse(self, what: str) -> NoReturn:
        _refuse(self._map, what)
