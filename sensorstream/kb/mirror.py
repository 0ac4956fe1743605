"""An Oxigraph store for what changes, such as a knowledge base or an index of triples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyoxigraph as ox

from sensorstream.kb.changes import Quad
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

    __slots__ = ("_held", "_removed", "store")

    def __init__(self) -> None:
        self.store = ox.Store()
        # As it is told: to ask the store costs what it holds.
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
        """Remove a graph that has so many quads."""
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
    """The same for pyoxigraph.

    Raises:
        TermError: one has an IRI that is not valid.
    """
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
