"""The differences between a knowledge base and its copy in Oxigraph, and the store of a copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import pyoxigraph as ox

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.kb.oxigraph_terms import (
    OxigraphSubject,
    same_when_stored,
    subject_to_oxigraph,
    to_oxigraph,
)
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.vocabulary import GRAPH_INFERRED, GRAPH_STATIC, GRAPH_WINDOW

_WORN: Final = 20_000
"""After as many removed quads (or as many as the store holds, if more) a new store is made."""
Graphs: TypeAlias = tuple[tuple[int, IRI | None], ...]
"""Marks, and the graph of the copy (None: the default one) for triples with any of them.

A copy with any graph besides the default one has the named graphs of the messages too.
"""

UNION: Final[Graphs] = ((sum(Origin), None),)
"""Only the union, as the default graph.

It is a graph of its own: Oxigraph's union of named graphs gives a triple once for every graph that
holds it, but RDF 1.1 requires a merge.
"""
ALL_GRAPHS: Final[Graphs] = (
    *UNION,
    (int(Origin.STATIC), GRAPH_STATIC),
    (int(Origin.WINDOW), GRAPH_WINDOW),
    (int(Origin.INFERRED | Origin.STATIC_INFERRED), GRAPH_INFERRED),
)

Quad: TypeAlias = tuple[Triple, IRI | None]
"""A triple and its graph; None: the default one."""


class Changes:
    """Notes the triples of a knowledge base whose state in a copy may be out of date.

    The copy is empty at first. Unless it is ``exact``, it keeps the values of literals, not their
    forms (:func:`.same_when_stored`). A triple that comes and goes between two readings is not
    noted, so the notes are never more than the copy and the knowledge base hold together.

    All methods read the knowledge base, which must not change meanwhile.
    """

    __slots__ = ("_exact", "_graphs", "_kb", "_notes", "_placed")

    def __init__(self, kb: KnowledgeBase, graphs: Graphs, *, exact: bool = False) -> None:
        """Follow a knowledge base until :meth:`stop`; O(knowledge base). ``exact`` as above."""
        self._kb = kb
        self._graphs = graphs
        self._exact = exact
        # Each triple with its marks in the graphs of the copy.
        self._notes: dict[Triple, int] = dict.fromkeys(kb.match(None, None, None), 0)
        kb.subscribe(self._note)
        # Each triple with its named graphs in the copy.
        self._placed: dict[Triple, frozenset[IRI]] = {}
        if len(graphs) > 1:
            self._placed.update((triple, frozenset()) for triple, _ in kb.in_graphs())
            kb.graph_listeners.append(self._note_graphs)

    def stop(self) -> None:
        self._kb.unsubscribe(self._note)
        if len(self._graphs) > 1:
            self._kb.graph_listeners.remove(self._note_graphs)

    def _note_graphs(self, triple: Triple, old: frozenset[IRI], new: frozenset[IRI]) -> None:
        if self._placed.setdefault(triple, old) == new:
            del self._placed[triple]

    def _note(self, triple: Triple, old: int, new: int) -> None:
        if self._notes.setdefault(triple, old) == new:
            del self._notes[triple]

    def __len__(self) -> int:
        """Return the number of triples that may differ."""
        return len(self._notes) + len(self._placed)

    def read(self) -> tuple[Sequence[Quad], Sequence[Quad]]:
        """Return what the copy lacks, and what it must remove first; O(changes)."""
        added: list[Quad] = []
        removed: list[Quad] = []
        for triple, before in self._notes.items():
            now = self._kb.marks(triple)
            for marks, graph in self._graphs:
                if now & marks:
                    if not before & marks:
                        added.append((triple, graph))
                elif before & marks and not any(
                    self._kb.marks(twin) & marks for twin in self._twins(triple)
                ):
                    removed.append((triple, graph))
        for triple, graphs in self._placed.items():
            now_in = self._kb.graphs(triple)
            added += [(triple, graph) for graph in sorted(now_in - graphs)]
            removed += [
                (triple, graph)
                for graph in sorted(graphs - now_in)
                if not any(graph in self._kb.graphs(twin) for twin in self._twins(triple))
            ]
        return added, removed

    def done(self) -> None:
        """Clear the notes: the copy has what was read."""
        self._notes.clear()
        self._placed.clear()

    def _twins(self, triple: Triple) -> Iterator[Triple]:
        """The triples of the knowledge base that the copy cannot tell from this one."""
        subject, predicate, value = triple
        if self._exact or not isinstance(value, Literal):
            return iter(())
        return (
            other
            for other in self._kb.match(subject, predicate, None)
            if same_when_stored(value, other[2])
        )


GRAPH_MARKS: Final = {name: marks for marks, name in ALL_GRAPHS if name is not None}


class GraphIndex:
    """The index of one named graph, for queries that read it; O(1) per change of the graph."""

    __slots__ = ("_kb", "_marks", "index")

    def __init__(self, kb: KnowledgeBase, name: IRI) -> None:
        self.index = TripleIndex()
        self._kb = kb
        self._marks = GRAPH_MARKS[name]
        for triple in kb.match(None, None, None):
            self._note(triple, 0, kb.marks(triple))
        kb.subscribe(self._note)

    def _note(self, triple: Triple, old: int, new: int) -> None:
        before, now = old & self._marks, new & self._marks
        if now and not before:
            self.index.add(triple)
        elif before and not now:
            self.index.discard(triple)

    def close(self) -> None:
        self._kb.unsubscribe(self._note)


class QuadStore:
    """An Oxigraph store whose size is that of what it holds.

    Oxigraph's store in memory never frees the memory of a removed quad (about 500 bytes, measured),
    so from time to time a new store replaces the old one. Answers that are still being read keep
    the old store.
    """

    __slots__ = ("_held", "_removed", "store")

    def __init__(self) -> None:
        self.store = ox.Store()
        # Counted here: asking the store for its size costs O(store).
        self._held = 0
        self._removed = 0

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
    """Convert quads to those of pyoxigraph; raises TermError at an IRI that is not valid."""
    graphs: dict[IRI | None, ox.DefaultGraph | OxigraphSubject] = {None: ox.DefaultGraph()}
    for (subject, predicate, value), graph in quads:
        node = graphs.get(graph)
        if node is None:
            assert graph is not None
            node = graphs[graph] = subject_to_oxigraph(graph)
        yield ox.Quad(
            subject_to_oxigraph(subject),
            ox.NamedNode(predicate),
            to_oxigraph(value),
            node,
        )
