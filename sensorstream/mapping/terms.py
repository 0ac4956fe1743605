"""Compiles the values of a property to closures that return terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias, assert_never, cast

from sensorstream.errors import InvalidValue
from sensorstream.language import syntax
from sensorstream.language.ontology_names import shown, why_unknown
from sensorstream.language.printer import print_node
from sensorstream.language.walk import nodes
from sensorstream.mapping.expressions import Expressions
from sensorstream.mapping.plan import Statements, Terms, Turn
from sensorstream.mapping.recipe import LiteralValue, literal_map, name_map
from sensorstream.mapping.reference_data import ReferenceData
from sensorstream.mapping.term_maps import TermCompiler, or_else
from sensorstream.mapping.values import iri_maker
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Subject, Term
from sensorstream.model.vocabulary import RDF_FIRST, RDF_NIL, RDF_REST, RDF_TYPE

Say: TypeAlias = Callable[[Turn, Subject], bool]
"""State properties of a subject, in the statements of the turn; False if no value was found."""

_NOTHING: Final[tuple[Term, ...]] = ()


class ValueCompiler(TermCompiler):
    """Compiles the properties of one rule; its methods return closures."""

    def __init__(
        self,
        file: syntax.RuleFile,
        start: syntax.Hole,
        schema: Schema,
        reference: ReferenceData,
        expressions: Expressions,
    ) -> None:
        super().__init__(expressions, start, iri_maker(file.base), None, multiply=False)
        self._file = file
        self._schema = schema
        self._reference = reference
        self._expressions = expressions

    def property(self, values: syntax.PropertyValues, *, update: bool) -> Say:
        """State a property; an update replaces its earlier values."""
        return self._stated(self._file.resolve(values.property), values.values, update=update)

    def _stated(self, name: IRI, values: Sequence[syntax.Value], *, update: bool) -> Say:
        if self._expressions.stated is None:
            return self._property(name, values, update)
        return self._recorded(
            (self._property(name, (value,), update), _holes(value)) for value in values
        )

    def _property(self, name: IRI, values: Sequence[syntax.Value], update: bool) -> Say:
        terms = tuple(self._value(name, value) for value in values)

        def say(turn: Turn, subject: Subject) -> bool:
            said, statements = False, turn.statements
            for find in terms:
                for term in find(turn):
                    statements.triples[subject, name, term] = None
                    said = True
            if said and update:
                statements.replace(((subject, name),))
            return said

        return say

    def classes(self, names: Sequence[syntax.Name]) -> Say:
        """State the classes of a subject, first those that the rule itself has."""
        ordered = sorted(names, key=lambda each: not each.is_constant)
        return self._stated(RDF_TYPE, ordered, update=False)

    def _recorded(self, each: Iterable[tuple[Say, Sequence[syntax.Hole]]]) -> Say:
        """State what each says, and report it with the holes that it comes from."""
        stated, tells = self._expressions.stated, tuple(each)
        assert stated is not None, "otherwise nobody wants to know"

        def recorded(turn: Turn, subject: Subject) -> bool:
            said, statements = False, turn.statements
            for tell, holes in tells:
                turn.statements = told = Statements()
                said |= tell(turn, subject)
                for triple in told.triples:
                    if triple[0] == subject:
                        stated(triple, holes, turn)
                statements.add(told)
            turn.statements = statements
            return said

        return recorded

    def name(self, name: syntax.Name | syntax.BlankName, *, valid: bool = False) -> Terms:
        """The IRIs of a name, or the nodes with this label in the message."""
        return self.term(name_map(self._file, name, valid=valid))

    def _literal(self, name: IRI, value: LiteralValue, valid: bool) -> Terms:
        return self.term(literal_map(self._file, name, value, self._schema, valid=valid))

    def _value(self, name: IRI, value: syntax.Value, *, valid: bool = False) -> Terms:
        """The terms of a value; with ``valid``, here and below, without those that are invalid."""
        match value:
            case syntax.XPathValue() | syntax.TextValue() | syntax.Number():
                return self._literal(name, value, valid)
            case syntax.Name() if name == RDF_TYPE:
                return self._class(value, valid)
            case syntax.Name():
                return self.name(value, valid=valid)
            case syntax.BlankName():
                return self.name(value)
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

    def _class(self, name: syntax.Name, valid: bool = False) -> Terms:
        """A class by its name; one that the ontology lacks is an invalid value."""
        find, known, file = self.name(name, valid=valid), self._schema.classes, self._file
        is_open = not (known or self._schema.object_properties or self._schema.datatype_properties)
        if name.is_constant or is_open:
            return find
        hole, error = name.holes[0], self.holes.error

        def classes(turn: Turn) -> Sequence[Term]:
            named = []
            for each in find(turn):
                assert isinstance(each, IRI)
                if each in known or not (reason := why_unknown(file, "class", each, known)):
                    named.append(each)
                elif not valid:
                    raise error(turn, hole, reason, "", InvalidValue)
            return named

        return classes

    def _known(self, value: syntax.KnownName, valid: bool) -> Terms:
        find, known = self.name(value.name, valid=valid), self._reference.types
        return lambda turn: [each for each in find(turn) if each in known]

    def _known_by(self, value: syntax.KnownBy, valid: bool) -> Terms:
        name = self._file.resolve(value.property)
        values = self._literal(name, value.value, valid)
        by = self._reference.members_by(self._file.resolve(value.class_name), name, self._schema)
        return lambda turn: [
            individual for literal in values(turn) for individual in by(cast(Literal, literal))
        ]

    # Nodes without a name

    def _blank(self, value: syntax.BlankValue) -> Terms:
        classify = self.classes(value.classes)
        say = tuple(self.property(each, update=False) for each in value.properties)

        def blank(turn: Turn) -> Sequence[Term]:
            node = turn.harvest.blank_node()
            said = [state(turn, node) for state in say]
            # A node is left out if no value of it was found.
            if say and not any(said):
                return _NOTHING
            if not classify(turn, node) and not say:
                return _NOTHING
            return (node,)

        return blank

    def _list(self, value: syntax.ListValue) -> Terms:
        # The range of the property applies to the list, not to its members.
        items = tuple(self._value(RDF_FIRST, item) for item in value.items)

        def listed(turn: Turn) -> Sequence[Term]:
            members = [term for find in items for term in find(turn)]
            if not members:
                return _NOTHING
            cells = [turn.harvest.blank_node() for _ in members]
            ends: list[Term] = [*cells[1:], RDF_NIL]
            triples = turn.statements.triples
            for cell, rest, member in zip(cells, ends, members, strict=True):
                triples[cell, RDF_FIRST, member] = None
                triples[cell, RDF_REST, rest] = None
            return cells[:1]

        return listed

    # Missing and invalid values

    def _fallback(self, name: IRI, value: syntax.Fallback) -> Terms:
        first = self._value(name, value.value, valid=value.if_valid)
        if value.if_valid:
            first = _if_valid(first)
        match value.otherwise:
            case None:
                return first
            case syntax.Policy(kind=kind):
                expressions, position = self._expressions, value.value.position
                written = print_node(value.value)
                found = "valid value" if value.if_valid else "value"
                what = f"{shown(self._file, name)}: found no {found}, which the rule rejects"
                return or_else(
                    first, kind, lambda turn: expressions.error_at(turn, position, written, what)
                )
        otherwise = self._value(name, value.otherwise)
        return lambda turn: first(turn) or otherwise(turn)


def _holes(value: syntax.Value) -> Sequence[syntax.Hole]:
    """Where a value comes from; that of a node without a name comes from its properties."""
    if isinstance(value, syntax.BlankValue | syntax.ListValue):
        return ()
    return tuple(nodes(value, syntax.Hole))


def _if_valid(find: Terms) -> Terms:
    def valid(turn: Turn) -> Sequence[Term]:
        # Remove the statements of a node or list before its invalid value.
        statements, turn.statements = turn.statements, Statements()
        try:
            found = find(turn)
            statements.add(turn.statements)
        except InvalidValue:
            return _NOTHING
        finally:
            turn.statements = statements
        return found

    return valid
