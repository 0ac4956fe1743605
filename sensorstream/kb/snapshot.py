"""A copy of the knowledge base in Oxigraph: complete SPARQL 1.1 over the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import pyoxigraph as ox

from sensorstream.errors import Position, QueryError
from sensorstream.kb.graph_changes import ALL_GRAPHS, UNION, Changes, Graphs, QuadStore, quads_of
from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.kb.oxigraph_terms import (
    FUNCTIONS,
    OxigraphTerm,
    from_oxigraph,
    to_oxigraph,
    triple_from_oxigraph,
)
from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.answerable import GRAPHS, check_answerable, check_graphs
from sensorstream.sparql.described import check_named
from sensorstream.sparql.oxigraph_query import oxigraph_text
from sensorstream.sparql.query_parser import read_query

Results: TypeAlias = ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples


class OxigraphSnapshot:
    """A knowledge base with complete SPARQL 1.1: a copy in Oxigraph, updated before each query.

    Default graph: the union of all graphs; named graphs: ``urn:sensorstream:static``,
    ``urn:sensorstream:window``, ``urn:sensorstream:inferred``, and those in which messages said
    statements that are in the window. A query costs what has changed since the last one; between
    queries only changed triples are noted.

    All methods read the knowledge base, which must not change meanwhile. An answer keeps the state
    it started with, and belongs to the thread that called: pyoxigraph aborts the process when
    another thread reads it.

    Oxigraph's store keeps the value of a number, boolean, time or duration, not its form: ``01`` is
    answered as ``1``, and ``"5"^^xsd:int`` as ``"5"^^xsd:integer``.
    """

    __slots__ = ("_copies", "_kb")

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        # Rules query at every message, and hardly ever a named graph: they get a separate copy,
        # which costs a third to update. Each is made at its first query.
        self._copies: dict[Graphs, tuple[Changes, QuadStore]] = {}

    def _synced(self, graphs: Graphs) -> ox.Store:
        copy = self._copies.get(graphs)
        if copy is None:
            copy = self._copies[graphs] = Changes(self._kb, graphs), QuadStore()
        changes, quads = copy
        if changes:
            added, removed = changes.read()
            quads.change(list(quads_of(added)), list(quads_of(removed)))
            changes.done()
        return quads.store

    @property
    def index(self) -> TripleIndex:
        """The union of all graphs."""
        return self._kb.index

    def sync(self, *, named: bool) -> None:
        """Take in what has changed, before a query; ``named`` as for :meth:`solutions`."""
        self._synced(ALL_GRAPHS if named else UNION)

    def query(
        self,
        text: str,
        *,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
    ) -> Results:
        """Answer a SPARQL 1.1 query: SELECT, ASK, CONSTRUCT or DESCRIBE.

        Oxigraph gets the text printed from our own parser's algebra, so it never gets an unchecked
        query.

        Args:
            default_graphs: IRIs of the graphs to query instead of the union
                (``default-graph-uri`` of the SPARQL Protocol, which overrides FROM).
            named_graphs: IRIs of the graphs that GRAPH may see (``named-graph-uri``).

        Raises:
            QueryError: not SPARQL 1.1, or a part of it that is refused (see
                :mod:`sensorstream.sparql.answerable`), with the position; a reserved name
                that no graph has; or Oxigraph failed.
            TermError: the knowledge base holds an IRI that is not valid.
        """
        store = self._synced(ALL_GRAPHS)
        asked = oxigraph_text(read_answerable(text, default_graphs, named_graphs))
        return ask_store(store, asked, default_graphs, named_graphs)

    def solutions(
        self,
        text: str,
        bindings: Mapping[str, Term],
        *,
        named: bool = True,
        dataset: bool = False,
    ) -> Iterator[dict[str, Term]]:
        """Sync, then return the solutions of a SELECT; raises QueryError if Oxigraph failed.

        Args:
            text: what :func:`~sensorstream.sparql.answerable.check_answerable` has passed, as
                printed from the algebra.
            bindings: variables that have their value from the start; the query must return them.
                Blank nodes are those of the knowledge base.
            named: whether the text reads named graphs (GRAPH or FROM).
            dataset: whether it says FROM or FROM NAMED. If not, GRAPH matches the knowledge base's
                own graphs; those of messages are not for rules.
        """
        store = self._synced(ALL_GRAPHS if named else UNION)
        given: dict[ox.Variable, OxigraphTerm] = {
            ox.Variable(name): to_oxigraph(value) for name, value in bindings.items()
        }
        try:
            found = store.query(
                text,
                named_graphs=[ox.NamedNode(graph) for graph in GRAPHS]
                if named and not dataset
                else None,
                substitutions=given or None,
                custom_functions=FUNCTIONS,
            )
            assert isinstance(found, ox.QuerySolutions)
            names = [variable.value for variable in found.variables]
            for row in found:
                yield {
                    name: from_oxigraph(value) for name in names if (value := row[name]) is not None
                }
        except (SyntaxError, ValueError, RuntimeError, OSError) as error:
            raise QueryError(str(error)) from None

    def quads(self) -> Iterator[tuple[Triple, IRI | None]]:
        """The triples of the copy, each with its graph (None: the union); O(knowledge base)."""
        for quad in self._synced(ALL_GRAPHS):
            graph = quad.graph_name
            of = IRI(graph.value) if isinstance(graph, ox.NamedNode) else None
            yield triple_from_oxigraph(quad), of


def read_answerable(
    text: str,
    default_graphs: Sequence[str] = (),
    named_graphs: Sequence[str] = (),
    *,
    names_only: bool = False,
    most_tokens: int | None = None,
) -> Query:
    """Read a query for a copy of the knowledge base; raises as :meth:`OxigraphSnapshot.query`.

    ``names_only``: it must not describe classes, see :func:`.check_named`; ``most_tokens`` as for
    the parser.
    """
    parsed = read_query(text, start=Position("query", 1, 1), most_tokens=most_tokens)
    check_answerable(parsed, message_graphs=True)
    if names_only:
        check_named(parsed.meaning)
    check_graphs(default_graphs, "default-graph-uri")
    check_graphs(named_graphs, "named-graph-uri")
    return parsed.meaning


def ask_store(
    store: ox.Store,
    text: str,
    default_graphs: Sequence[str],
    named_graphs: Sequence[str],
    *,
    functions: Mapping[ox.NamedNode, Callable[..., OxigraphTerm | None]] = FUNCTIONS,
    aggregates: Mapping[ox.NamedNode, Callable[[], Any]] = MappingProxyType({}),
) -> Results:
    """Answer a text printed from our parser's algebra; raises QueryError if Oxigraph fails."""
    ask = partial(
        store.query,
        text,
        custom_functions=dict(functions),
        custom_aggregate_functions=dict(aggregates),
    )
    default = [ox.NamedNode(graph) for graph in default_graphs]
    named = [ox.NamedNode(graph) for graph in named_graphs]
    try:
        if not default and not named:
            return ask()
        return ask(default_graph=list(default), named_graphs=list(named))
    except (SyntaxError, ValueError, RuntimeError, OSError) as error:
        raise QueryError(f"the query cannot be answered: {error}") from None
