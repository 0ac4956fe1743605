"""The knowledge base as an Oxigraph store: complete SPARQL 1.1 over the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import pyoxigraph as ox

from sensorstream.errors import QueryError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.kb.oxigraph import (
    OxigraphTerm,
    from_oxigraph,
    same_when_stored,
    subject_to_oxigraph,
    to_oxigraph,
)
from sensorstream.kb.query_text import query_error, refuse_service
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.vocabulary import GRAPH_INFERRED, GRAPH_STATIC, GRAPH_WINDOW

Results: TypeAlias = ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples

_GRAPHS: Final[tuple[tuple[int, IRI | None], ...]] = (
    (int(Origin.STATIC | Origin.WINDOW | Origin.INFERRED | Origin.STATIC_INFERRED), None),
    (int(Origin.STATIC), GRAPH_STATIC),
    (int(Origin.WINDOW), GRAPH_WINDOW),
    (int(Origin.INFERRED | Origin.STATIC_INFERRED), GRAPH_INFERRED),
)
"""Marks, and the graph of the store that holds the triples with any of them.

The union is a graph of its own, the default graph: Oxigraph's union of named graphs gives a
triple once for every graph it is in, where RDF 1.1 asks for a merge.
"""

_BLANK: Final = ox.NamedNode("urn:sensorstream:blank")
_Change: TypeAlias = tuple[Triple, IRI | None]


class Snapshot:
    """An Oxigraph store that is brought in step with a knowledge base when it is asked.

    Default graph: the union of all graphs; named graphs: ``urn:sensorstream:static``,
    ``urn:sensorstream:window``, ``urn:sensorstream:inferred``. A query costs what changed
    since the last one, and nothing between queries but a note of what changed.

    :meth:`sync` and :meth:`query` read the knowledge base, so they need it to stand still (the
    application's lock). A sync is one transaction of the store: :meth:`read` may run in any
    thread at any time, also while another thread syncs, and sees all of a sync or nothing of
    it. An answer keeps to the state it began with. It belongs to the thread that asked:
    pyoxigraph aborts the process when another one reads it.

    Oxigraph's store keeps the value of a number, boolean, time or duration, not its form:
    ``01`` is answered as ``1``, and ``"5"^^xsd:int`` as ``"5"^^xsd:integer``.
    """

    __slots__ = ("_dirty", "_kb", "_store")

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._store = ox.Store()
        self._dirty: dict[Triple, int] = dict.fromkeys(
            (triple for origin in Origin for triple in kb.triples(origin)), 0
        )
        kb.subscribe(self._note)

    def _note(self, triple: Triple, old: int, new: int) -> None:
        # The first note since the last sync wins: its marks are those the store has. What
        # comes and goes between two queries leaves no note, or they would pile up unasked.
        if self._dirty.setdefault(triple, old) == new:
            del self._dirty[triple]

    @property
    def behind(self) -> int:
        """How many triples may differ from the knowledge base."""
        return len(self._dirty)

    def sync(self) -> None:
        """Bring the store in step; O(changes since the last time).

        Raises:
            TermError: the knowledge base holds an IRI that is none.
        """
        if not self._dirty:
            return
        added: list[_Change] = []
        removed: list[_Change] = []
        for triple, before in self._dirty.items():
            now = self._kb.marks(triple)
            for marks, graph in _GRAPHS:
                if now & marks:
                    if not before & marks:
                        added.append((triple, graph))
                elif before & marks and not self._has_twin(triple, marks):
                    removed.append((triple, graph))
        if removed:
            self._update(added, removed)
        else:
            self._store.extend(_quads(added))
        self._dirty.clear()

    def query(
        self,
        text: str,
        *,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
    ) -> Results:
        """:meth:`sync`, then :meth:`read`; the caller keeps the knowledge base still."""
        self.sync()
        return self.read(text, default_graphs=default_graphs, named_graphs=named_graphs)

    def read(
        self,
        text: str,
        *,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
    ) -> Results:
        """Answer a SPARQL 1.1 query from the state of the last :meth:`sync`.

        Args:
            text: SELECT, ASK, CONSTRUCT or DESCRIBE.
            default_graphs: IRIs of the graphs to query instead of the union
                (``default-graph-uri`` of the SPARQL Protocol, which overrides FROM).
            named_graphs: IRIs of the graphs that GRAPH may see (``named-graph-uri``).

        Raises:
            QueryError: not SPARQL 1.1 (with its position), or SERVICE, or Oxigraph gave up.
        """
        refuse_service(text)
        try:
            default = [ox.NamedNode(graph) for graph in default_graphs]
            named = [ox.NamedNode(graph) for graph in named_graphs]
            if not default and not named:
                return self._store.query(text)
            return self._store.query(text, default_graph=list(default), named_graphs=list(named))
        except SyntaxError as error:
            raise query_error(text, error) from None
        except (ValueError, RuntimeError, OSError) as error:
            raise QueryError(str(error)) from None

    def solutions(
        self, text: str, prefixes: Mapping[str, str], bindings: Mapping[str, Term]
    ) -> Iterator[dict[str, Term]]:
        """Sync, then the solutions of a SELECT that was checked before.

        Args:
            text: a SELECT query; that it calls no SERVICE was made sure of.
            prefixes: prefixes that the text may use without declaring them.
            bindings: variables that have their value from the start; the query must return
                them. Blank nodes are the very nodes of the knowledge base.

        Raises:
            QueryError: Oxigraph gave up.
        """
        self.sync()
        given: dict[ox.Variable, OxigraphTerm] = {
            ox.Variable(name): to_oxigraph(value) for name, value in bindings.items()
        }
        try:
            found = self._store.query(text, prefixes=dict(prefixes), substitutions=given or None)
            assert isinstance(found, ox.QuerySolutions)
            names = [variable.value for variable in found.variables]
            for row in found:
                yield {
                    name: from_oxigraph(value) for name in names if (value := row[name]) is not None
                }
        except (SyntaxError, ValueError, RuntimeError, OSError) as error:
            raise QueryError(str(error)) from None

    def quads(self) -> Iterator[tuple[Triple, IRI | None]]:
        """Every triple of the store with its graph (None: the union); O(knowledge base)."""
        for quad in self._store:
            subject = from_oxigraph(quad.subject)
            assert not isinstance(subject, Literal)
            graph = quad.graph_name
            yield (
                (subject, IRI(quad.predicate.value), from_oxigraph(quad.object)),
                IRI(graph.value) if isinstance(graph, ox.NamedNode) else None,
            )

    def _has_twin(self, triple: Triple, marks: int) -> bool:
        """Whether the graph keeps a triple that the store cannot tell from this one."""
        subject, predicate, value = triple
        if not isinstance(value, Literal):
            return False
        return any(
            self._kb.marks(other) & marks and same_when_stored(value, other[2])
            for other in self._kb.match(subject, predicate, None)
        )

    def _update(self, added: Sequence[_Change], removed: Sequence[_Change]) -> None:
        # One SPARQL Update is the one way to remove and add in a single transaction. Blank
        # nodes cannot be named in it, so a function brings them in from outside.
        blanks: dict[str, str] = {}
        delete, insert = _template(removed, blanks), _template(added, blanks)
        binds = " ".join(f'BIND(<{_BLANK.value}>("{b[2:]}") AS {v})' for b, v in blanks.items())
        self._store.update(
            f"DELETE {{ {delete} }} INSERT {{ {insert} }} WHERE {{ {binds} }}",
            custom_functions={_BLANK: _blank_node} if blanks else None,
        )


def _blank_node(label: OxigraphTerm) -> ox.BlankNode:
    assert isinstance(label, ox.Literal)
    return ox.BlankNode(label.value)


def _quads(added: Iterable[_Change]) -> Iterator[ox.Quad]:
    graphs = {None: ox.DefaultGraph()} | {
        graph: ox.NamedNode(graph) for _, graph in _GRAPHS if graph is not None
    }
    for (subject, predicate, value), graph in added:
        yield ox.Quad(
            subject_to_oxigraph(subject),
            ox.NamedNode(predicate),
            to_oxigraph(value),
            graphs[graph],
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
