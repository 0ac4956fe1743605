"""The relations that a query over history reads: statements, times, graphs.

Statements of history are rows of ``store.statements``. Those of the window, the ontology and the
static data come with the question, in temporary tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Final, TypeAlias

from psycopg2 import extensions
from sqlglot import exp

from sensorstream.history.asking.checked_question import AtInstant, Interval
from sensorstream.history.copying import RowShape
from sensorstream.history.term_dictionary import (
    TermKey,
    look_up,
    number_of,
    rounded,
    term_key,
    term_rows,
)
from sensorstream.kb.graph_index import Origin
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.model.vocabulary import (
    GRAPH_INFERRED,
    GRAPH_PERSISTENT,
    GRAPH_STATIC,
    GRAPH_WINDOW,
)
from sensorstream.sparql.answerable import HISTORY_GRAPHS
from sensorstream.sql.sparql.compiled_query import Id, QueryRelations

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
    time: AtInstant | Interval | None, ids: Mapping[Term, Id], *, live: bool, beside: bool = True
) -> QueryRelations:
    """The relations of a query with these constants, of the time when a statement must have held
    (None: ever); the default graph is the union of all. ``live``: the temporary tables with the
    present window are read too. ``beside``: as in :class:`.QueryRelations`.
    """
    named = {graph: _union(_parts(graph, time, live=live)) for graph in HISTORY_GRAPHS}
    default = _union([_statements(time), *([_statements(time, live=True)] if live else ())])
    terms = [_terms("store", "terms")]
    if live:
        terms.append(_terms("pg_temp", LIVE_TERMS))
    return QueryRelations(default, _union(terms), ids, named, beside)


def tell_spans(scope: QueryRelations, time: AtInstant | Interval | None) -> None:
    """Add "as of an instant" as a condition on spans, for PostgreSQL's planner.

    The planner takes ``valid_from <= at`` and ``valid_to > at`` to be independent, and so half of
    all statements to hold at an instant; for spans it has statistics (``statements_span_idx``).
    """
    if not isinstance(time, AtInstant):
        return
    for tree in (scope.default, *scope.named.values()):
        for table in list(tree.find_all(exp.Table)):
            if table.db == "store" and table.name == "statements":
                select = table.find_ancestor(exp.Select)
                assert select is not None
                told = f"store.span(valid_from, valid_to) @> CAST({time.at:d} AS BIGINT)"
                select.where(told, copy=False, dialect="postgres")


def _parts(graph: IRI, time: AtInstant | Interval | None, *, live: bool) -> list[exp.Select]:
    """The selects whose union is a graph."""
    parts: list[exp.Select] = []
    if graph == GRAPH_PERSISTENT:
        parts.append(_statements(time))
    elif graph == GRAPH_INFERRED:
        parts.append(_statements(time).where("inferred", copy=False))
    if live and graph in _MARKS:
        of_graph = f"marks & {_MARKS[graph]} <> 0"
        parts.append(_statements(time, live=True).where(of_graph, copy=False))
    return parts


def _statements(time: AtInstant | Interval | None, *, live: bool = False) -> exp.Select:
    """Statements that have left the window, or ended within it.

    ``live``: those that hold now instead; they began at ``valid_from`` and have no end yet.
    """
    schema, name = ("pg_temp", LIVE_STATEMENTS) if live else ("store", "statements")
    tree = exp.select(*_TRIPLE).from_(exp.table_(name, db=schema))
    match time:
        case AtInstant(at):
            begun, ended = f"valid_from <= {at:d}", f"valid_to > {at:d}"
        case Interval(start, end):
            begun, ended = f"valid_from < {end:d}", f"valid_to > {start:d}"
        case None:
            return tree
    return tree.where(begun, *(() if live else (ended,)))


def _terms(schema: str, table: str) -> exp.Select:
    return exp.select(*_TERM).from_(exp.table_(table, db=schema))


def _union(parts: Sequence[exp.Select]) -> exp.Select:
    """The union of selects; without any, a select of no row."""
    if not parts:
        return _statements(None).where(exp.false(), copy=False)
    if len(parts) == 1:
        return parts[0]
    union: exp.Query = parts[0]
    for each in parts[1:]:
        union = union.union(each, distinct=False)
    columns = (each.alias_or_name for each in parts[0].expressions)
    return exp.select(*columns).from_(union.subquery("parts"))


@frozen
class StandingTriple:
    """A triple that holds now, with its graphs (a sum of :class:`.Origin`), and since when.

    ``stay`` and ``message`` are the numbers of the stay that it belongs to, and of the message that
    said or caused it; 0 if there is none.
    """

    triple: Triple
    marks: int
    since: Instant
    stay: int = 0
    message: int = 0


@frozen
class LiveStay:
    """A stay in the window that has not ended; ``message`` is a number in the journal."""

    stay: int
    name: Subject
    entered: Instant
    time: Instant
    message: int


@frozen
class PresentStatements:
    """The statements and stays of the present, at one instant."""

    statements: Sequence[StandingTriple]
    stays: Sequence[LiveStay]


LiveSource: TypeAlias = Callable[[Callable[[str], None]], PresentStatements]
"""A function that gives the present after it called the function that fixes the snapshot of the
database: both are of the same instant. That gets the name of an exported snapshot; "": that of now.
"""

FOREVER: Final[Instant] = -(2**63)
"""The begin of static data."""

_FIRST_NEW: Final = 2**62
"""A number beyond all ids of the dictionary; those below zero belong to the compiler."""

_TABLES: Final = {
    LIVE_TERMS: "id bigint primary key, number numeric, moment timestamptz, "
    "kind smallint not null, text text not null, datatype text, language text",
    LIVE_STATEMENTS: "subject bigint not null, predicate bigint not null, object bigint not null, "
    "number double precision, marks integer not null, valid_from bigint not null, "
    "stay bigint not null, message bigint not null",
    LIVE_STAYS: "stay bigint not null, name bigint not null, entered bigint not null, "
    "time bigint not null, message bigint not null",
}
_MAKE: Final = ";".join(
    [
        *(f"create temporary table {name} ({columns})" for name, columns in _TABLES.items()),
        *(
            f"create index on {LIVE_STATEMENTS} ({columns})"
            for columns in ("subject", "predicate, object", "predicate, number", "stay")
        ),
    ]
)
_SHAPES: Final = {
    name: RowShape(f"pg_temp.{name}", tuple(each.split()[0] for each in columns.split(", ")))
    for name, columns in _TABLES.items()
}


def begin_question(
    connection: extensions.connection,
    cursor: extensions.cursor,
    begin: Callable[[], None],
    live: LiveSource | None,
) -> Mapping[TermKey, int]:
    """Begin the transaction of a question: read-only, on one snapshot.

    ``connection`` is the reader's, in no transaction; ``cursor`` is a cursor of it. ``begin``
    executes the first statement, which fixes the snapshot. ``live`` fills the temporary tables with
    the present. Returns the ids of terms that the dictionary does not know yet; they are valid only
    here.
    """
    if live is not None:
        connection.set_session(readonly=False)
        cursor.execute(_MAKE)
        connection.commit()
    connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
    if live is None:
        begin()
        return {}

    def fix(snapshot: str) -> None:
        if snapshot:
            cursor.execute("set transaction snapshot %s", (snapshot,))
        begin()

    return _fill(cursor, live(fix))


def _fill(cursor: extensions.cursor, present: PresentStatements) -> Mapping[TermKey, int]:
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
    # Ids of the dictionary, and others for terms that only the window knows.
    ids = {term: new[key] if key in new else known[key] for term, key in keys.items()}
    stays = (
        (each.stay, ids[each.name], each.entered, each.time, each.message) for each in present.stays
    )
    rows = (
        (
            *(ids[term] for term in each.triple),
            rounded(number_of(each.triple[2])),
            each.marks,
            each.since,
            each.stay,
            each.message,
        )
        for each in present.statements
    )
    tables = {LIVE_TERMS: term_rows(terms, new), LIVE_STATEMENTS: rows, LIVE_STAYS: stays}
    for name, told in tables.items():
        _SHAPES[name].copy(cursor, told)
    cursor.execute(f"analyze {LIVE_TERMS}; analyze {LIVE_STATEMENTS}; analyze {LIVE_STAYS}")
    return new
