"""The relations that a query over history reads: which statements, when, in which graph.

Statements of history are rows of ``store.statements``. Those of the window, the ontology and the
static data come with the question, in temporary tables (:mod:`.live`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from sqlglot import exp

from sensorstream.history.asking.question import Interval, Moment
from sensorstream.kb.graph import Origin
from sensorstream.model.terms import IRI, Term
from sensorstream.model.vocabulary import (
    GRAPH_INFERRED,
    GRAPH_PERSISTENT,
    GRAPH_STATIC,
    GRAPH_WINDOW,
)
from sensorstream.sparql.answerable import HISTORY_GRAPHS
from sensorstream.sql.sparql.scope import Id, Scope

LIVE_STATEMENTS: Final = "live_statements"
LIVE_TERMS: Final = "live_terms"
LIVE_STAYS: Final = "live_stays"

_TRIPLE: Final = ("subject", "predicate", "object", "number")
_TERM: Final = ("id", "kind", "text", "datatype", "language", "number", "moment")
_MARKS: Final = {
    GRAPH_STATIC: int(Origin.STATIC),
    GRAPH_WINDOW: int(Origin.WINDOW),
    GRAPH_INFERRED: int(Origin.INFERRED | Origin.STATIC_INFERRED),
}


def scope_of(
    time: Moment | Interval | None, ids: Mapping[Term, Id], *, live: bool, beside: bool = True
) -> Scope:
    """What a query reads; the default graph is the union of all.

    Args:
        time: when a statement must have held; None: ever.
        ids: of the query's constants.
        live: whether the temporary tables of what is in the window now are read too.
        beside: as in :class:`.Scope`.
    """
    named = {graph: _union(_parts(graph, time, live=live)) for graph in HISTORY_GRAPHS}
    default = _union([_ended(time), *([_standing(time)] if live else ())])
    terms = [_terms("store", "terms")]
    if live:
        terms.append(_terms("pg_temp", LIVE_TERMS))
    return Scope(default, _union(terms), ids, named, beside)


def tell_spans(scope: Scope, time: Moment | Interval | None) -> None:
    """Say "as of an instant" once more, so that PostgreSQL's planner expects the right number.

    It takes ``valid_from <= at`` and ``valid_to > at`` to be independent, and so half of all
    statements to hold at an instant; of spans it has statistics (``statements_span_idx``).
    """
    if not isinstance(time, Moment):
        return
    for tree in (scope.default, *scope.named.values()):
        for table in list(tree.find_all(exp.Table)):
            if table.db == "store" and table.name == "statements":
                select = table.find_ancestor(exp.Select)
                assert select is not None
                told = f"store.span(valid_from, valid_to) @> CAST({time.at:d} AS BIGINT)"
                select.where(told, copy=False, dialect="postgres")


def _parts(graph: IRI, time: Moment | Interval | None, *, live: bool) -> list[exp.Select]:
    """The selects whose union is a graph."""
    parts: list[exp.Select] = []
    if graph == GRAPH_PERSISTENT:
        parts.append(_ended(time))
    elif graph == GRAPH_INFERRED:
        parts.append(_ended(time).where("inferred", copy=False))
    if live and graph in _MARKS:
        parts.append(_standing(time).where(f"marks & {_MARKS[graph]} <> 0", copy=False))
    return parts


def _ended(time: Moment | Interval | None) -> exp.Select:
    """Statements that have left the window, or ended within it."""
    tree = exp.select(*_TRIPLE).from_(exp.table_("statements", db="store"))
    match time:
        case Moment(at):
            tree = tree.where(f"valid_from <= {at:d}", f"valid_to > {at:d}")
        case Interval(start, end):
            tree = tree.where(f"valid_from < {end:d}", f"valid_to > {start:d}")
    return tree


def _standing(time: Moment | Interval | None) -> exp.Select:
    """Statements that hold now; they began at ``valid_from`` and have no end yet."""
    tree = exp.select(*_TRIPLE).from_(exp.table_(LIVE_STATEMENTS, db="pg_temp"))
    match time:
        case Moment(at):
            tree = tree.where(f"valid_from <= {at:d}")
        case Interval(_, end):
            tree = tree.where(f"valid_from < {end:d}")
    return tree


def _terms(schema: str, table: str) -> exp.Select:
    return exp.select(*_TERM).from_(exp.table_(table, db=schema))


def _union(parts: Iterable[exp.Select]) -> exp.Select:
    """One select of the rows of all; without any, of no row."""
    trees = list(parts)
    if not trees:
        return _ended(None).where(exp.false(), copy=False)
    if len(trees) == 1:
        return trees[0]
    union: exp.Query = trees[0]
    for each in trees[1:]:
        union = union.union(each, distinct=False)
    columns = (each.alias_or_name for each in trees[0].expressions)
    return exp.select(*columns).from_(union.subquery("parts"))
