"""Checks of queries that are answered at once: by `/sparql` or in a semantic rule.

Each part of SPARQL is answered or refused with its place; nothing is read and then ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from sensorstream.errors import Position, QueryError
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.vocabulary import (
    GRAPH_INFERRED,
    GRAPH_PERSISTENT,
    GRAPH_STATIC,
    GRAPH_WINDOW,
    RESERVED,
)
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Query, Update
from sensorstream.sparql.described import check_named
from sensorstream.sparql.functions import OF_EVENTS
from sensorstream.sparql.query_parser import Parsed, read_query
from sensorstream.sparql.query_printer import valid_time_text
from sensorstream.sparql.walk import nodes

GRAPHS: Final = (GRAPH_STATIC, GRAPH_WINDOW, GRAPH_INFERRED)
"""The knowledge base's own named graphs; its default graph is their union."""
HISTORY_GRAPHS: Final = (*GRAPHS, GRAPH_PERSISTENT)
"""The named graphs of a query over history; its default graph is their union."""

_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def check_answerable(
    parsed: Parsed[Query] | Parsed[Update],
    *,
    message_graphs: bool = False,
    history: bool = False,
) -> None:
    """Refuse the parts of a query that cannot be answered.

    ``message_graphs``: the named graphs of messages can be read; such a graph may be empty at the
    moment, so any name is possible except those of the system. ``history``: history is asked, which
    has AT, DURING and another graph.

    Raises:
        QueryError: SERVICE (queries send no requests), parts of continuous queries only (windows,
            reports, temporal operators), or of queries over history only, a graph that does not
            exist, or a relative IRI; the error has its position.
    """
    meaning = parsed.meaning
    if isinstance(meaning, Query):
        _check_clauses(parsed, meaning)
        if meaning.valid_time is not None and not history:
            raise QueryError(
                f"{valid_time_text(meaning.valid_time)}: only history knows when a statement held: "
                "ask it with 'sensorstream query --on history', or /sparql?on=history",
                position=parsed.position(meaning.valid_time),
            )
    graphs = _Graphs(HISTORY_GRAPHS if history else GRAPHS, message=message_graphs)
    for part in nodes(meaning):
        match part:
            case algebra.Service():
                raise QueryError(
                    "SERVICE is not allowed: a query cannot call other endpoints",
                    position=parsed.position(part),
                )
            case _ if isinstance(part, algebra.InTime | algebra.Window | algebra.Stream):
                raise _continuous(parsed, part, type(part).__name__.upper())
            case algebra.Call(name) if name in OF_EVENTS:
                raise _continuous(parsed, part, name)
            case algebra.Graph(IRI() as name, _):
                graphs.check(parsed, name, "GRAPH")
            case algebra.Dataset(default, named):
                for graph in default:
                    graphs.check(parsed, graph, "FROM")
                for graph in named:
                    graphs.check(parsed, graph, "FROM NAMED")
            case IRI() | Literal() as term:
                name = term.datatype if isinstance(term, Literal) else term
                if not _ABSOLUTE.match(name):
                    raise QueryError(
                        f"<{name}> is a relative IRI: expected BASE, or an IRI such as <http://…>",
                        position=parsed.position(name),
                    )


def read_answerable(
    text: str,
    default_graphs: Sequence[str] = (),
    named_graphs: Sequence[str] = (),
    *,
    names_only: bool = False,
    most_tokens: int | None = None,
) -> Query:
    """Read a query that a copy of the knowledge base can answer; ``most_tokens`` as for the parser.

    ``names_only``: it must not describe classes; see :func:`.check_named`. Raises QueryError, with
    the position, if it is not SPARQL 1.1, or has a refused part, or a reserved name that no graph
    has.
    """
    parsed = read_query(text, start=Position("query", 1, 1), most_tokens=most_tokens)
    check_answerable(parsed, message_graphs=True)
    if names_only:
        check_named(parsed.meaning)
    check_graphs(default_graphs, "default-graph-uri")
    check_graphs(named_graphs, "named-graph-uri")
    return parsed.meaning


def check_graphs(names: Iterable[str], parameter: str, *, history: bool = False) -> None:
    """Refuse names that no graph can have; ``parameter`` names their source.

    Raises QueryError if there is no such graph.
    """
    graphs = _Graphs(HISTORY_GRAPHS, message=False) if history else _Graphs(GRAPHS, message=True)
    for name in names:
        if not graphs.have(name):
            raise QueryError(graphs.refusal(name, parameter))


def _check_clauses(parsed: Parsed[Query] | Parsed[Update], query: Query) -> None:
    windows = query.dataset.windows
    for clause, word in (
        (query.registration, "REGISTER"),
        (windows[0].name if windows else None, "FROM NAMED WINDOW"),
        (query.report, "REPORT"),
        (query.alert, "ALERT"),
    ):
        if clause is not None:
            raise _continuous(parsed, clause, word)


def _continuous(parsed: Parsed[Query] | Parsed[Update], part: object, word: str) -> QueryError:
    return QueryError(
        f"{word} belongs to a continuous query: expected plain SPARQL here; "
        "register the query under /queries, or give it to 'sensorstream run --query'",
        position=parsed.position(part),
    )


@frozen
class _Graphs:
    """The graphs that a query may name: ``own`` ones, and those of messages."""

    own: tuple[IRI, ...]
    message: bool

    def have(self, name: str) -> bool:
        return name in self.own or (self.message and not name.startswith(RESERVED))

    def check(self, parsed: Parsed[Query] | Parsed[Update], name: IRI, word: str) -> None:
        if not self.have(name):
            raise QueryError(self.refusal(name, word), position=parsed.position(name))

    def refusal(self, name: str, word: str) -> str:
        choice = ", ".join(graph.n3 for graph in self.own[:-1])
        if self.message:
            others = "a graph of the messages"
        else:
            others = (
                "no graph at all for their union (only /sparql over the cache reads the named "
                "graphs of messages)"
            )
        if name == GRAPH_PERSISTENT:
            others += f"; {GRAPH_PERSISTENT.n3} is a graph of history: ask it (on=history)"
        return (
            f"{word}: there is no graph <{name}>: expected {choice} or {self.own[-1].n3}, "
            f"or {others}"
        )
