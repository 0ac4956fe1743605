"""Finds what the paths of all rules find in a message, in one walk over it.

Paths that begin alike share their steps, and a step is found by its name, a condition by the value
it asks for: rules for another kind of message cost nothing. After the automata of YFilter (Diao et
al., TODS 2003) and XTrie (Chan et al., VLDB Journal 2002), for paths in general.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from sensorstream.mapping.document import Element
from sensorstream.mapping.location_path import ANY, Condition, LocationPath, Lookup
from sensorstream.mapping.path_conditions import FEW, Conditions, values_at

Nodes: TypeAlias = Sequence[Element | str]


class PathIndex:
    """The paths of rules, by number."""

    __slots__ = ("_always", "_deep", "_document")

    def __init__(self, lookups: Iterable[Lookup]) -> None:
        self._document = _State()
        always: list[int] = []
        for number, lookup in enumerate(lookups):
            if not lookup.paths:
                always.append(number)
            for path in lookup.paths:
                self._add(path, number, exact=lookup.exact)
        self._always = tuple(always)
        self._document.close()
        self._deep = bool(self._document.deep.names)

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
        """The rules that may match a message, in order, with the nodes that their paths find.

        Without nodes: they are not known, but there may be some.
        """
        found: dict[_Goal, list[Element | str]] = {}
        document = self._document
        document.children.follow((root,), found)
        if self._deep:
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
            return self.by_name.setdefault(name, _State())
        if self.any is None:
            self.any = _State()
        return self.any

    def close(self) -> bool:
        """After the last path: whether there are any steps."""
        following = [*self.by_name.values(), *([self.any] if self.any else [])]
        for state in following:
            state.close()
        if len(following) > FEW or self.any is not None:
            self.names = (ANY,)
        else:
            self.names = tuple(self.by_name)
        return bool(following)

    def follow(self, nodes: Iterable[Element], found: _Found) -> None:
        """Go on at those of the nodes that a step finds; they have one of ``names``."""
        by_name, other = self.by_name, self.any
        for node in nodes:
            state = by_name.get(node.tag)
            if state is not None:
                state.enter(node, found)
            if other is not None:
                other.enter(node, found)


class _State:
    """Where paths are after some steps and conditions; a path is in one state for an element."""

    __slots__ = ("_conditions", "_goals", "_has_children", "_has_deep", "children", "deep")

    def __init__(self) -> None:
        self.children = _Steps()
        self.deep = _Steps()
        self._goals: dict[str, _Goal] = {}
        self._conditions: Conditions[_State] | None = None
        self._has_children = self._has_deep = False

    def after(self, condition: Condition) -> _State:
        """The state for elements that fulfil a condition, too."""
        if self._conditions is None:
            self._conditions = Conditions(_State)
        return self._conditions.after(condition)

    def goal(self, there: str = "") -> _Goal:
        """The end of paths here."""
        return self._goals.setdefault(there, _Goal())

    def close(self) -> None:
        """After the last path: note what there is."""
        self._has_children, self._has_deep = self.children.close(), self.deep.close()
        if self._conditions is not None:
            self._conditions.close()
            for state in self._conditions.behind():
                state.close()

    def enter(self, element: Element, found: _Found) -> None:
        """Find all that paths find from here on, at ``element`` and below it."""
        if self._goals:
            for there, goal in self._goals.items():
                if nodes := values_at(element, there) if there else (element,):
                    found.setdefault(goal, []).extend(nodes)
        if self._conditions is not None:
            for state in self._conditions.fulfilled(element):
                state.enter(element, found)
        if self._has_children:
            self.children.follow(element.iterchildren(*self.children.names), found)
        if self._has_deep:
            self.deep.follow(element.iterdescendants(*self.deep.names), found)
