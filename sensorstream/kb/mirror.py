"""An Oxigraph store that follows a knowledge base, in one transaction at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import pyoxigraph as ox

from sensorstream.errors import TermError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.kb.oxigraph import (
    OxigraphSubject,
    OxigraphTerm,
    same_when_stored,
    subject_to_oxigraph,
    to_oxigraph,
)
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.vocabulary import GRAPH_INFERRED, GRAPH_STATIC, GRAPH_WINDOW

Graphs: TypeAlias = tuple[tuple[int, IRI | None], ...]
"""Marks, and the graph of the store (None: the default one) for triples with any of them.

A store with any graph besides the default one has the named graphs of the messages too.
"""

UNION: Final[Graphs] = ((sum(Origin), None),)
"""Only the union, as the default graph.

It is a graph of its own: Oxigraph's union of named graphs gives a triple once for every graph
that holds it, but RDF 1.1 requires a merge.
"""
ALL_GRAPHS: Final[Graphs] = (
    *UNION,
    (int(Origin.STATIC), GRAPH_STATIC),
    (int(Origin.WINDOW), GRAPH_WINDOW),
    (int(Origin.INFERRED | Origin.STATIC_INFERRED), GRAPH_INFERRED),
)

_BLANK: Final = ox.NamedNode("urn:sensorstream:blank")
_Change: TypeAlias = tuple[Triple, IRI | None]
_WORN: Final = 20_000
"""After this many removed quads (or as many as the store holds, if more) a new store is made."""


class Mirror:
    """A store, and a list of the triples whose state in the store may be out of date.

    Oxigraph's store in memory never frees the memory of a removed quad (about 500 bytes, measured),
    so from time to time a new store replaces the old one. Answers that are still being read keep
    the old store.
    """

    __slots__ = ("_graphs", "_kb", "_notes", "_placed", "_removed", "store")

    def __init__(self, kb: KnowledgeBase, graphs: Graphs) -> None:
        self.store = ox.Store()
        self._kb = kb
        self._graphs = graphs
        self._removed = 0
        # Each triple with its marks in the graphs of the store.
        self._notes: dict[Triple, int] = dict.fromkeys(kb.match(None, None, None), 0)
        kb.subscribe(self._note)
        # Each triple with its named graphs in the store.
        self._placed: dict[Triple, frozenset[IRI]] = {}
        if len(graphs) > 1:
            self._placed.update((triple, frozenset()) for triple, _ in kb.in_graphs())
            kb.subscribe_graphs(self._note_graphs)

    def _note_graphs(self, triple: Triple, old: frozenset[IRI], new: frozenset[IRI]) -> None:
        if self._placed.setdefault(triple, old) == new:
            del self._placed[triple]

    def _note(self, triple: Triple, old: int, new: int) -> None:
        # A triple added and removed between two queries is not listed: the list must not grow.
        if self._notes.setdefault(triple, old) == new:
            del self._notes[triple]

    @property
    def behind(self) -> int:
        """How many triples may differ between the store and the knowledge base."""
        return len(self._notes) + len(self._placed)

    def sync(self) -> None:
        """Apply all changes since the last call, in one transaction; O(changes), amortised.

        Raises:
            TermError: the knowledge base holds an IRI that is not valid.
        """
        if not self._notes and not self._placed:
            return
        added: list[_Change] = []
        removed: list[_Change] = []
        for triple, before in self._notes.items():
            now = self._kb.marks(triple)
            for marks, graph in self._graphs:
                if now & marks:
                    if not before & marks:
                        added.append((triple, graph))
                elif before & marks and not self._has_twin(triple, marks):
                    removed.append((triple, graph))
        for triple, graphs in self._placed.items():
            now_in = self._kb.graphs(triple)
            added += [(triple, graph) for graph in sorted(now_in - graphs)]
            removed += [
                (triple, graph)
                for graph in sorted(graphs - now_in)
                if not any(graph in self._kb.graphs(twin) for twin in self._twins(triple))
            ]
        self._removed += len(removed)
        if self._removed > max(_WORN, len(self._kb) * len(self._graphs)):
            self._renew()
        elif removed:
            self._update(added, removed)
        elif added:
            self.store.extend(_quads(added))
        self._notes.clear()
        self._placed.clear()

    def _renew(self) -> None:
        store = ox.Store()
        store.bulk_extend(
            _quads(
                (triple, graph)
                for triple in self._kb.match(None, None, None)
                for marks, graph in self._graphs
                if self._kb.marks(triple) & marks
            )
        )
        if len(self._graphs) > 1:
            store.extend(
                _quads(
                    (triple, graph) for triple, graphs in self._kb.in_graphs() for graph in graphs
                )
            )
        self.store = store
        self._removed = 0

    def _has_twin(self, triple: Triple, marks: int) -> bool:
        """Whether the graph keeps a triple that the store cannot tell from this one."""
        return any(self._kb.marks(twin) & marks for twin in self._twins(triple))

    def _twins(self, triple: Triple) -> Iterator[Triple]:
        """The triples of the knowledge base that the store cannot tell from this one."""
        subject, predicate, value = triple
        if not isinstance(value, Literal):
            return iter(())
        return (
            other
            for other in self._kb.match(subject, predicate, None)
            if same_when_stored(value, other[2])
        )

    def _update(self, added: Sequence[_Change], removed: Sequence[_Change]) -> None:
        # Only a SPARQL Update can remove and add in a single transaction. It cannot name blank
        # nodes, so a function supplies them.
        blanks: dict[str, str] = {}
        delete, insert = _template(removed, blanks), _template(added, blanks)
        binds = " ".join(f'BIND(<{_BLANK.value}>("{b[2:]}") AS {v})' for b, v in blanks.items())
        try:
            self.store.update(
                f"DELETE {{ {delete} }} INSERT {{ {insert} }} WHERE {{ {binds} }}",
                custom_functions={_BLANK: _blank_node} if blanks else None,
            )
        except SyntaxError as error:
            for _ in _quads(added):
                continue  # the invalid term raises here
            raise TermError(f"the knowledge base cannot be queried: {error}") from None


def _blank_node(label: OxigraphTerm) -> ox.BlankNode:
    assert isinstance(label, ox.Literal)
    return ox.BlankNode(label.value)


def _quads(added: Iterable[_Change]) -> Iterator[ox.Quad]:
    graphs: dict[IRI | None, ox.DefaultGraph | OxigraphSubject] = {None: ox.DefaultGraph()}
    for (subject, predicate, value), graph in added:
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


def _template(changes: Iterable[_Change], blanks: dict[str, str]) -> str:
    by_graph: dict[IRI | None, list[str]] = {}
    for triple, graph in changes:
        text = " ".join(_written(term, blanks) for term in triple)
        by_graph.setdefault(graph, []).append(text)
    parts = []
    for graph, triples in by_graph.items():
        body = " . ".join(triples)
        parts.append(f"{body} ." if graph is None else f"GRAPH <{graph}> {{ {body} }}")
    return " ".join(parts)


def _written(term: Term, blanks: dict[str, str]) -> str:
    if isinstance(term, BlankNode):
        return blanks.setdefault(term, f"?b{len(blanks)}")
    return term.n3
