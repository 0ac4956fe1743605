"""From a changed triple to the operators it concerns; O(1) in the number of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias

from sensorstream.kb.index import Index, Watcher
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.network.node import Node
from sensorstream.network.rows import Row

Fire: TypeAlias = Callable[[Subject, IRI, Term, list[Row]], None]
"""Add to the rows what a triple, that the index holds, makes together with the others."""
Wake: TypeAlias = Callable[[Node], None]
_Key: TypeAlias = tuple[Term | None, Term | None]


Guard: TypeAlias = tuple[IRI, Term]
"""A property and value that the subject of a triple must have for anything to come of it."""
_Concerned: TypeAlias = dict[Node, list[Fire]]


class Watched(Protocol):
    """A graph, window or stream that tells its watchers of every change."""

    @property
    def spo(self) -> Index[Subject, IRI, Term]:
        """At least its triples, by subject."""

    @property
    def watchers(self) -> list[Watcher]:
        """Who is told."""


class _Triggers:
    """What fires at a kind of triple: always, or by what else is said of the subject."""

    __slots__ = ("always", "guarded")

    def __init__(self) -> None:
        self.always: _Concerned = {}
        self.guarded: dict[IRI, dict[Term, _Concerned]] = {}

    def at(self, guard: Guard | None) -> _Concerned:
        if guard is None:
            return self.always
        return self.guarded.setdefault(guard[0], {}).setdefault(guard[1], {})

    def forget(self, guard: Guard | None, node: Node) -> bool:
        """Whether nothing fires here any more."""
        concerned = self.at(guard)
        concerned.pop(node, None)
        if guard is not None and not concerned:
            del self.guarded[guard[0]][guard[1]]
            if not self.guarded[guard[0]]:
                del self.guarded[guard[0]]
        return not self.always and not self.guarded


class Dispatcher:
    """Watches one index for a network; ``wake`` is told of operators that have a change."""

    __slots__ = ("_followers", "_index", "_keys", "_triggers", "_wake")

    def __init__(self, index: Watched, wake: Wake) -> None:
        self._index = index
        self._wake = wake
        self._triggers: dict[_Key, _Triggers] = {}
        self._keys: dict[Node, set[tuple[_Key, Guard | None]]] = {}
        self._followers: dict[Node, None] = {}
        index.watchers.append(self)

    def subscribe(
        self,
        node: Node,
        predicate: Term | None,
        object_: Term | None,
        fire: Fire,
        guard: Guard | None = None,
    ) -> None:
        """Fire at every triple with this predicate and object; None stands for any.

        With a guard, only where the triple's subject has that property with that value: of many
        queries that differ in a constant, those with another one cost nothing.
        """
        key = (predicate, object_) if predicate is not None else (None, None)
        triggers = self._triggers.setdefault(key, _Triggers())
        triggers.at(guard).setdefault(node, []).append(fire)
        self._keys.setdefault(node, set()).add((key, guard))

    def follow(self, node: Node) -> None:
        """Wake an operator at every change; it finds out by itself what it means."""
        self._followers[node] = None

    def forget(self, node: Node) -> None:
        """Fire nothing more for an operator."""
        for key, guard in self._keys.pop(node, ()):
            if self._triggers[key].forget(guard, node):
                del self._triggers[key]
        self._followers.pop(node, None)

    def close(self) -> None:
        """Watch no longer."""
        self._index.watchers.remove(self)

    def added(self, triple: Triple) -> None:
        """See :class:`~sensorstream.kb.index.Watcher`."""
        subject, predicate, object_ = triple
        for concerned in self._concerned(triple):
            for node, fires in concerned.items():
                try:
                    for fire in fires:
                        fire(subject, predicate, object_, node.added)
                except Exception as error:
                    # Whoever changes the index is not to blame, and must come to its end.
                    node.fault = error
                if (node.added or node.fault) and not node.queued:
                    self._wake(node)
        for node in self._followers:
            if not node.queued:
                self._wake(node)

    def removed(self, triple: Triple) -> None:
        """See :class:`~sensorstream.kb.index.Watcher`."""
        subject, predicate, object_ = triple
        for concerned in self._concerned(triple):
            for node, fires in concerned.items():
                try:
                    for fire in fires:
                        fire(subject, predicate, object_, node.removed)
                except Exception as error:
                    node.fault = error
                if (node.removed or node.fault) and not node.queued:
                    self._wake(node)
        for node in self._followers:
            if not node.queued:
                self._wake(node)

    def _concerned(self, triple: Triple) -> list[_Concerned]:
        subject, predicate, object_ = triple
        found: list[_Concerned] = []
        for key in ((predicate, object_), (predicate, None), (None, None)):
            triggers = self._triggers.get(key)
            if triggers is None:
                continue
            if triggers.always:
                found.append(triggers.always)
            for property, by_value in triggers.guarded.items():
                values = self._index.spo[subject].get(property)
                if not values:
                    continue
                fewer: Iterable[Term] = values if len(values) <= len(by_value) else by_value
                found += [by_value[each] for each in fewer if each in by_value and each in values]
        return found
