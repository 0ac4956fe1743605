"""From a changed triple to the operators it concerns; O(1) in the number of queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sensorstream.kb.index import TripleIndex
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.network.node import Node
from sensorstream.network.rows import Row

Fire: TypeAlias = Callable[[Subject, IRI, Term, list[Row]], None]
"""Add to the rows what a triple, that the index holds, makes together with the others."""
Wake: TypeAlias = Callable[[Node], None]
_Key: TypeAlias = tuple[Term | None, Term | None]


class Dispatcher:
    """Watches one index for a network; ``wake`` is told of operators that have a change."""

    __slots__ = ("_followers", "_index", "_keys", "_triggers", "_wake")

    def __init__(self, index: TripleIndex, wake: Wake) -> None:
        self._index = index
        self._wake = wake
        self._triggers: dict[_Key, dict[Node, list[Fire]]] = {}
        self._keys: dict[Node, set[_Key]] = {}
        self._followers: dict[Node, None] = {}
        index.watchers.append(self)

    def subscribe(
        self, node: Node, predicate: Term | None, object_: Term | None, fire: Fire
    ) -> None:
        """Fire at every triple with this predicate and object; None stands for any."""
        key = (predicate, object_) if predicate is not None else (None, None)
        self._triggers.setdefault(key, {}).setdefault(node, []).append(fire)
        self._keys.setdefault(node, set()).add(key)

    def follow(self, node: Node) -> None:
        """Wake an operator at every change; it finds out by itself what it means."""
        self._followers[node] = None

    def forget(self, node: Node) -> None:
        """Fire nothing more for an operator."""
        for key in self._keys.pop(node, ()):
            del self._triggers[key][node]
            if not self._triggers[key]:
                del self._triggers[key]
        self._followers.pop(node, None)

    def close(self) -> None:
        """Watch no longer."""
        self._index.watchers.remove(self)

    def added(self, triple: Triple) -> None:
        """See :class:`~sensorstream.kb.index.Watcher`."""
        subject, predicate, object_ = triple
        for key in ((predicate, object_), (predicate, None), (None, None)):
            for node, fires in self._triggers.get(key, {}).items():
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
        for key in ((predicate, object_), (predicate, None), (None, None)):
            for node, fires in self._triggers.get(key, {}).items():
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
