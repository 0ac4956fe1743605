"""What is allowed in a query that is answered at once: by `/sparql` or in a semantic rule.

Each part of SPARQL is answered or refused with its place; nothing is read and then ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from sensorstream.errors import QueryError
from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import (
    GRAPH_INFERRED,
    GRAPH_STATIC,
    GRAPH_WINDOW,
    RESERVED,
)
from sensorstream.sparql.algebra import (
    Call,
    Dataset,
    Equals,
    EqualsOptional,
    Graph,
    OptionalSeq,
    Query,
    Seq,
    Service,
    Update,
    Window,
)
from sensorstream.sparql.parser import Parsed
from sensorstream.sparql.walk import nodes

GRAPHS: Final = (GRAPH_STATIC, GRAPH_WINDOW, GRAPH_INFERRED)
"""The knowledge base's own named graphs; its default graph is their union."""

_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_TEMPORAL: Final = {
    Seq: "SEQ",
    Equals: "EQUALS",
    OptionalSeq: "OPTIONALSEQ",
    EqualsOptional: "EQUALSOPTIONAL",
    Window: "WINDOW",
}
_OF_EVENTS: Final = frozenset(("GETDURATION", "GETSTARTTIME", "GETENDTIME"))


def check_answerable(
    parsed: Parsed[Query] | Parsed[Update], *, message_graphs: bool = False
) -> None:
    """Refuse the parts of a query that cannot be answered.

    ``message_graphs``: whether the named graphs of messages can be read. Such a graph may be empty
    at the moment, so that any name is possible but those of the system.

    Raises:
        QueryError: SERVICE (queries send no requests), parts of continuous queries only (windows,
            reports, temporal operators), a graph that does not exist, or a relative IRI; the error
            has its position.
    """
    meaning = parsed.meaning
    if isinstance(meaning, Query):
        _check_clauses(parsed, meaning)
    for part in nodes(meaning):
        match part:
            case Service():
                raise QueryError(
                    "SERVICE is not allowed: a query cannot call other endpoints",
                    position=parsed.position(part),
                )
            case Seq() | Equals() | OptionalSeq() | EqualsOptional() | Window():
                raise _continuous(parsed, part, _TEMPORAL[type(part)])
            case Call(name) if name in _OF_EVENTS:
                raise _continuous(parsed, part, name)
            case Graph(IRI() as name, _):
                _check_graph(parsed, name, "GRAPH", message_graphs)
            case Dataset(default, named):
                for graph in default:
                    _check_graph(parsed, graph, "FROM", message_graphs)
                for graph in named:
                    _check_graph(parsed, graph, "FROM NAMED", message_graphs)
            case IRI() if not _ABSOLUTE.match(part):
                raise QueryError(
                    f"{part.n3} is a relative IRI: expected BASE, or an IRI such as <http://…>",
                    position=parsed.position(part),
                )


def check_graphs(names: Iterable[str], parameter: str) -> None:
    """Refuse names of the system that no graph has; ``parameter`` names where they were given.

    Raises:
        QueryError: there is no such graph.
    """
    for name in names:
        if not _is_graph(name, message_graphs=True):
            raise QueryError(_no_graph(name, parameter, message_graphs=True))


def _check_clauses(parsed: Parsed[Query] | Parsed[Update], query: Query) -> None:
    if query.registration is not None:
        raise _continuous(parsed, query.registration, "REGISTER")
    if query.dataset.windows:
        raise _continuous(parsed, query.dataset.windows[0].name, "FROM NAMED WINDOW")
    if query.report is not None:
        raise _continuous(parsed, query.report, "REPORT")


def _continuous(parsed: Parsed[Query] | Parsed[Update], part: object, word: str) -> QueryError:
    return QueryError(
        f"{word} belongs to a continuous query: expected plain SPARQL here; "
        "register the query under /queries, or give it to 'sensorstream run --query'",
        position=parsed.position(part),
    )


def _check_graph(
    parsed: Parsed[Query] | Parsed[Update], name: IRI, word: str, message_graphs: bool
) -> None:
    if not _is_graph(name, message_graphs):
        raise QueryError(_no_graph(name, word, message_graphs), position=parsed.position(name))


def _is_graph(name: str, message_graphs: bool) -> bool:
    return name in GRAPHS or (message_graphs and not name.startswith(RESERVED))


def _no_graph(name: str, word: str, message_graphs: bool) -> str:
    choice = ", ".join(graph.n3 for graph in GRAPHS[:-1])
    others = (
        "a graph of the messages"
        if message_graphs
        else "no graph at all for their union (only /sparql reads the named graphs of messages)"
    )
    return f"{word}: there is no graph <{name}>: expected {choice} or {GRAPHS[-1].n3}, or {others}"
