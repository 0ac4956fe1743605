"""A router of changed triples to the operators that they concern; O(1) in the number of queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from sensorstream.kb.triple_index import Index, Watcher
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.network.budget import EngineLoad
from sensorstream.network.graph_components import prune
from sensorstream.network.node import Node
from sensorstream.network.rows import Row

Fire: TypeAlias = Callable[[Sequence[Triple], list[Row]], None]
"""Adds the rows that triples of a kind make, each together with those of other kinds."""
Wake: TypeAlias = Callable[[Node], None]

Guard: TypeAlias = tuple[IRI, Term] | Term
"""The subject a triple must have, or the property and value its subject must have, to fire."""
_Concerned: TypeAlias = dict[Node, list[Fire]]
_Key: TypeAlias = tuple[Term | None, Term | None, Guard | None]


class Watched(Protocol):
    """A graph, window or stream that tells its watchers of every change."""

    @property
    def spo(self) -> Index[Subject, IRI, Term]:
        """An index of its triples by subject, perhaps of others too."""

    @property
    def watchers(self) -> list[Watcher]:
        """The watchers, in the order they are called."""

    def read(self, predicate: Term | None, object_: Term | None) -> None:
        """Begin to tell watchers of triples with this predicate and object (None: any)."""

    def unread(self, predicate: Term | None, object_: Term | None) -> None:
        """Stop one reading that :meth:`read` began."""


class _Triggers:
    """Functions to fire at a kind of triple: always, by its subject, or by a value of that."""

    __slots__ = ("always", "by_subject", "guarded")

    def __init__(self) -> None:
        self.always: _Concerned = {}
        self.by_subject: dict[Term, _Concerned] = {}
        self.guarded: dict[IRI, dict[Term, _Concerned]] = {}

    def at(self, guard: Guard | None) -> _Concerned:
        if guard is None:
            return self.always
        if not isinstance(guard, tuple):
            return self.by_subject.setdefault(guard, {})
        return self.guarded.setdefault(guard[0], {}).setdefault(guard[1], {})

    def forget(self, guard: Guard | None, node: Node) -> bool:
        """Remove an operator; returns whether nothing fires here any more."""
        concerned = self.at(guard)
        concerned.pop(node, None)
        if guard is not None and not concerned:
            if isinstance(guard, tuple):
                prune(self.guarded, *guard)
            else:
                del self.by_subject[guard]
        return not self.always and not self.by_subject and not self.guarded


class Dispatcher:
    """Watches one index for a network, and calls ``wake`` for operators that have a change.

    The time they take is added to ``load``.
    """

    def __init__(self, index: Watched, wake: Wake, load: EngineLoad) -> None:
        self._index = index
        self._wake = wake
        self._load = load
        # By predicate and object; None stands for any object.
        self._triggers: dict[Term, dict[Term | None, _Triggers]] = {}
        self._anything: _Triggers | None = None
        self._keys: dict[Node, set[_Key]] = {}
        self._followers: dict[Node, None] = {}
        self.joined: dict[Term | None, dict[Node, None]] = {}
        """The operators of which two patterns may have triples of a kind, by property."""
        index.watchers.append(self)

    def subscribe(
        self,
        node: Node,
        predicate: Term | None,
        object_: Term | None,
        fire: Fire,
        guard: Guard | None = None,
    ) -> None:
        """Fire at every triple with this predicate and object (None: any).

        With a guard, only where the subject of the triple fits it: among many queries that differ
        in a constant, only those with the constant of the triple cost something.
        """
        if predicate is None:
            object_ = None
            triggers = self._anything = self._anything or _Triggers()
        else:
            by_object = self._triggers.setdefault(predicate, {})
            triggers = by_object.setdefault(object_, _Triggers())
        triggers.at(guard).setdefault(node, []).append(fire)
        keys = self._keys.setdefault(node, set())
        for other, value, _ in keys:
            if None in (predicate, other) or (
                predicate == other
                and (other != rdf.TYPE or value in (None, object_) or not object_)
            ):
                self.joined.setdefault(predicate or other, {})[node] = None
        if (predicate, object_, guard) not in keys:
            keys.add((predicate, object_, guard))
            self._index.read(predicate, object_)

    def follow(self, node: Node) -> None:
        """Wake an operator at every change, whatever the triple."""
        self._followers[node] = None
        self._index.read(None, None)

    def forget(self, node: Node) -> None:
        """Remove all triggers of an operator."""
        for predicate, object_, guard in self._keys.pop(node, ()):
            self._index.unread(predicate, object_)
            if predicate is None:
                if self._anything is not None and self._anything.forget(guard, node):
                    self._anything = None
                continue
            if self._triggers[predicate][object_].forget(guard, node):
                prune(self._triggers, predicate, object_)
        for kind in [kind for kind, joining in self.joined.items() if node in joining]:
            prune(self.joined, kind, node)
        if node in self._followers:
            del self._followers[node]
            self._index.unread(None, None)

    @property
    def idle(self) -> bool:
        return not self._keys and not self._followers

    def close(self) -> None:
        self._index.watchers.remove(self)

    def changed(self, triples: Sequence[Triple], comes: bool) -> None:
        _, predicate, value = triples[0]
        by_object = self._triggers.get(predicate)
        if by_object is not None:
            if len(triples) == 1 or predicate == rdf.TYPE:
                if value in by_object:
                    self._fire(by_object[value], triples, comes)
            else:
                for triple in triples:
                    if triple[2] in by_object:
                        self._fire(by_object[triple[2]], (triple,), comes)
            if None in by_object:
                self._fire(by_object[None], triples, comes)
        if self._anything is not None:
            self._fire(self._anything, triples, comes)
        for node in self._followers:
            if not node.queued:
                self._wake(node)

    def _fire(self, triggers: _Triggers, triples: Sequence[Triple], comes: bool) -> None:
        if triggers.always:
            self._run(triggers.always, triples, comes)
        if not triggers.by_subject and not triggers.guarded:
            return
        for triple in triples:
            if triple[0] in triggers.by_subject:
                self._run(triggers.by_subject[triple[0]], (triple,), comes)
            for property, by_value in triggers.guarded.items():
                values = self._index.spo[triple[0]].get(property, ())
                for value in values if len(values) <= len(by_value) else by_value:
                    if value in by_value and value in values:
                        self._run(by_value[value], (triple,), comes)

    def _run(self, concerned: _Concerned, triples: Sequence[Triple], comes: bool) -> None:
        counter = self._load.counter
        since = 0.0 if counter is None else counter()
        for node, fires in concerned.items():
            if node.fault is not None:
                continue
            rows = node.added if comes else node.removed
            try:
                for fire in fires:
                    fire(triples, rows)
            except Exception as error:
                # The caller changes the index, is not to blame, and has to finish.
                node.fault = error
            if (rows or node.fault is not None) and not node.queued:
                self._wake(node)
            if counter is not None:
                now = counter()
                self._load.took(node, since, now)
                node.counters.seconds += now - since
                since = now
