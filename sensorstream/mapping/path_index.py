"""An index of the paths of all rules, which finds their nodes in a message in one walk.

Paths that begin alike share their steps, and a step is found by its name, a condition by the value
it asks for: rules for another kind of message cost nothing. After the automata of YFilter (Diao et
al., TODS 2003) and XTrie (Chan et al., VLDB Journal 2002), for paths in general.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, cast

from sensorstream.mapping.location_path import ANY, TEXT, LocationPath, Lookup, PathCondition
from sensorstream.mapping.xml_document import FEW, Element

Nodes: TypeAlias = Sequence[Element | str]


class PathIndex:
    """The paths of rules, by number."""

    __slots__ = ("_always", "_document")

    def __init__(self, lookups: Iterable[Lookup]) -> None:
        self._document = _State()
        always: list[int] = []
        for number, lookup in enumerate(lookups):
            if not lookup.paths:
                always.append(number)
            for path in lookup.paths:
                self._add(path, number, exact=lookup.exact)
        self._always = tuple(always)

    def _add(self, path: LocationPath, number: int, *, exact: bool) -> None:
        state = self._document
        for index, step in enumerate(path.steps, 1):
            state = (state.deep if step.deep else state.children).to(step.name)
            for condition in step.conditions:
                state = state.after(condition)
            if step.deep and index < len(path.steps):
                # Elements below one another would be found twice, and out of order.
                state.goal().gates.append(number)
                return
        goal = state.goal(path.there if exact else "")
        (goal.exact if exact else goal.gates).append(number)

    def find(self, root: Element) -> list[tuple[int, Nodes | None]]:
        """The rules that may match a message, in order, with the nodes that their paths find; None:
        the nodes are not known, but there may be some.
        """
        found: dict[_Goal, list[Element | str]] = {}
        document = self._document
        document.children.follow((root,), found)
        if document.deep.names:
            document.deep.follow(root.iter(*document.deep.names), found)
        if not found:
            return [(number, None) for number in self._always]
        if len(found) == 1 and not self._always:
            ((goal, nodes),) = found.items()
            if len(goal.exact) == 1 and not goal.gates:
                return [(goal.exact[0], nodes)]
        rules: dict[int, Nodes | None] = dict.fromkeys(self._always)
        for goal, nodes in found.items():
            for number in goal.exact:
                rules[number] = nodes
            for number in goal.gates:
                rules[number] = None
        return sorted(rules.items()) if len(rules) > 1 else list(rules.items())


class _Goal:
    """The end of paths: the rules that need its nodes, and those that need to know of them."""

    __slots__ = ("exact", "gates")

    def __init__(self) -> None:
        self.exact: list[int] = []
        self.gates: list[int] = []


_Found: TypeAlias = dict[_Goal, list[Element | str]]


class _Steps:
    """The next steps from a state, children or descendants."""

    __slots__ = ("any", "by_name", "names")

    def __init__(self) -> None:
        self.by_name: dict[str, _State] = {}
        self.any: _State | None = None
        self.names: tuple[str, ...] = ()

    def to(self, name: str) -> _State:
        if name != ANY:
            state = self.by_name.setdefault(name, _State())
        else:
            state = self.any = self.any or _State()
        many = self.any is not None or len(self.by_name) > FEW
        self.names = (ANY,) if many else tuple(self.by_name)
        return state

    def follow(self, nodes: Iterable[Element], found: _Found) -> None:
        """Go on at the nodes that a step finds; with :data:`ANY` all are elements."""
        by_name, other = self.by_name, self.any
        for node in nodes:
            state = by_name.get(node.tag)
            if state is not None:
                state.enter(node, found)
            if other is not None:
                other.enter(node, found)


class _State:
    """The state of paths after some steps and conditions; a path is in one state for an element."""

    __slots__ = ("_conditions", "_goals", "children", "deep")

    def __init__(self) -> None:
        self.children = _Steps()
        self.deep = _Steps()
        self._goals: dict[str, _Goal] = {}
        self._conditions: _Conditions | None = None

    def after(self, condition: PathCondition) -> _State:
        """The state for elements that also fulfil a condition."""
        if self._conditions is None:
            self._conditions = _Conditions()
        return self._conditions.after(condition)

    def goal(self, there: str = "") -> _Goal:
        """The end of paths here."""
        return self._goals.setdefault(there, _Goal())

    def enter(self, element: Element, found: _Found) -> None:
        """Find the nodes of all paths from here on, at ``element`` and below it."""
        if self._goals:
            for there, goal in self._goals.items():
                if nodes := _values_at(element, there) if there else (element,):
                    found.setdefault(goal, []).extend(nodes)
        if self._conditions is not None:
            for state in self._conditions.fulfilled(element):
                state.enter(element, found)
        if names := self.children.names:
            few = len(element) <= FEW and names[0] != ANY
            self.children.follow(element if few else element.iterchildren(*names), found)
        if names := self.deep.names:
            self.deep.follow(element.iterdescendants(*names), found)


# Conditions on an element, looked up by place and value


class _Place:
    """The conditions on the values of one place."""

    __slots__ = ("by_value", "longest", "present")

    def __init__(self) -> None:
        self.present: _State | None = None
        self.by_value: dict[str, _State] = {}
        self.longest = 0

    def collect(self, value: str, fulfilled: dict[_State, None]) -> None:
        if (state := self.by_value.get(value)) is not None:
            fulfilled[state] = None
        if self.present is not None:
            fulfilled[self.present] = None


class _Conditions:
    """The conditions on an element, and the states behind them."""

    __slots__ = ("_attributes", "_children", "_names", "_own", "_texts")

    def __init__(self) -> None:
        self._attributes: dict[str, _Place] = {}
        self._own: _Place | None = None
        self._texts: _Place | None = None
        self._children: dict[str, _Conditions] = {}
        self._names: tuple[str, ...] = ()

    def after(self, condition: PathCondition) -> _State:
        """The state behind a condition."""
        return self._after(condition.place.steps, condition.place.there, condition.value)

    def _after(self, steps: Sequence[str], there: str, value: str | None) -> _State:
        if steps:
            child = self._children.setdefault(steps[0], _Conditions())
            self._names = tuple(self._children) if len(self._children) <= FEW else (ANY,)
            return child._after(steps[1:], there, value)  # noqa: SLF001
        if there == TEXT:
            place = self._texts = self._texts or _Place()
        elif there:
            place = self._attributes.setdefault(there.removeprefix("@"), _Place())
        else:
            place = self._own = self._own or _Place()
        if value is not None:
            place.longest = max(place.longest, len(value))
            return place.by_value.setdefault(value, _State())
        if place.present is None:
            place.present = _State()
        return place.present

    def fulfilled(self, element: Element) -> dict[_State, None]:
        """The states behind the conditions that an element fulfils, each once."""
        found: dict[_State, None] = {}
        self._collect(element, found)
        return found

    def _collect(self, element: Element, found: dict[_State, None]) -> None:
        attributes = self._attributes
        if len(attributes) <= FEW:
            for name, place in attributes.items():
                if (value := element.get(name)) is not None:
                    place.collect(value, found)
        else:
            for name, value in cast(list[tuple[str, str]], element.items()):
                if (known := attributes.get(name)) is not None:
                    known.collect(value, found)
        if (own := self._own) is not None:
            own.collect(_string_value(element, own.longest), found)
        if (texts := self._texts) is not None:
            for text in _values_at(element, TEXT):
                texts.collect(text, found)
        if self._children:
            for child in element.iterchildren(*self._names):
                if (conditions := self._children.get(child.tag)) is not None:
                    conditions._collect(child, found)  # noqa: SLF001


def _values_at(element: Element, there: str) -> Sequence[str]:
    """The attribute ``@name``, or for ``text()`` the texts of an element."""
    if there != TEXT:
        value = element.get(there.removeprefix("@"))
        return () if value is None else (value,)
    texts = [element.text, *(child.tail for child in element)]
    return [text for text in texts if text]


def _string_value(element: Element, longest: int) -> str:
    """The string value (XPath 1.0, section 5.2), or the beginning if it is longer than that."""
    if len(element) == 0:
        return element.text or ""
    parts: list[str] = []
    left = longest
    for text in cast(Iterator[str], element.itertext()):
        parts.append(text)
        left -= len(text)
        if left < 0:
            break
    return "".join(parts)
