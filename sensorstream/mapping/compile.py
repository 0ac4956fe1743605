"""Syntax trees of mapping rules to closures: what does not change is worked out once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never, cast

from lxml import etree

from sensorstream.errors import MappingError, TermError
from sensorstream.language import syntax
from sensorstream.language.vocabulary import shown
from sensorstream.language.walk import nodes
from sensorstream.mapping.check import check, datatype_of
from sensorstream.mapping.document import Element
from sensorstream.mapping.hint import Landmarks
from sensorstream.mapping.plan import Harvest, MappingPlan, PlannedRule, RunRule, Statements
from sensorstream.mapping.values import encode_segment, literal_maker
from sensorstream.mapping.xpath import compile_xpath, line_of, texts
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Subject, Term
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.vocabulary import RDF_TYPE


def compile_mapping(
    files: Iterable[syntax.RuleFile], schema: Schema, timeline: Timeline
) -> MappingPlan:
    """The mapping rules of several files as one plan, in their order.

    Raises:
        LanguageError: the first of the faults that ``check`` lists.
    """
    listed = list(files)
    for fault in check(listed, schema):
        raise fault
    return MappingPlan(
        tuple(
            _Compiler(file, rule, schema, timeline).planned()
            for file in listed
            for rule in file.mapping_rules
        )
    )


@dataclass(slots=True)
class Scope:
    """Where a rule stands: at a node its path found, with its variables bound."""

    context: Element
    harvest: Harvest
    variables: dict[str, Element | str] = field(default_factory=dict)
    # What expressions that stand in the rule more than once have found for these variables.
    found: dict[str, list[str]] = field(default_factory=dict)


Texts: TypeAlias = Callable[[Scope], list[str]]
Terms: TypeAlias = Callable[[Scope, Statements], Iterable[Term]]
Act: TypeAlias = Callable[[Scope], None]
Say: TypeAlias = Callable[[Scope, Subject, Statements], bool]
"""State properties of a subject; False if no value was found."""


class _Compiler:
    """Compiles one rule; its methods return closures that know nothing of syntax."""

    def __init__(
        self,
        file: syntax.RuleFile,
        rule: syntax.MappingRule,
        schema: Schema,
        timeline: Timeline,
    ) -> None:
        self._file = file
        self._rule = rule
        self._schema = schema
        self._timeline = timeline
        self._namespaces = file.namespace_map
        uses = Counter(hole.text for hole in nodes(rule.actions, syntax.Hole))
        self._shared = {text for text, count in uses.items() if count > 1}

    def planned(self) -> PlannedRule:
        path = self._rule.message.text
        landmarks = Landmarks(self._rule.name, path, self._namespaces)
        return PlannedRule(self._rule.name, self._root_tag(path), self._run(), landmarks)

    def _root_tag(self, path: str) -> str | None:
        match = re.match(r"/(?:([\w.-]+):(?!:))?([^\W\d][\w.-]*)(?=[/\[]|$)(?!.*\|)", path, re.S)
        if match is None:
            return None
        prefix, name = match.groups()
        return name if prefix is None else f"{{{self._namespaces[prefix]}}}{name}"

    # The rule as a whole

    def _run(self) -> RunRule:
        find = self._nodes(self._rule.message)
        body = self._body()
        for loop in reversed(self._rule.for_each):
            body = self._loop(loop, body)

        def run(root: Element, harvest: Harvest) -> bool:
            selected = find(Scope(root, harvest))
            for node in selected:
                # An attribute or a text has nothing below it: the root is the context then.
                body(Scope(node if isinstance(node, Element) else root, harvest))
            return bool(selected)

        return run

    def _loop(self, loop: syntax.ForEach, body: Act) -> Act:
        find, variable = self._nodes(loop.xpath), loop.variable

        def each(scope: Scope) -> None:
            for node in find(scope):
                scope.variables[variable] = node
                body(scope)

        return each

    def _body(self) -> Act:
        guards = tuple(self._guard(hole) for hole in self._rule.guards)
        actions = tuple(self._action(action) for action in self._rule.actions)

        def body(scope: Scope) -> None:
            for holds in guards:
                if not holds(scope):
                    return
            scope.found.clear()
            for act in actions:
                act(scope)

        return body

    def _guard(self, hole: syntax.Hole) -> Callable[[Scope], object]:
        return self._xpath(hole, f"boolean({hole.text})")

    # Actions

    def _action(self, action: syntax.IndividualAction) -> Act:
        assert isinstance(action.name, syntax.Name)
        name = self._individual(action.name)
        time = self._time(action.at)
        classes = tuple(self._file.resolve(each) for each in action.classes)
        say = tuple(self._property(p, update=action.kind == "update") for p in action.properties)

        def act(scope: Scope) -> None:
            subject, harvest = name(scope), scope.harvest
            statements = harvest.at(time(scope))
            said = bool(classes)
            for each in classes:
                statements.triples[subject, RDF_TYPE, each] = None
            for state in say:
                said |= state(scope, subject, statements)
            if said:
                harvest.individuals[subject] = None

        return act

    def _individual(self, name: syntax.Name) -> Callable[[Scope], Subject]:
        if name.is_constant:
            constant = self._file.resolve(name)
            return lambda scope: constant
        fill = self._iris(name)
        missing = "expected an individual's name"

        def one(scope: Scope) -> Subject:
            found = fill(scope)
            if len(found) != 1:
                raise self._not_one(scope, name.holes, missing)
            return IRI(found[0])

        return one

    def _time(self, at: syntax.Hole | None) -> Callable[[Scope], Instant]:
        if at is None:
            return lambda scope: scope.harvest.message.received
        find, read = self._texts(at), self._timeline.instant

        def time(scope: Scope) -> Instant:
            found = find(scope)
            if len(found) != 1:
                raise self._not_one(scope, (at,), "expected a time")
            try:
                return read(found[0])
            except TermError as error:
                raise self._error(scope, at, error.message, found[0]) from None

        return time

    def _property(self, values: syntax.PropertyValues, *, update: bool) -> Say:
        name = self._file.resolve(values.property)
        terms = tuple(self._value(values, value) for value in values.values)

        def say(scope: Scope, subject: Subject, statements: Statements) -> bool:
            said = False
            for find in terms:
                for term in find(scope, statements):
                    statements.triples[subject, name, term] = None
                    said = True
            if said and update:
                statements.replaces.add((subject, name))
            return said

        return say

    # Values

    def _value(self, values: syntax.PropertyValues, value: syntax.Value) -> Terms:
        match value:
            case syntax.XPathValue():
                return self._literals(values, value, self._texts(value.xpath), (value.xpath,))
            case syntax.TextValue():
                holes = tuple(nodes(value.text, syntax.Hole))
                fill = self._fill(value.text.parts, holes, lambda text: text)
                return self._literals(values, value, fill, holes)
            case syntax.Number():
                kind = datatype_of(self._file, values, value, self._schema)
                constant = (literal_maker(kind, None)(value.text),)
                return lambda scope, statements: constant
            case syntax.Name():
                return self._links(value)
            case syntax.BlankValue():
                return self._blank(value)
            case syntax.Variable():
                raise AssertionError("parse refuses ?variables in mapping rules")
        assert_never(value)

    def _literals(
        self,
        values: syntax.PropertyValues,
        value: syntax.XPathValue | syntax.TextValue,
        find: Texts,
        holes: tuple[syntax.Hole, ...],
    ) -> Terms:
        make = literal_maker(datatype_of(self._file, values, value, self._schema), value.language)

        def literals(scope: Scope, statements: Statements) -> Iterable[Term]:
            made, text = [], ""
            try:
                for text in find(scope):
                    made.append(make(text))
            except TermError as error:
                what = f"{shown(self._file, self._file.resolve(values.property))}: {error.message}"
                raise self._error(scope, holes[0], what, text) from None
            return made

        return literals

    def _links(self, name: syntax.Name) -> Terms:
        if name.is_constant:
            constant = (self._file.resolve(name),)
            return lambda scope, statements: constant
        fill = self._iris(name)
        return lambda scope, statements: [IRI(text) for text in fill(scope)]

    def _blank(self, value: syntax.BlankValue) -> Terms:
        classes = tuple(self._file.resolve(each) for each in value.classes)
        say = tuple(self._property(each, update=False) for each in value.properties)

        def blank(scope: Scope, statements: Statements) -> Iterable[Term]:
            node = scope.harvest.blank_node()
            said = [state(scope, node, statements) for state in say]
            # A node none of whose values was found says nothing.
            if say and not any(said):
                return ()
            for each in classes:
                statements.triples[node, RDF_TYPE, each] = None
            return (node,)

        return blank

    # Texts

    def _iris(self, name: syntax.Name) -> Texts:
        head = () if name.prefix is None else (self._file.prefix_map[name.prefix],)
        return self._fill((*head, *name.parts), name.holes, encode_segment)

    def _fill(
        self,
        parts: tuple[syntax.Part, ...],
        holes: tuple[syntax.Hole, ...],
        change: Callable[[str], str],
    ) -> Texts:
        """Templates: none if a hole finds nothing; several if the only hole finds several."""
        if not holes:
            constant = ["".join(part for part in parts if isinstance(part, str))]
            return lambda scope: constant
        if len(holes) == 1:
            index = next(i for i, part in enumerate(parts) if isinstance(part, syntax.Hole))
            before = "".join(part for part in parts[:index] if isinstance(part, str))
            after = "".join(part for part in parts[index + 1 :] if isinstance(part, str))
            only = self._texts(holes[0])
            return lambda scope: [f"{before}{change(text)}{after}" for text in only(scope)]
        pieces = tuple(
            part if isinstance(part, str) else (part, self._texts(part)) for part in parts
        )

        def fill(scope: Scope) -> list[str]:
            filled = []
            for piece in pieces:
                if isinstance(piece, str):
                    filled.append(piece)
                    continue
                hole, find = piece
                found = find(scope)
                if not found:
                    return []
                if len(found) > 1:
                    raise self._not_one(scope, (hole,), "expected one value beside another hole")
                filled.append(change(found[0]))
            return ["".join(filled)]

        return fill

    # XPath

    def _texts(self, hole: syntax.Hole) -> Texts:
        find, key = self._xpath(hole), hole.text
        if key not in self._shared:
            return lambda scope: texts(find(scope))

        def remembered(scope: Scope) -> list[str]:
            found = scope.found.get(key)
            if found is None:
                found = scope.found[key] = texts(find(scope))
            return found

        return remembered

    def _nodes(self, hole: syntax.Hole) -> Callable[[Scope], Sequence[Element | str]]:
        # The check saw to it that the expression finds nodes.
        return cast(Callable[[Scope], Sequence[Element | str]], self._xpath(hole))

    def _xpath(self, hole: syntax.Hole, text: str = "") -> Callable[[Scope], object]:
        evaluate = compile_xpath(text or hole.text, self._namespaces)

        def find(scope: Scope) -> object:
            try:
                return evaluate(scope.context, scope.variables)
            except etree.XPathError as error:
                what = f"not possible on this message: {error}"
                raise self._error(scope, hole, what) from None

        return find

    # Errors

    def _not_one(self, scope: Scope, holes: tuple[syntax.Hole, ...], expected: str) -> MappingError:
        for hole in holes:
            count = len(self._texts(hole)(scope))
            if count != 1:
                found = "nothing" if count == 0 else f"{count} values"
                return self._error(scope, hole, f"found {found}, {expected}")
        raise AssertionError("every hole found one value")

    def _error(self, scope: Scope, hole: syntax.Hole, what: str, found: str = "") -> MappingError:
        around = [node for node in scope.variables.values() if isinstance(node, Element)]
        nearest = around[-1] if around else scope.context
        line = line_of(hole, self._namespaces, scope.context, scope.variables, found)
        return MappingError(
            f"rule {self._rule.name}, {{{hole.text}}}, message line "
            f"{line or nearest.sourceline}: {what}",
            position=hole.position,
        )
