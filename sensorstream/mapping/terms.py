"""Compiles the values of a property to closures that return terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Final, TypeAlias, assert_never

from sensorstream.errors import InvalidValue, TermError
from sensorstream.language import syntax
from sensorstream.language.ontology_names import shown, why_unknown
from sensorstream.language.printer import print_node
from sensorstream.language.walk import nodes
from sensorstream.mapping.check import datatype_of
from sensorstream.mapping.expressions import Expressions
from sensorstream.mapping.plan import Statements, Terms, Texts, Turn
from sensorstream.mapping.reference_data import ReferenceData
from sensorstream.mapping.values import literal_maker
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Subject, Term
from sensorstream.model.vocabulary import RDF_FIRST, RDF_NIL, RDF_REST, RDF_TYPE

Say: TypeAlias = Callable[[Turn, Subject, Statements], bool]
"""State properties of a subject; False if no value was found."""

_NOTHING: Final[tuple[Term, ...]] = ()
_LANGUAGES: Final = 16
"""Languages whose literals are cached, for each value that has them from the message."""


class SkipIndividual(Exception):
    """A value is missing, and the rule then leaves the individual out."""


class ValueCompiler:
    """Compiles the properties of one rule; its methods return closures."""

    def __init__(
        self,
        file: syntax.RuleFile,
        schema: Schema,
        reference: ReferenceData,
        expressions: Expressions,
    ) -> None:
        self._file = file
        self._schema = schema
        self._reference = reference
        self._expressions = expressions

    def property(self, values: syntax.PropertyValues, *, update: bool) -> Say:
        """State a property; an update replaces its earlier values."""
        name = self._file.resolve(values.property)
        if self._expressions.stated is None:
            return self._property(name, values.values, update)
        return self._recorded(
            (self._property(name, (value,), update), _holes(value)) for value in values.values
        )

    def _property(self, name: IRI, values: Sequence[syntax.Value], update: bool) -> Say:
        terms = tuple(self._value(name, value) for value in values)

        def say(turn: Turn, subject: Subject, statements: Statements) -> bool:
            said = False
            for find in terms:
                for term in find(turn, statements):
                    statements.triples[subject, name, term] = None
                    said = True
            if said and update:
                statements.replace(((subject, name),))
            return said

        return say

    def classes(self, names: Sequence[syntax.Name]) -> Say:
        """State the classes of a subject."""
        if self._expressions.stated is None:
            return self._classes(names)
        return self._recorded((self._classes((name,)), name.holes) for name in names)

    def _recorded(self, each: Iterable[tuple[Say, Sequence[syntax.Hole]]]) -> Say:
        """State what each says, and report it with the holes that it comes from."""
        stated, tells = self._expressions.stated, tuple(each)
        assert stated is not None, "otherwise nobody wants to know"

        def recorded(turn: Turn, subject: Subject, statements: Statements) -> bool:
            said = False
            for tell, holes in tells:
                said |= tell(turn, subject, told := Statements())
                for triple in told.triples:
                    if triple[0] == subject:
                        stated(triple, holes, turn)
                statements.add(told)
            return said

        return recorded

    def _classes(self, names: Sequence[syntax.Name]) -> Say:
        constant = tuple(self._file.resolve(each) for each in names if each.is_constant)
        found = tuple(self._class(each) for each in names if not each.is_constant)

        def say(turn: Turn, subject: Subject, statements: Statements) -> bool:
            said = bool(constant)
            for each in constant:
                statements.triples[subject, RDF_TYPE, each] = None
            for find in found:
                for each in find(turn, statements):
                    statements.triples[subject, RDF_TYPE, each] = None
                    said = True
            return said

        return say

    def blank_node(self, name: syntax.BlankName) -> Callable[[Turn], list[BlankNode]]:
        """The node with this label in the message; empty if a hole finds nothing."""
        fill = self._expressions.fill(name.parts)
        return lambda turn: [turn.harvest.named_node(text) for text in fill(turn)]

    def _value(self, name: IRI, value: syntax.Value, *, valid: bool = False) -> Terms:
        """The terms of a value; with ``valid``, here and below, without those that are invalid."""
        match value:
            case syntax.XPathValue() | syntax.TextValue() | syntax.Number():
                return self._literals(name, value, valid)
            case syntax.Name():
                return (self._class if name == RDF_TYPE else self._links)(value, valid)
            case syntax.BlankName():
                find = self.blank_node(value)
                return lambda turn, statements: find(turn)
            case syntax.BlankValue():
                return self._blank(value)
            case syntax.ListValue():
                return self._list(value)
            case syntax.KnownName():
                return self._known(value, valid)
            case syntax.KnownBy():
                return self._known_by(value, valid)
            case syntax.Fallback():
                return self._fallback(name, value)
            case syntax.Variable():
                raise AssertionError("parse refuses ?variables in mapping rules")
        assert_never(value)

    # Literals

    def _literals(
        self, name: IRI, value: syntax.XPathValue | syntax.TextValue | syntax.Number, valid: bool
    ) -> Callable[[Turn, Statements], Sequence[Literal]]:
        kind = datatype_of(self._file, name, value, self._schema)
        if isinstance(value, syntax.Number):
            constant = (literal_maker(kind, None)(value.text),)
            return lambda turn, statements: constant
        if isinstance(value, syntax.XPathValue):
            find = self._expressions.texts(value.xpath, valid=valid)
        else:
            find = self._expressions.fill(value.text.parts, valid=valid)
        if isinstance(value.language, syntax.Hole):
            return self._tagged(name, find, value.language)
        make = literal_maker(kind, value.language)
        hole = next(nodes(value, syntax.Hole), None)
        error, what = self._expressions.error, shown(self._file, name)

        def literals(turn: Turn, statements: Statements) -> list[Literal]:
            made = []
            for text in find(turn):
                try:
                    made.append(make(text))
                except TermError as fault:
                    if valid:
                        continue
                    assert hole is not None, "the check tries texts without holes"
                    reason = f"{what}: {fault.message}"
                    raise error(turn, hole, reason, text, InvalidValue) from None
            return made

        return literals

    def _tagged(
        self, name: IRI, find: Texts, hole: syntax.Hole
    ) -> Callable[[Turn, Statements], Sequence[Literal]]:
        """Texts in a language that the message gives; without a language they are missing."""
        expressions, what = self._expressions, shown(self._file, name)
        language = expressions.texts(hole)
        makers = lru_cache(_LANGUAGES)(partial(literal_maker, None))

        def literals(turn: Turn, statements: Statements) -> list[Literal]:
            texts, tags = find(turn), language(turn)
            if not texts or not tags:
                return []
            if len(tags) > 1:
                raise expressions.not_one(turn, hole, tags, "expected one language")
            try:
                make = makers(tags[0])
                return [make(text) for text in texts]
            except TermError as fault:
                reason = f"{what}: {fault.message}"
                raise expressions.error(turn, hole, reason, tags[0], InvalidValue) from None

        return literals

    # Links

    def _links(
        self, name: syntax.Name, valid: bool = False
    ) -> Callable[[Turn, Statements], Sequence[IRI]]:
        if name.is_constant:
            constant = (self._file.resolve(name),)
            return lambda turn, statements: constant
        find = self._expressions.iris(name, valid=valid)
        return lambda turn, statements: find(turn)

    def _class(
        self, name: syntax.Name, valid: bool = False
    ) -> Callable[[Turn, Statements], Sequence[IRI]]:
        """A class by its name; one that the ontology lacks is an invalid value."""
        find, known, file = self._links(name, valid), self._schema.classes, self._file
        is_open = not (known or self._schema.object_properties or self._schema.datatype_properties)
        if name.is_constant or is_open:
            return find
        hole, error = name.holes[0], self._expressions.error

        def classes(turn: Turn, statements: Statements) -> Sequence[IRI]:
            found = find(turn, statements)
            named = []
            for each in found:
                if each in known or not (reason := why_unknown(file, "class", each, known)):
                    named.append(each)
                elif not valid:
                    raise error(turn, hole, reason, "", InvalidValue)
            return named

        return classes

    def _known(self, value: syntax.KnownName, valid: bool) -> Terms:
        find, known = self._links(value.name, valid), self._reference.types
        return lambda turn, statements: [n for n in find(turn, statements) if n in known]

    def _known_by(self, value: syntax.KnownBy, valid: bool) -> Terms:
        name = self._file.resolve(value.property)
        values = self._literals(name, value.value, valid)
        by = self._reference.members_by(self._file.resolve(value.class_name), name, self._schema)
        return lambda turn, statements: [
            individual for literal in values(turn, statements) for individual in by(literal)
        ]

    # Nodes without a name

    def _blank(self, value: syntax.BlankValue) -> Terms:
        classify = self.classes(value.classes)
        say = tuple(self.property(each, update=False) for each in value.properties)

        def blank(turn: Turn, statements: Statements) -> Sequence[Term]:
            node = turn.harvest.blank_node()
            said = [state(turn, node, statements) for state in say]
            # A node is left out if no value of it was found.
            if say and not any(said):
                return _NOTHING
            if not classify(turn, node, statements) and not say:
                return _NOTHING
            return (node,)

        return blank

    def _list(self, value: syntax.ListValue) -> Terms:
        # The range of the property applies to the list, not to its members.
        items = tuple(self._value(RDF_FIRST, item) for item in value.items)

        def listed(turn: Turn, statements: Statements) -> Sequence[Term]:
            members = [term for find in items for term in find(turn, statements)]
            if not members:
                return _NOTHING
            cells = [turn.harvest.blank_node() for _ in members]
            ends: list[Term] = [*cells[1:], RDF_NIL]
            for cell, rest, member in zip(cells, ends, members, strict=True):
                statements.triples[cell, RDF_FIRST, member] = None
                statements.triples[cell, RDF_REST, rest] = None
            return cells[:1]

        return listed

    # Missing and invalid values

    def _fallback(self, name: IRI, value: syntax.Fallback) -> Terms:
        first = self._value(name, value.value, valid=value.if_valid)
        if value.if_valid:
            first = _if_valid(first)
        otherwise = self._otherwise(name, value)

        def found(turn: Turn, statements: Statements) -> Sequence[Term]:
            return first(turn, statements) or otherwise(turn, statements)

        return found

    def _otherwise(self, name: IRI, value: syntax.Fallback) -> Terms:
        match value.otherwise:
            case None:
                return lambda turn, statements: _NOTHING
            case syntax.Policy(kind="skip individual"):

                def skip(turn: Turn, statements: Statements) -> Sequence[Term]:
                    raise SkipIndividual

                return skip
            case syntax.Policy():
                return self._reject(name, value)
            case _:
                return self._value(name, value.otherwise)

    def _reject(self, name: IRI, value: syntax.Fallback) -> Terms:
        expressions, position = self._expressions, value.value.position
        written, what = print_node(value.value), shown(self._file, name)
        kind = "no valid value" if value.if_valid else "no value"

        def reject(turn: Turn, statements: Statements) -> Sequence[Term]:
            raise expressions.error_at(
                turn, position, written, f"{what}: found {kind}, which the rule rejects"
            )

        return reject


def _holes(value: syntax.Value) -> Sequence[syntax.Hole]:
    """Where a value comes from; that of a node without a name comes from its properties."""
    if isinstance(value, syntax.BlankValue | syntax.ListValue):
        return ()
    return tuple(nodes(value, syntax.Hole))


def _if_valid(find: Terms) -> Terms:
    def valid(turn: Turn, statements: Statements) -> Sequence[Term]:
        # Remove the statements of a node or list before its invalid value.
        tried = Statements()
        try:
            found = find(turn, tried)
        except InvalidValue:
            return _NOTHING
        statements.add(tried)
        return found

    return valid
