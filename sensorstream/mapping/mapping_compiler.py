"""The compiler of mapping rules' syntax trees to closures, which compute all constants once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias, assert_never, cast

from sensorstream.errors import InvalidValue, TermError
from sensorstream.language import syntax
from sensorstream.language.ontology_names import shown, why_unknown
from sensorstream.language.rule_printer import print_node
from sensorstream.mapping.document_parts import compile_split
from sensorstream.mapping.location_path import lookup_of, only_root
from sensorstream.mapping.mapped_values import check_graph_name, iri_maker
from sensorstream.mapping.mapping_check import check
from sensorstream.mapping.mapping_expressions import ExpressionRecorder, MappingExpressions, told
from sensorstream.mapping.mapping_plan import (
    Harvest,
    MappedStatements,
    MappingPlan,
    PlannedRule,
    RunRule,
    Terms,
    Turn,
)
from sensorstream.mapping.moved_paths import ROOT, looks_up
from sensorstream.mapping.path_index import Nodes
from sensorstream.mapping.reference_data import NO_REFERENCE, ReferenceData
from sensorstream.mapping.rule_cost import Steep, cost_of, steep_of
from sensorstream.mapping.term_maps import SkipIndividual, TermCompiler, or_else
from sensorstream.mapping.term_recipe import LiteralValue, literal_map, name_map
from sensorstream.mapping.xml_document import Element
from sensorstream.mapping.xml_schema import MessageSchemas
from sensorstream.model import rdf
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Subject, Term
from sensorstream.model.timeline import Timeline
from sensorstream.sparql.walk import nodes


def compile_mapping(
    files: Iterable[syntax.RuleFile],
    schema: Schema,
    timeline: Timeline,
    reference: ReferenceData = NO_REFERENCE,
    schemas: MessageSchemas | None = None,
    recorder: ExpressionRecorder | None = None,
) -> MappingPlan:
    """The mapping rules of several files as one plan, in their order.

    Every document must conform to ``schemas`` before a rule sees it. A ``recorder`` is called for
    every expression that is evaluated; without one the plan contains no code for tracing.

    Raises:
        LanguageError: the first of the faults that ``check`` lists.
    """
    listed = list(files)
    for fault in check(listed, schema, reference):
        raise fault
    in_parts = any(file.parts for file in listed)
    return MappingPlan(
        tuple(
            _Compiler(file, rule, schema, timeline, reference, recorder, in_parts).planned()
            for file in listed
            for rule in file.mapping_rules
        ),
        compile_split(listed),
        schemas,
        tuple(
            Steep(degree, part.xpath)
            for file in listed
            for part in file.parts
            if (degree := cost_of(part.xpath.text).degree) > 1
        ),
    )


Act: TypeAlias = Callable[[Turn], None]
Say: TypeAlias = Callable[[Turn, Subject], bool]
"""State properties of a subject, in the statements of the turn; False if no value was found."""

_NOTHING: Final[tuple[Term, ...]] = ()


class _Compiler(TermCompiler):
    """A compiler of one rule; its methods return closures that do not depend on the syntax tree."""

    def __init__(
        self,
        file: syntax.RuleFile,
        rule: syntax.MappingRule,
        schema: Schema,
        timeline: Timeline,
        reference: ReferenceData,
        recorder: ExpressionRecorder | None,
        in_parts: bool,
    ) -> None:
        library = reference.library_of(file.file)
        expressions = MappingExpressions(file, rule, library, recorder, in_parts)
        super().__init__(expressions, rule.message, iri_maker(file.base), None, multiply=False)
        self._expressions = expressions
        self._file = file
        self._rule = rule
        self._schema = schema
        self._reference = reference
        self._timeline = timeline
        self._namespaces = file.namespace_map
        self._recorder = recorder
        self._in_parts = in_parts

    def planned(self) -> PlannedRule:
        path = self._rule.message.text
        lookup = lookup_of(path, self._namespaces)
        if self._recorder is not None:
            # All rules for this kind of message are tried, to record their results.
            lookup = only_root(lookup)
        return PlannedRule(
            self._rule.name,
            path,
            self._namespaces,
            self._run(),
            lookup,
            at_part=self._in_parts,
            looks_up=any(looks_up(hole.text) for hole in nodes(self._rule, syntax.Hole)),
            steep=steep_of(self._rule, self._reference.functions, in_parts=self._in_parts),
        )

    # The rule as a whole

    def _run(self) -> RunRule:
        find = self._expressions.nodes(self._rule.message)
        body = self._body()
        for loop in reversed(self._rule.for_each):
            body = self._loop(loop, body)

        in_parts = self._in_parts

        def turn(context: Element, root: Element, harvest: Harvest) -> Turn:
            return Turn(context, harvest, {ROOT: root} if in_parts else {})

        def run(root: Element, harvest: Harvest, nodes: Nodes | None) -> bool:
            selected = find(turn(root, root, harvest)) if nodes is None else nodes
            for node in selected:
                # An attribute or a text has no children: the root is the context then.
                body(turn(node if isinstance(node, Element) else root, root, harvest))
            return bool(selected)

        return run

    def _loop(self, loop: syntax.ForEach, body: Act) -> Act:
        find, variable = self._expressions.nodes(loop.xpath), loop.variable

        def each(turn: Turn) -> None:
            for node in find(turn):
                turn.variables[variable] = node
                body(turn)

        return each

    def _body(self) -> Act:
        lets = tuple((each.variable, self._expressions.value(each)) for each in self._rule.lets)
        guards = tuple(self._expressions.condition(hole) for hole in self._rule.guards)
        actions = tuple(self._action(action) for action in self._rule.actions)

        def body(turn: Turn) -> None:
            for variable, value in lets:
                turn.variables[variable] = value(turn)
            for holds in guards:
                if not holds(turn):
                    return
            turn.found.clear()
            for act in actions:
                act(turn)

        return body

    # Actions

    def _action(self, action: syntax.IndividualAction) -> Act:
        name = self._named(action.name)
        time, graph = self.holes.time(action.at, self._timeline), self._graph(action.graph)
        update, named = action.kind == "update", not isinstance(action.name, syntax.BlankName)
        say = (
            self._classes(action.classes),
            *(self._says(each, update=update) for each in action.properties),
        )

        def state(subject: Subject, turn: Turn) -> None:
            said = False
            for tell in say:
                said |= tell(turn, subject)
            if said and named:
                turn.harvest.individuals[subject] = None

        def act(turn: Turn) -> None:
            subject = name(turn)
            turn.statements = turn.harvest.at(time(turn))
            state(subject, turn)

        def act_whole(turn: Turn) -> None:
            # Remove all statements of an individual that is left out.
            subject, instant, where = name(turn), time(turn), graph(turn)
            turn.statements = said = MappedStatements()
            try:
                state(subject, turn)
            except SkipIndividual:
                return
            turn.harvest.at(instant).add(said, where)

        may_skip = any(
            each.kind == "skip individual" for each in nodes(action, syntax.MissingPolicy)
        )
        return act_whole if may_skip or action.graph is not None else act

    def _named(
        self, name: syntax.WrittenName | syntax.RuleVariable | syntax.BlankName
    ) -> Callable[[Turn], Subject]:
        """The subject of an action, which is reported to the recorder, if any."""
        find, named = self._subject(name), self._expressions.named
        holes = tuple(nodes(name, syntax.Hole))
        if named is None:
            return find
        return told(find, lambda turn, subject: named(subject, holes, turn))

    def _subject(
        self,
        name: syntax.WrittenName | syntax.RuleVariable | syntax.BlankName,
        what: str = "an individual's",
    ) -> Callable[[Turn], Subject]:
        assert not isinstance(name, syntax.RuleVariable), "parse refuses it in mapping rules"
        if isinstance(name, syntax.WrittenName) and name.is_constant:
            constant = self._file.resolve(name)
            return lambda turn: constant
        find, holes = self._name(name), name.holes
        first_not_one, expected = self._expressions.first_not_one, f"expected {what} name"

        def one(turn: Turn) -> Subject:
            found = find(turn)
            if len(found) != 1:
                raise first_not_one(turn, holes, expected)
            return cast(Subject, found[0])

        return one

    def _graph(self, name: syntax.WrittenName | None) -> Callable[[Turn], IRI | None]:
        if name is None:
            return lambda turn: None
        find = cast(Callable[[Turn], IRI], self._subject(name, "a graph's"))
        if name.is_constant:
            return find
        error, hole = self._expressions.error, name.holes[0]

        def graph(turn: Turn) -> IRI:
            found = find(turn)
            try:
                return check_graph_name(found)
            except TermError as fault:
                raise error(turn, hole, fault.message, "", InvalidValue) from None

        return graph

    # Properties

    def _says(self, values: syntax.PropertyValues, *, update: bool) -> Say:
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

    def _classes(self, names: Sequence[syntax.WrittenName]) -> Say:
        """State the classes of a subject, constant ones first."""
        ordered = sorted(names, key=lambda each: not each.is_constant)
        return self._stated(rdf.TYPE, ordered, update=False)

    def _recorded(self, each: Iterable[tuple[Say, Sequence[syntax.Hole]]]) -> Say:
        """State what each says, and report it with the holes that it comes from."""
        stated, tells = self._expressions.stated, tuple(each)
        assert stated is not None, "otherwise nobody wants to know"

        def recorded(turn: Turn, subject: Subject) -> bool:
            said, statements = False, turn.statements
            for tell, holes in tells:
                turn.statements = told = MappedStatements()
                said |= tell(turn, subject)
                for triple in told.triples:
                    if triple[0] == subject:
                        stated(triple, holes, turn)
                statements.add(told)
            turn.statements = statements
            return said

        return recorded

    def _name(self, name: syntax.WrittenName | syntax.BlankName, *, valid: bool = False) -> Terms:
        """The IRIs of a name, or the nodes with this label in the message."""
        return self.term(name_map(self._file, name, valid=valid))

    def _literal(self, name: IRI, value: LiteralValue, valid: bool) -> Terms:
        return self.term(literal_map(self._file, name, value, self._schema, valid=valid))

    def _value(self, name: IRI, value: syntax.Value, *, valid: bool = False) -> Terms:
        """The terms of a value; with ``valid``, here and below, without those that are invalid."""
        match value:
            case syntax.XPathValue() | syntax.TextValue() | syntax.WrittenNumber():
                return self._literal(name, value, valid)
            case syntax.WrittenName() if name == rdf.TYPE:
                return self._class(value, valid)
            case syntax.WrittenName():
                return self._name(value, valid=valid)
            case syntax.BlankName():
                return self._name(value)
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
            case syntax.RuleVariable():
                raise AssertionError("parse refuses ?variables in mapping rules")
        assert_never(value)

    def _class(self, name: syntax.WrittenName, valid: bool = False) -> Terms:
        """A class by its name; one that the ontology lacks is an invalid value."""
        find, known, file = self._name(name, valid=valid), self._schema.classes, self._file
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
        find, known = self._name(value.name, valid=valid), self._reference.types
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
        classify = self._classes(value.classes)
        say = tuple(self._says(each, update=False) for each in value.properties)

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
        items = tuple(self._value(rdf.FIRST, item) for item in value.items)

        def listed(turn: Turn) -> Sequence[Term]:
            members = [term for find in items for term in find(turn)]
            if not members:
                return _NOTHING
            cells = [turn.harvest.blank_node() for _ in members]
            ends: list[Term] = [*cells[1:], rdf.NIL]
            triples = turn.statements.triples
            for cell, rest, member in zip(cells, ends, members, strict=True):
                triples[cell, rdf.FIRST, member] = None
                triples[cell, rdf.REST, rest] = None
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
            case syntax.MissingPolicy(kind=kind):
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
    """The holes that a value comes from; a node without a name comes from its properties."""
    if isinstance(value, syntax.BlankValue | syntax.ListValue):
        return ()
    return tuple(nodes(value, syntax.Hole))


def _if_valid(find: Terms) -> Terms:
    def valid(turn: Turn) -> Sequence[Term]:
        # Remove the statements of a node or list before its invalid value.
        statements, turn.statements = turn.statements, MappedStatements()
        try:
            found = find(turn)
            statements.add(turn.statements)
        except InvalidValue:
            return _NOTHING
        finally:
            turn.statements = statements
        return found

    return valid
