"""The part of XPath's location paths that can be looked up: names, ``//``, ``*`` and comparisons.

Source: XPath 1.0, section 2. Other parts of a path are left out, so that the rest finds nodes
wherever the path does: it tells which messages a rule need not look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sensorstream.mapping.xpath import clark
from sensorstream.mapping.xpath_tree import Expression, Path, XPathLiteral, XPathOperation, parse
from sensorstream.mapping.xpath_tree import XPathStep as PathStep
from sensorstream.model.frozen import frozen

ANY: Final = "*"
TEXT: Final = "text()"


@frozen
class LocationTarget:
    """The place that a condition looks at, from an element: down ``steps``, then ``there``, which
    is ``@name`` for an attribute, ``text()`` for the texts, empty for the string value.
    """

    steps: tuple[str, ...]
    there: str = ""


@frozen
class PathCondition:
    """Something at a place must be ``value``; None: there must be something."""

    place: LocationTarget
    value: str | None


@frozen
class ChildStep:
    """A child with this name, in lxml's notation (``*``: any); ``deep``: a descendant."""

    name: str
    deep: bool
    conditions: tuple[PathCondition, ...] = ()


@frozen
class LocationPath:
    """Steps from the document, then ``@name``, ``text()`` or (empty) the elements themselves."""

    steps: tuple[ChildStep, ...]
    there: str = ""


_SELF: Final = LocationTarget(())


@frozen
class Lookup:
    """The part of a path that can be looked up.

    If the path finds a node, one of ``paths`` does. ``left_out`` is the first part of the path that
    they lack; empty: the only path finds exactly the same nodes. Without ``paths`` every message
    must be looked at.
    """

    paths: tuple[LocationPath, ...]
    left_out: str = ""

    @property
    def exact(self) -> bool:
        return not self.left_out


EVERY_MESSAGE: Final = Lookup((), "/")
"""The lookup of what every message may match."""


def lookup_of(path: str, namespaces: Mapping[str, str]) -> Lookup:
    """The part of a node-finding XPath that can be looked up; its context is the root element."""
    tree = parse(path)
    if tree is None:
        return Lookup((), path)
    reader = _Reader(path, namespaces)
    if isinstance(tree, XPathOperation) and "|" in tree.operators:
        return any_of([reader.read(each) for each in tree.operands], path)
    return reader.read(tree)


def any_of(lookups: Sequence[Lookup], left_out: str) -> Lookup:
    """The lookup for alternatives, any of which may match; ``left_out`` is a reason, not empty."""
    if not all(each.paths for each in lookups):
        return Lookup((), left_out)
    return Lookup(tuple(path for each in lookups for path in each.paths), left_out)


def only_root(lookup: Lookup) -> Lookup:
    """The same for the root element alone, without conditions."""
    roots = tuple(
        LocationPath((ChildStep(path.steps[0].name, path.steps[0].deep),)) for path in lookup.paths
    )
    return Lookup(roots, "all but the root element")


_LONGEST: Final = 100
"""More steps are not looked up: they would need a deep stack, and tell no message apart."""


class _Reader:
    """A reader of the alternatives of a path, as far as they can be looked up."""

    def __init__(self, text: str, namespaces: Mapping[str, str]) -> None:
        self._text = text
        self._namespaces = namespaces
        self._left_out = ""

    def read(self, tree: Expression) -> Lookup:
        self._left_out = ""
        if not isinstance(tree, Path) or tree.origin is not None:
            return Lookup((), self._text)
        # A relative path begins at the root element.
        steps = [] if tree.absolute else [ChildStep(ANY, deep=False)]
        first = 1 if not tree.absolute and tree.steps[0].written == "." else 0
        there = ""
        for index, each in enumerate(tree.steps[first:], first):
            # The attributes and texts of `//@a` are those of the element before it, too.
            if each is tree.steps[-1] and not (each.deep and steps):
                there = self._value(each)
            step = None if there else self._step(each)
            if len(steps) == _LONGEST or (step is None and not there):
                self._leave_out(each.start, tree.end)
                if index == 0:
                    return Lookup((), self._text)
                break
            if step is not None:
                steps.append(step)
            elif each.deep:
                steps.append(ChildStep(ANY, deep=True))
        if not steps:
            return Lookup((), self._text)
        return Lookup((LocationPath(tuple(steps), there),), self._left_out)

    def _step(self, step: PathStep) -> ChildStep | None:
        name = ANY if step.test == ANY else self._name(step.test)
        if step.axis != "child" or name is None:
            return None
        conditions: dict[PathCondition, None] = {}
        for predicate in step.predicates:
            conditions |= dict.fromkeys(self._predicate(predicate))
        # Rules with the same conditions share them: their order has no meaning.
        return ChildStep(name, step.deep, tuple(sorted(conditions, key=_order)))

    def _value(self, step: PathStep) -> str:
        """``@name`` or ``text()``; empty if it is something else."""
        if step.axis == "attribute" and not step.predicates:
            name = self._name(step.test)
            return "" if name is None else f"@{name}"
        return TEXT if (step.axis, step.test, step.predicates) == ("child", TEXT, ()) else ""

    def _predicate(self, predicate: Expression) -> Iterator[PathCondition]:
        parts: tuple[Expression, ...] = (predicate,)
        if isinstance(predicate, XPathOperation) and "and" in predicate.operators:
            parts = predicate.operands
        for part in parts:
            condition = self._condition(part)
            if condition is None:
                self._leave_out(part.start, part.end)
            else:
                yield condition

    def _condition(self, tree: Expression) -> PathCondition | None:
        match tree:
            case (
                XPathOperation(operators=("=",), operands=(other, XPathLiteral(text=text)))
                | XPathOperation(operators=("=",), operands=(XPathLiteral(text=text), other))
            ):
                place = self._place(other)
                return None if place is None else PathCondition(place, text)
        place = self._place(tree)
        return None if place is None or place == _SELF else PathCondition(place, None)

    def _place(self, tree: Expression) -> LocationTarget | None:
        if not isinstance(tree, Path) or tree.origin is not None or tree.absolute:
            return None
        if [each.written for each in tree.steps] == ["."]:
            return _SELF
        steps: list[str] = []
        for each in tree.steps:
            if each.deep or each.predicates:
                return None
            if each is tree.steps[-1] and (there := self._value(each)):
                return LocationTarget(tuple(steps), there)
            name = self._name(each.test)
            if each.axis != "child" or name is None:
                return None
            steps.append(name)
        return LocationTarget(tuple(steps))

    def _name(self, test: str) -> str | None:
        """A name in lxml's notation; None for another test, or a prefix that is not declared."""
        prefix, colon, _ = test.partition(":")
        if test.endswith(("*", ")")) or (
            colon and prefix != "xml" and prefix not in self._namespaces
        ):
            return None
        return clark(test, self._namespaces)

    def _leave_out(self, start: int, end: int) -> None:
        self._left_out = self._left_out or self._text[start:end]


def _order(condition: PathCondition) -> tuple[bool, tuple[str, ...], str, str]:
    """A sort key that puts comparisons first: they tell most rules apart."""
    place = condition.place
    return condition.value is None, place.steps, place.there, condition.value or ""
