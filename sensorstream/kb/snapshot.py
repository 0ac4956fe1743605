"""A copy of the knowledge base in Oxigraph: complete SPARQL 1.1 over the cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import pyoxigraph as ox

from sensorstream.errors import Position, QueryError
from sensorstream.kb.graph import KnowledgeBase
from sensorstream.kb.mirror import ALL_GRAPHS, UNION, Mirror
from sensorstream.kb.oxigraph import OxigraphTerm, from_oxigraph, to_oxigraph
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.sparql.answerable import GRAPHS, check_answerable, check_graphs
from sensorstream.sparql.parser import read_query
from sensorstream.sparql.printing import query_text

Results: TypeAlias = ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples


class Snapshot:
    """An Oxigraph store that is updated from a knowledge base before each query.

    Default graph: the union of all graphs; named graphs: ``urn:sensorstream:static``,
    ``urn:sensorstream:window``, ``urn:sensorstream:inferred``, and those in which messages said
    statements that are in the window. The cost of a query is the change
    since the last query; between queries only changed triples are noted.

    :meth:`sync` and :meth:`query` read the knowledge base, which must not change meanwhile (the
    application's lock). A sync is one transaction of the store: :meth:`read` may run in any thread
    at any time, also while another thread syncs, and sees a sync completely or not at all. An
    answer keeps the state it started with. It belongs to the thread that called: pyoxigraph aborts
    the process when another thread reads it.

    Oxigraph's store keeps the value of a number, boolean, time or duration, not its form:
    ``01`` is answered as ``1``, and ``"5"^^xsd:int`` as ``"5"^^xsd:integer``.
    """

    __slots__ = ("_kb", "_merged", "_whole")

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._whole = Mirror(kb, ALL_GRAPHS)
        # Rules query at every message, and hardly ever a named graph: they get a separate store,
        # which costs a third to update. It is made at their first query.
        self._merged: Mirror | None = None

    @property
    def behind(self) -> int:
        """How many triples may have changed since the last :meth:`sync`."""
        return self._whole.behind

    def sync(self) -> None:
        """Update the state that :meth:`read` uses; O(changes since the last call).

        Raises:
            TermError: the knowledge base holds an IRI that is not valid.
        """
        self._whole.sync()

    def query(
        self,
        text: str,
        *,
        default_graphs: Sequence[str] = (),
        named_graphs: Sequence[str] = (),
    ) -> Results:
        """:meth:`sync`, then :meth:`read`; the knowledge base must not change meanwhile."""
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

        Oxigraph gets the text printed from our own parser's algebra, so it never gets an unchecked
        query.

        Args:
            text: SELECT, ASK, CONSTRUCT or DESCRIBE.
            default_graphs: IRIs of the graphs to query instead of the union
                (``default-graph-uri`` of the SPARQL Protocol, which overrides FROM).
            named_graphs: IRIs of the graphs that GRAPH may see (``named-graph-uri``).

        Raises:
            QueryError: not SPARQL 1.1, or a part of it that is refused (see
                :mod:`sensorstream.sparql.answerable`), with the position; a reserved name
                that no graph has; or Oxigraph failed.
        """
        parsed = read_query(text, start=Position("query", 1, 1))
        check_answerable(parsed, message_graphs=True)
        check_graphs(default_graphs, "default-graph-uri")
        check_graphs(named_graphs, "named-graph-uri")
        text = query_text(parsed.meaning)
        try:
            default = [ox.NamedNode(graph) for graph in default_graphs]
            named = [ox.NamedNode(graph) for graph in named_graphs]
            if not default and not named:
                return self._whole.store.query(text)
            return self._whole.store.query(
                text, default_graph=list(default), named_graphs=list(named)
            )
        except (SyntaxError, ValueError, RuntimeError, OSError) as error:
            raise QueryError(f"the query cannot be answered: {error}") from None

    def solutions(
        self,
        text: str,
        bindings: Mapping[str, Term],
        *,
        named: bool = True,
        dataset: bool = False,
    ) -> Iterator[dict[str, Term]]:
        """Sync, then the solutions of a SELECT.

        Args:
            text: what :func:`~sensorstream.sparql.answerable.check_answerable` has passed, as
                printed from the algebra.
            bindings: variables that have their value from the start; the query must return them.
                Blank nodes are those of the knowledge base.
            named: whether the text reads named graphs (GRAPH or FROM).
            dataset: whether it says FROM or FROM NAMED. If not, GRAPH matches the knowledge base's
                own graphs; those of messages are not for rules.

        Raises:
            QueryError: Oxigraph failed.
        """
        if named:
            mirror = self._whole
        else:
            mirror = self._merged = self._merged or Mirror(self._kb, UNION)
        mirror.sync()
        given: dict[ox.Variable, OxigraphTerm] = {
            ox.Variable(name): to_oxigraph(value) for name, value in bindings.items()
        }
        try:
            found = mirror.store.query(
                text,
                named_graphs=[ox.NamedNode(graph) for graph in GRAPHS]
                if named and not dataset
                else None,
                substitutions=given or None,
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
        """Every triple of the store with its graph (None: the union); O(knowledge base)."""
        for quad in self._whole.store:
            subject = from_oxigraph(quad.subject)
            assert not isinstance(subject, Literal)
            graph = quad.graph_name
            yield (
                (subject, IRI(quad.predicate.value), from_oxigraph(quad.object)),
                IRI(graph.value) if isinstance(graph, ox.NamedNode) else None,
            )
