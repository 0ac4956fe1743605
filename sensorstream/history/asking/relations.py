"""The relations that a query over history reads: which statements, when, in which graph.

Statements of history are rows of ``store.statements``. Those of the window, the ontology and the
static data come with the question, in temporary tables (:mod:`.live`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeAlias

from psycopg2 import extensions
from sqlglot import exp

from sensorstream.history.asking.question import Interval, Moment
from sensorstream.history.copying import Row, copy_command, copy_text
from sensorstream.history.terms import (
    TERM_COLUMNS,
    TermKey,
    look_up,
    number_of,
    rounded,
    term_key,
    term_rows,
)
from sensorstream.kb.graph import Origin
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.model.timeline import Instant
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


@dataclass(frozen=True, slots=True)
class Standing:
    """A triple that holds now: the graphs that it is in (a sum of :class:`.Origin`), since when.

    ``stay`` and ``message`` are the numbers of the stay that it belongs to, and of the message that
    said or caused it; 0 if there is none.
    """

    triple: Triple
    marks: int
    since: Instant
    stay: int = 0
    message: int = 0


@dataclass(frozen=True, slots=True)
class LiveStay:
    """A stay in the window that has not ended; ``message`` is a number in the journal."""

    stay: int
    name: Subject
    entered: Instant
    time: Instant
    message: int


@dataclass(frozen=True, slots=True)
class Present:
    """What holds now, at one instant."""

    statements: Sequence[Standing]
    stays: Sequence[LiveStay]


LiveSource: TypeAlias = Callable[[Callable[[], None]], Present]
"""Gives what holds now, after it called the function that fixes the snapshot of the database: both
are of the same instant."""

FOREVER: Final[Instant] = -(2**63)
"""Since when static data hold."""

_FIRST_NEW: Final = 2**62
"""Beyond all ids of the dictionary; those below zero belong to the compiler."""

_STATEMENT_COLUMNS: Final = (
    "subject",
    "predicate",
    "object",
    "number",
    "marks",
    "valid_from",
    "stay",
    "message",
)
_STAY_COLUMNS: Final = ("stay", "name", "entered", "time", "message")
_MAKE: Final = f"""
create temporary table {LIVE_TERMS} (
    id bigint primary key, number numeric, moment timestamptz, kind smallint not null,
    text text not null, datatype text, language text
);
create temporary table {LIVE_STATEMENTS} (
    subject bigint not null, predicate bigint not null, object bigint not null,
    number double precision, marks integer not null, valid_from bigint not null,
    stay bigint not null, message bigint not null
);
create temporary table {LIVE_STAYS} (
    stay bigint not null, name bigint not null, entered bigint not null, time bigint not null,
    message bigint not null
);
create index on {LIVE_STATEMENTS} (subject);
create index on {LIVE_STATEMENTS} (predicate, object);
create index on {LIVE_STATEMENTS} (predicate, number);
create index on {LIVE_STATEMENTS} (stay)
"""
_COPY_TERMS: Final = copy_command(f"pg_temp.{LIVE_TERMS}", TERM_COLUMNS)
_COPY_STATEMENTS: Final = copy_command(f"pg_temp.{LIVE_STATEMENTS}", _STATEMENT_COLUMNS)
_COPY_STAYS: Final = copy_command(f"pg_temp.{LIVE_STAYS}", _STAY_COLUMNS)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The ids of terms: those of the dictionary; others for what only the window knows."""

    keys: Mapping[Term, TermKey]
    known: Mapping[TermKey, int]
    new: Mapping[TermKey, int]

    def of(self, term: Term) -> int:
        key = self.keys[term]
        number = self.known.get(key)
        return self.new[key] if number is None else number


def begin_question(
    connection: extensions.connection,
    cursor: extensions.cursor,
    begin: Callable[[], None],
    live: LiveSource | None,
) -> Mapping[TermKey, int]:
    """Begin the transaction of a question: read-only, on one snapshot.

    Args:
        connection: the reader's, in no transaction.
        cursor: of the connection.
        begin: executes the first statement, which fixes the snapshot.
        live: fill the temporary tables with what holds now.

    Returns:
        The ids of terms that the dictionary does not know yet: they mean nothing elsewhere.
    """
    if live is not None:
        connection.set_session(readonly=False)
        cursor.execute(_MAKE)
        connection.commit()
    connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
    if live is None:
        begin()
        return {}
    return _fill(cursor, live(begin))


def _fill(cursor: extensions.cursor, present: Present) -> Mapping[TermKey, int]:
    keys: dict[Term, TermKey] = {each.name: term_key(each.name) for each in present.stays}
    for each in present.statements:
        for term in each.triple:
            if term not in keys:
                keys[term] = term_key(term)
    distinct = list(dict.fromkeys(keys.values()))
    known = look_up(cursor, distinct)
    unknown = (key for key in distinct if key not in known)
    new = dict(zip(unknown, count(_FIRST_NEW), strict=False))
    terms = {key: term for term, key in keys.items() if key in new}
    cursor.copy_expert(_COPY_TERMS, copy_text(term_rows(terms, new)))
    numbers = _Numbers(keys, known, new)
    cursor.copy_expert(_COPY_STATEMENTS, copy_text(_rows(present.statements, numbers)))
    stays = (
        (each.stay, numbers.of(each.name), each.entered, each.time, each.message)
        for each in present.stays
    )
    cursor.copy_expert(_COPY_STAYS, copy_text(stays))
    cursor.execute(f"analyze {LIVE_TERMS}; analyze {LIVE_STATEMENTS}; analyze {LIVE_STAYS}")
    return new


def _rows(statements: Iterable[Standing], numbers: _Numbers) -> Iterator[Row]:
    for each in statements:
        subject, predicate, value = each.triple
        yield (
            numbers.of(subject),
            numbers.of(predicate),
            numbers.of(value),
            rounded(number_of(value)),
            each.marks,
            each.since,
            each.stay,
            each.message,
        )
