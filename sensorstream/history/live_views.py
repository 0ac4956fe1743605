"""The views of schema ``live``: the window, in the columns that history has.

They are history's views over other tables: what holds now, which a question brings along in
temporary tables (:mod:`sensorstream.history.asking.live`). A permanent view cannot name a temporary
table, but a function can: PostgreSQL puts its text in the place of its call when a query is
planned, so the indexes of the temporary tables are used.
"""

from __future__ import annotations

from typing import Final

from psycopg2 import extensions
from sqlglot import exp

from sensorstream.history.asking.relations import LIVE_STATEMENTS, LIVE_STAYS, LIVE_TERMS
from sensorstream.kb.graph import Origin

LIVE: Final = "live"

_ENDS: Final = {"valid_to", "expired_at"}
_INFERRED: Final = int(Origin.INFERRED)
_OF_WINDOW: Final = int(Origin.WINDOW | Origin.INFERRED)
_TERM: Final = (
    "id bigint, moment timestamp with time zone, kind smallint, number numeric, text text, "
    "datatype text, language text"
)
_NAMES: Final = "id, moment, kind, number, text, datatype, language"
# For each table that history's views read, the function in its place: its columns, its text.
_FUNCTIONS: Final = {
    "terms": (
        LIVE_TERMS,
        _TERM,
        f"select {_NAMES} from store.terms union all select {_NAMES} from pg_temp.{LIVE_TERMS}",
    ),
    "stays": (
        LIVE_STAYS,
        'stay bigint, name bigint, entered bigint, "time" bigint, expired_at bigint, '
        "message bigint",
        f"select stay, name, entered, time, null::bigint, message from pg_temp.{LIVE_STAYS}",
    ),
    "statements": (
        LIVE_STATEMENTS,
        "subject bigint, predicate bigint, object bigint, valid_from bigint, valid_to bigint, "
        "stay bigint, message bigint, number double precision, inferred boolean",
        "select subject, predicate, object, valid_from, null::bigint, stay, message, number, "
        f"marks & {_INFERRED} <> 0 from pg_temp.{LIVE_STATEMENTS} "
        f"where marks & {_OF_WINDOW} <> 0",
    ),
}


def install_live_functions(cursor: extensions.cursor) -> None:
    """Make the functions that the views read; the tables in them need not be there."""
    cursor.execute("set local check_function_bodies = off")
    for name, columns, body in _FUNCTIONS.values():
        cursor.execute(
            f"create or replace function store.{name}() returns table ({columns}) "
            f"language sql stable parallel restricted as $body${body}$body$"
        )


def live_query(query: exp.Select) -> exp.Select:
    """The query of a view of history, asked of the window."""
    changed = query.copy()
    for node in list(changed.find_all(exp.Table, exp.EQ, exp.Alias)):
        if isinstance(node, exp.Table) and node.name in _FUNCTIONS:
            call = exp.Anonymous(this=_FUNCTIONS[node.name][0])
            alias = exp.TableAlias(this=exp.to_identifier(node.alias))
            node.replace(exp.Table(this=call, db=exp.to_identifier(node.db), alias=alias))
        elif isinstance(node, exp.EQ) and {node.left.name, node.right.name} == _ENDS:
            # Neither has an end.
            node.replace(exp.true())
        elif isinstance(node, exp.Alias) and node.alias == "superseded":
            node.replace(exp.alias_(exp.false(), node.alias))
    return changed
