"""The compiler of holes and templates to closures that return texts and report results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar, cast

from lxml import etree

from sensorstream.errors import InvalidValue, MappingError, Position, TermError
from sensorstream.language import syntax
from sensorstream.language.rule_printer import print_hole
from sensorstream.language.syntax import Hole
from sensorstream.mapping.functions.function_definition import Library
from sensorstream.mapping.functions.function_registry import compile_calls
from sensorstream.mapping.mapping_plan import Texts, Turn
from sensorstream.mapping.moved_paths import ROOT, at_part
from sensorstream.mapping.xml_document import Element
from sensorstream.mapping.xpath import (
    Bound,
    attribute_texts,
    compile_xpath,
    evaluated,
    line_of,
    texts,
)
from sensorstream.model.terms import Subject, Triple
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.sparql.walk import nodes

_Found = TypeVar("_Found")


class ExpressionRecorder:
    """A listener that is called for every evaluated expression; by default it does nothing."""

    def selected(self, rule: str, hole: Hole, turn: Turn, count: int) -> None:
        """``on message`` or ``for each`` found so many nodes."""

    def tested(self, rule: str, hole: Hole, turn: Turn, held: bool) -> None:
        """A condition held, or did not."""

    def produced(self, rule: str, hole: Hole, turn: Turn, values: Sequence[str]) -> None:
        """A hole returned values, after its value functions."""

    def named(self, rule: str, name: Subject, holes: Sequence[Hole], turn: Turn) -> None:
        """An individual got its name from some holes; statements about it follow."""

    def stated(self, rule: str, triple: Triple, holes: Sequence[Hole], turn: Turn) -> None:
        """A property got a value from some holes; none: the rule itself has the value."""


class HoleCompiler:
    """A compiler of the holes of one rule, or of one map of RML; its methods return closures."""

    def __init__(
        self,
        rule: str,
        namespaces: Mapping[str, str],
        library: Library,
        placed: Callable[[str], str],
        produced: Callable[[Hole, Turn, Sequence[str]], None] | None = None,
    ) -> None:
        """Prepare the compiler; ``placed`` returns the expression with the same meaning at its
        place of evaluation, ``produced`` is called with the values of each hole, if it is given.
        """
        self._name = rule
        self._produced = produced
        self._namespaces = namespaces
        self._library = library
        self._placed = placed

    def xpath(self, hole: syntax.Hole, text: str = "") -> Callable[[Turn], object]:
        """The result of the XPath, without the value functions."""
        evaluate = compile_xpath(self._placed(text or hole.text), self._namespaces)

        def find(turn: Turn) -> object:
            try:
                return evaluate(turn.context, turn.variables)
            except etree.XPathError as error:
                raise self.error(turn, hole, f"not possible on this message: {error}") from None

        return find

    def texts(self, hole: syntax.Hole, *, valid: bool = False) -> Texts:
        """The values of a hole, after its value functions. With ``valid``, here and below, an
        invalid value is left out and not refused.
        """
        find, produced = self.found(hole, valid=valid), self._produced
        if produced is None:
            return find
        return told(find, lambda turn, found: produced(hole, turn, found))

    def found(self, hole: syntax.Hole, *, valid: bool = False) -> Texts:
        """The values as :meth:`texts`, without reporting them."""
        evaluate = self.xpath(hole)
        variable, short = attribute_texts(self._placed(hole.text), self._namespaces)

        def find(turn: Turn) -> list[str]:
            if short is not None:
                node = turn.context if variable is None else turn.variables[variable]
                if isinstance(node, Element):
                    return short(node)
            return texts(evaluate(turn))

        return self.called(hole, find, hole.calls, valid=valid) if hole.calls else find

    def called(
        self, hole: syntax.Hole, find: Texts, calls: Sequence[syntax.ValueCall], *, valid: bool
    ) -> Texts:
        """Texts after value functions; ``hole`` is where the message has them."""
        change = compile_calls(calls, self._library, valid=valid)

        def called(turn: Turn) -> list[str]:
            found = find(turn)
            try:
                return change(found)
            except TermError as error:
                invalid = _first_invalid(change, found)
                raise self.error(turn, hole, error.message, invalid, InvalidValue) from None

        return called

    def time(self, at: syntax.Hole | None, timeline: Timeline) -> Callable[[Turn], Instant]:
        """The time that a hole finds; without one, that of the message's arrival."""
        if at is None:
            return lambda turn: turn.harvest.message.received
        find, read = self.texts(at), timeline.instant

        def instant(turn: Turn) -> Instant:
            found = find(turn)
            if len(found) != 1:
                raise self.not_one(turn, at, found, "expected a time")
            try:
                return read(found[0])
            except TermError as error:
                raise self.error(turn, at, error.message, found[0]) from None

        return instant

    # Errors

    def not_one(
        self, turn: Turn, hole: syntax.Hole, values: Sequence[object], expected: str
    ) -> MappingError:
        """The error of a hole that did not find exactly one value."""
        found = f"{len(values)} values" if values else "nothing"
        return self.error(turn, hole, f"found {found}, {expected}")

    def error(
        self,
        turn: Turn,
        hole: syntax.Hole,
        what: str,
        found: str = "",
        kind: type[MappingError] = MappingError,
    ) -> MappingError:
        """An error at the place in the message that a hole found (at ``found``, if several)."""
        line = line_of(
            self._placed(hole.text), self._namespaces, turn.context, turn.variables, found
        )
        return self.error_at(turn, hole.position, print_hole(hole), what, line, kind)

    def error_at(
        self,
        turn: Turn,
        position: Position,
        written: str,
        what: str,
        line: int | None = None,
        kind: type[MappingError] = MappingError,
    ) -> MappingError:
        """An error of the message, for a part of the rule."""
        around = [
            node
            for name, node in turn.variables.items()
            if name != ROOT and isinstance(node, Element)
        ]
        nearest = around[-1] if around else turn.context
        return kind(
            f"rule {self._name}, {written}, message line {line or nearest.sourceline}: {what}",
            position=position,
        )


