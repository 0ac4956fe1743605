"""An Oxigraph store that follows a knowledge base."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyoxigraph as ox

from sensorstream.kb.changes import Changes, Graphs, Quad
from sensorstream.kb.graph import KnowledgeBase
from sensorstream.kb.oxigraph import OxigraphSubject, subject_to_oxigraph, to_oxigraph
from sensorstream.model.terms import IRI

_WORN: Final = 20_000
"""After this many removed quads (or as many as the store holds, if more) a new store is made."""


class QuadStore:
    """An Oxigraph store whose size is that of what it holds.

    Oxigraph's store in memory never frees the memory of a removed quad (about 500 bytes, measured),
    so from time to time a new store replaces the old one. Answers that are still being read keep
    the old store.
    """

    __slots__ = ("_removed", "store")

    def __init__(self) -> None:
        self.store = ox.Store()
        self._removed = 0

    def change(self, added: Iterable[ox.Quad], removed: Sequence[ox.Quad]) -> None:
        """Remove quads, then add others; O(changes), amortised."""
        for quad in removed:
            self.store.remove(quad)
        self.store.extend(added)
        self._removed += len(removed)
        if self._removed > _WORN and self._removed > len(self.store):
            old, self.store = self.store, ox.Store()
            self.store.bulk_extend(old)
            self._removed = 0


class Mirror:
    """A copy of some graphs of a knowledge base, in the same thread."""

    __slots__ = ("_changes", "_quads")

    def __init__(self, kb: KnowledgeBase, graphs: Graphs) -> None:
        self._changes = Changes(kb, graphs)
        self._quads = QuadStore()

    @property
    def store(self) -> ox.Store:
        """The copy as of the last :meth:`sync`."""
        return self._quads.store

    def sync(self) -> None:
        """Apply all changes since the last call; O(changes), amortised.

        Raises:
            TermError: the knowledge base holds an IRI that is not valid.
        """
        if self._changes:
            added, removed = self._changes.read()
            self._quads.change(list(_quads(added)), list(_quads(removed)))
            self._changes.done()


def _quads(quads: Iterable[Quad]) -> Iterator[ox.Quad]:
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
