"""The differences between graphs and their copies in Oxigraph, and the store of copies."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, Generic, TypeAlias, TypeVar

import pyoxigraph as ox

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.kb.oxigraph_terms import OxigraphSubject, stored, subject_to_oxigraph
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Triple
from sensorstream.model.vocabulary import GRAPH_INFERRED, GRAPH_STATIC, GRAPH_WINDOW

_WORN: Final = 20_000
"""After as many removed quads (or as many as the store holds, if more) a new store is made."""
T = TypeVar("T")
_GRAPHS: Final[Sequence[tuple[int, IRI | None]]] = (
    (sum(Origin), None),
    (int(Origin.STATIC), GRAPH_STATIC),
    (int(Origin.WINDOW), GRAPH_WINDOW),
    (int(Origin.INFERRED | Origin.STATIC_INFERRED), GRAPH_INFERRED),
)
"""Marks, and the graph for triples with any of them.

The union (None) is a graph of its own: Oxigraph's union of named graphs gives a triple once for
every graph that holds it, but RDF 1.1 requires a merge.
"""

Quad: TypeAlias = tuple[Triple, IRI | None]
"""A triple and its graph; None: the default one."""


class Changes(Generic[T]):
    """Notes items that come to or go from what a copy has to hold; an empty copy lacks all.

    An item that comes and goes between two readings leaves no note, so that notes do not pile up.
    """

    def __init__(self, held: Iterable[T] = ()) -> None:
        self._notes = dict.fromkeys(held, True)

    def __len__(self) -> int:
        return len(self._notes)

    def changed(self, items: Iterable[T], comes: bool) -> None:
        """Note items that have come, or that go."""
        for item in items:
            if self._notes.setdefault(item, comes) is not comes:
                del self._notes[item]

    def read(self) -> tuple[list[T], list[T]]:
        """The items that have come, and those that have gone."""
        come = [item for item, there in self._notes.items() if there]
        return come, [item for item, there in self._notes.items() if not there]

    def done(self) -> None:
        """Forget the notes: the copy has what was read."""
        self._notes.clear()


class KnowledgeChanges(Changes[Quad]):
    """The changes of a knowledge base, for an empty copy of all its graphs; O(knowledge base).

    The union of the graphs is the default graph of the copy, which has the named graphs of the
    messages too.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        super().__init__()
        self._kb = kb
        for triple in kb.match(None, None, None):
            self._note((triple,), 0, kb.marks(triple))
        for triple, graphs in kb.in_graphs():
            self._note_graphs(triple, frozenset(), graphs)
        kb.subscribe(self._note)
        kb.graph_listeners.append(self._note_graphs)

    def close(self) -> None:
        self._kb.unsubscribe(self._note)
        self._kb.graph_listeners.remove(self._note_graphs)

    def _note(self, triples: Sequence[Triple], old: int, new: int) -> None:
        for marks, graph in _GRAPHS:
            if bool(old & marks) is not bool(new & marks):
                self.changed([(triple, graph) for triple in triples], bool(new & marks))

    def _note_graphs(self, triple: Triple, old: frozenset[IRI], new: frozenset[IRI]) -> None:
        self.changed([(triple, graph) for graph in sorted(new - old)], True)
        self.changed([(triple, graph) for graph in sorted(old - new)], False)


GRAPH_MARKS: Final = {name: marks for marks, name in _GRAPHS if name is not None}


class NamedGraphs:
    """The graphs of a knowledge base, each with an index from its first use on; O(1) per change."""

    __slots__ = ("_followed", "_kb")

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._followed: dict[int, TripleIndex] = {}

    def index(self, name: Hashable) -> TripleIndex:
        """The index of a graph; it is empty if there is no such graph."""
        if not isinstance(name, IRI) or name not in GRAPH_MARKS:
            return TripleIndex()
        marks = GRAPH_MARKS[name]
        if not self._followed:
            self._kb.subscribe(self._note)
        if marks not in self._followed:
            index = self._followed[marks] = TripleIndex()
            index.add(*(each for each in self._kb.index if self._kb.marks(each) & marks))
        return self._followed[marks]

    def _note(self, triples: Sequence[Triple], old: int, new: int) -> None:
        for marks, index in self._followed.items():
            if bool(old & marks) is not bool(new & marks):
                (index.add if new & marks else index.discard)(*triples)

    def close(self) -> None:
        """Stop following the graphs; a second call does nothing."""
        if self._followed:
            self._kb.unsubscribe(self._note)
            self._followed.clear()


class QuadStore:
    """An Oxigraph store whose size is that of what it holds.

    Oxigraph's store in memory never frees the memory of a removed quad (about 500 bytes, measured),
    so from time to time a new store replaces the old one. Answers that are still being read keep
    the old store.
    """

    def __init__(self) -> None:
        # Counted here: asking the store for its size costs O(store).
        self._held = 0
        self._removed = 0

    @cached_property
    def store(self) -> ox.Store:
        """Oxigraph's store, made at its first use: an empty one takes 8 kB."""
        return ox.Store()

    def change(self, added: Sequence[ox.Quad], removed: Sequence[ox.Quad]) -> None:
        """Remove quads, then add others; O(changes), amortised."""
        for quad in removed:
            self.store.remove(quad)
        self._gone(len(removed))
        self.store.extend(added)
        self._held += len(added)

    def drop(self, graph: ox.NamedNode, size: int) -> None:
        """Remove a graph that has ``size`` quads."""
        self.store.remove_graph(graph)
        self._gone(size)

    def _gone(self, quads: int) -> None:
        self._held -= quads
        self._removed += quads
        if self._removed > _WORN and self._removed > self._held:
            old, self.store = self.store, ox.Store()
            self.store.bulk_extend(old)
            self._removed = 0


def quads_of(quads: Iterable[Quad]) -> Iterator[ox.Quad]:
    """Convert quads for a store; raises TermError at an IRI that is not valid."""
    graphs: dict[IRI | None, ox.DefaultGraph | OxigraphSubject] = {None: ox.DefaultGraph()}
    for (subject, predicate, value), graph in quads:
        node = graphs.get(graph)
        if node is None:
            assert graph is not None
            node = graphs[graph] = subject_to_oxigraph(graph)
        yield ox.Quad(
            subject_to_oxigraph(subject),
            ox.NamedNode(predicate),
            stored(value),
            node,
        )