class MappingExpressions(HoleCompiler):
    """A compiler of the expressions of one rule; its methods return closures."""

    def __init__(
        self,
        file: syntax.RuleFile,
        rule: syntax.MappingRule,
        library: Library,
        recorder: ExpressionRecorder | None,
        in_parts: bool,
    ) -> None:
        # A message may be a part of a document.
        super().__init__(
            rule.name,
            file.namespace_map,
            library,
            at_part if in_parts else str,
            None if recorder is None else partial(recorder.produced, rule.name),
        )
        self._file = file
        self._rule = rule
        self._recorder = recorder
        uses = Counter(nodes(rule.actions, syntax.Hole))
        self._lets = {let.variable for let in rule.lets}
        self._shared = {hole for hole, count in uses.items() if count > 1}

    @property
    def stated(self) -> Callable[[Triple, Sequence[syntax.Hole], Turn], None] | None:
        """The reporter of a statement and the holes of its value; None: nobody wants to know."""
        recorder, rule = self._recorder, self._rule.name
        return None if recorder is None else partial(recorder.stated, rule)

    @property
    def named(self) -> Callable[[Subject, Sequence[syntax.Hole], Turn], None] | None:
        """The reporter of an individual's name and its holes; None: nobody wants to know."""
        recorder, rule = self._recorder, self._rule.name
        return None if recorder is None else partial(recorder.named, rule)

    # XPath

    def nodes(self, hole: syntax.Hole) -> Callable[[Turn], Sequence[Element | str]]:
        """The nodes that a path finds."""
        # The check has verified that the expression finds nodes.
        find = cast(Callable[[Turn], Sequence[Element | str]], self.xpath(hole))
        recorder, rule = self._recorder, self._rule.name
        if recorder is None:
            return self._once(hole, find)
        return told(find, lambda turn, found: recorder.selected(rule, hole, turn, len(found)))

    def condition(self, hole: syntax.Hole) -> Callable[[Turn], object]:
        """Whether an XPath is true, or its value functions return any value."""
        test: Callable[[Turn], object] = (
            self.found(hole) if hole.calls else self.xpath(hole, f"boolean({hole.text})")
        )
        recorder, rule = self._recorder, self._rule.name
        if recorder is None:
            return self._once(hole, test)
        return told(test, lambda turn, held: recorder.tested(rule, hole, turn, bool(held)))

    def _once(
        self, hole: syntax.Hole, find: Callable[[Turn], _Found], key: object = None
    ) -> Callable[[Turn], _Found]:
        """The same function, evaluated once for all turns of the rule's loops if its result does
        not depend on them. Otherwise a rule for thousands of elements would look at all of them
        each time.
        """
        if not self._is_fixed(hole):
            return find
        key = key or object()

        def once(turn: Turn) -> _Found:
            fixed = turn.fixed
            if key not in fixed:
                fixed[key] = find(turn)
            found: _Found = fixed[key]
            return found

        return once

    def _is_fixed(self, hole: syntax.Hole) -> bool:
        if not self._rule.for_each or self._recorder is not None:
            return False
        return "$" not in hole.text

    def value(self, let: syntax.Let) -> Callable[[Turn], Bound]:
        """The value of a variable, as XPath has it: nodes, text, number or boolean. Texts of
        attributes and of value functions are nodes too, so that there may be any number.
        """
        hole = let.value
        find = self.found(hole) if hole.calls else self.xpath(hole)
        produced = self._produced

        def bound(turn: Turn) -> Bound:
            found = cast("Bound | list[Element | str]", find(turn))
            if produced is not None:
                produced(hole, turn, texts(found))
            if not isinstance(found, list | tuple):
                return found
            try:
                return [each if isinstance(each, Element) else _node(each) for each in found]
            except ValueError as error:
                raise self.error(turn, hole, f"cannot be a value of XPath: {error}") from None

        return self._once(hole, bound)

    # Texts

    def texts(self, hole: syntax.Hole, *, valid: bool = False) -> Texts:
        find = super().texts(hole, valid=valid)
        # A string caches its hash.
        key = print_hole(hole) + (" if valid" if valid else "")
        if self._is_fixed(hole):
            return self._once(hole, find, key)
        if hole not in self._shared:
            return find

        def remembered(turn: Turn) -> list[str]:
            found = turn.found.get(key)
            if found is None:
                found = turn.found[key] = find(turn)
            return found

        return remembered

    def found(self, hole: syntax.Hole, *, valid: bool = False) -> Texts:
        variable = hole.text[1:]
        if hole.text.startswith("$") and variable in self._lets and not hole.calls:
            return lambda turn: texts(turn.variables[variable])
        return super().found(hole, valid=valid)

    def first_not_one(
        self, turn: Turn, holes: Sequence[syntax.Hole], expected: str
    ) -> MappingError:
        """The error of the first of some holes that did not find exactly one value."""
        for hole in holes:
            found = self.found(hole)(turn)
            if len(found) != 1:
                return self.not_one(turn, hole, found, expected)
        raise AssertionError("every hole found one value")


def told(
    find: Callable[[Turn], _Found], tell: Callable[[Turn, _Found], None]
) -> Callable[[Turn], _Found]:
    """The same function, which also reports its results."""

    def find_and_tell(turn: Turn) -> _Found:
        found = find(turn)
        tell(turn, found)
        return found

    return find_and_tell


def _node(text: str) -> Element:
    """An element with a text, which represents it in a list of nodes."""
    element = etree.Element("value")
    element.text = text
    return element


def _first_invalid(change: Callable[[list[str]], list[str]], found: Sequence[str]) -> str:
    for text in found:
        try:
            change([text])
        except TermError:
            return text
    return ""


def read_again(text: str, namespaces: Mapping[str, str], turn: Turn) -> object:
    """The :func:`.evaluated` result of a path of a rule."""
    placed = at_part(text) if ROOT in turn.variables else text
    return evaluated(placed, namespaces, turn.context, turn.variables)
