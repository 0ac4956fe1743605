"""Compiles syntax trees of mapping rules to closures; everything constant is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias, cast

from sensorstream.errors import InvalidValue, TermError
from sensorstream.language import syntax
from sensorstream.language.walk import nodes
from sensorstream.mapping.check import check
from sensorstream.mapping.document import Element
from sensorstream.mapping.expressions import ExpressionRecorder, Expressions, told
from sensorstream.mapping.hint import Landmarks
from sensorstream.mapping.location_path import lookup_of, only_root
from sensorstream.mapping.moved_paths import ROOT, looks_up
from sensorstream.mapping.parts import compile_split
from sensorstream.mapping.path_index import Nodes
from sensorstream.mapping.plan import Harvest, MappingPlan, PlannedRule, RunRule, Statements, Turn
from sensorstream.mapping.reference_data import NO_REFERENCE, ReferenceData
from sensorstream.mapping.rule_cost import Steep, cost_of, steep_of
from sensorstream.mapping.term_maps import SkipIndividual
from sensorstream.mapping.terms import ValueCompiler
from sensorstream.mapping.values import check_graph_name
from sensorstream.mapping.xsd import MessageSchemas
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Subject
from sensorstream.model.timeline import Instant, Timeline


def compile_mapping(
    files: Iterable[syntax.RuleFile],
    schema: Schema,
    timeline: Timeline,
    reference: ReferenceData = NO_REFERENCE,
    schemas: MessageSchemas | None = None,
    recorder: ExpressionRecorder | None = None,
) -> MappingPlan:
    """The mapping rules of several files as one plan, in their order.

    Every document must conform to ``schemas`` before a rule sees it.
    A ``recorder`` is called for every expression that is evaluated; without one the plan contains
    no code for tracing.

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


class _Compiler:
    """Compiles one rule; its methods return closures that do not depend on the syntax tree."""

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
        self._file = file
        self._rule = rule
        self._timeline = timeline
        self._namespaces = file.namespace_map
        self._recorder = recorder
        library = reference.library_of(file.file)
        self._expressions = Expressions(file, rule, library, recorder, in_parts)
        self._in_parts = in_parts
        self._own = reference.functions
        self._values = ValueCompiler(file, rule.message, schema, reference, self._expressions)

    def planned(self) -> PlannedRule:
        path = self._rule.message.text
        landmarks = Landmarks(self._rule.name, path, self._namespaces)
        lookup = lookup_of(path, self._namespaces)
        if self._recorder is not None:
            # All rules for this kind of message are tried, to record what they find.
            lookup = only_root(lookup)
        return PlannedRule(
            self._rule.name,
            self._run(),
            landmarks,
            lookup,
            at_part=self._in_parts,
            looks_up=any(looks_up(hole.text) for hole in nodes(self._rule, syntax.Hole)),
            steep=steep_of(self._rule, self._own, in_parts=self._in_parts),
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
        time, graph = self._time(action.at), self._graph(action.graph)
        classify = self._values.classes(action.classes)
        update, named = action.kind == "update", not isinstance(action.name, syntax.BlankName)
        say = tuple(self._values.property(each, update=update) for each in action.properties)

        def state(subject: Subject, turn: Turn) -> None:
            said = classify(turn, subject)
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
            turn.statements = said = Statements()
            try:
                state(subject, turn)
            except SkipIndividual:
                return
            turn.harvest.at(instant).add(said, where)

        may_skip = any(each.kind == "skip individual" for each in nodes(action, syntax.Policy))
        return act_whole if may_skip or action.graph is not None else act

    def _named(
        self, name: syntax.Name | syntax.Variable | syntax.BlankName
    ) -> Callable[[Turn], Subject]:
        """The subject of an action, which is reported if somebody wants to know."""
        find, named = self._subject(name), self._expressions.named
        holes = tuple(nodes(name, syntax.Hole))
        if named is None:
            return find
        return told(find, lambda turn, subject: named(subject, holes, turn))

    def _subject(
        self, name: syntax.Name | syntax.Variable | syntax.BlankName, what: str = "an individual's"
    ) -> Callable[[Turn], Subject]:
        assert not isinstance(name, syntax.Variable), "parse refuses it in mapping rules"
        if isinstance(name, syntax.Name) and name.is_constant:
            constant = self._file.resolve(name)
            return lambda turn: constant
        find, holes = self._values.name(name), name.holes
        first_not_one, expected = self._expressions.first_not_one, f"expected {what} name"

        def one(turn: Turn) -> Subject:
            found = find(turn)
            if len(found) != 1:
                raise first_not_one(turn, holes, expected)
            return cast(Subject, found[0])

        return one

    def _graph(self, name: syntax.Name | None) -> Callable[[Turn], IRI | None]:
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

    def _time(self, at: syntax.Hole | None) -> Callable[[Turn], Instant]:
        if at is None:
            return lambda turn: turn.harvest.message.received
        expressions = self._expressions
        return expressions.instant(at, expressions.texts(at), self._timeline)
