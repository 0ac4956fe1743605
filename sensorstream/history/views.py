"""The views for users in PostgreSQL: created and replaced as the ontology requires.

The views of schema ``live``, the window, are history's views over other tables: the present, which
a question brings along in temporary tables (:mod:`sensorstream.history.asking.history_relations`).
A permanent view cannot name a temporary table, but a function can: PostgreSQL inlines it when a
query is planned, so the indexes of the temporary tables are used. Beside them are SQL functions of
schema ``history`` for questions about time, on both time lines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import json
from psycopg2 import extensions
from sqlalchemy import Connection, Engine, Table
from sqlalchemy.dialects import postgresql
from sqlglot import exp

from sensorstream.errors import OntologyConflict
from sensorstream.history import tables
from sensorstream.history.asking.history_relations import LIVE_STATEMENTS, LIVE_STAYS, LIVE_TERMS
from sensorstream.history.database import one_value, opened, translating
from sensorstream.history.read_only_sql import install_row_batches
from sensorstream.history.reader_role import admit_reader
from sensorstream.history.store_rows import STATEMENTS, STAYS
from sensorstream.history.term_dictionary import Dictionary
from sensorstream.history.view_definitions import (
    ENTRY_VIEWS,
    numbered_text,
    terms_of,
    view_definitions,
)
from sensorstream.kb.graph_index import Origin
from sensorstream.model.frozen import frozen
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline
from sensorstream.sql.postgres.sql_reader import HISTORY

LIVE: Final = "live"

# The comments of generated objects contain it, so that objects of users are never touched.
_MARK: Final = "SensorStream:"
_ENDS: Final = {"valid_to", "expired_at"}
_INFERRED: Final = int(Origin.INFERRED)
_OF_WINDOW: Final = int(Origin.WINDOW | Origin.INFERRED)


_DIALECT: Final = postgresql.dialect()  # type: ignore[no-untyped-call]


def _typed(table: Table, columns: Iterable[str]) -> str:
    """Some columns of a table with their types, as SQL declares them."""
    told = ((each, table.c[each].type.compile(_DIALECT)) for each in columns)
    return ", ".join(f'"{name}" {kind}' for name, kind in told)


_NAMES: Final = ", ".join(tables.terms.c.keys())
# The functions that replace the tables of history's views: their columns, their text.
_FUNCTIONS: Final = {
    "terms": (
        LIVE_TERMS,
        _typed(tables.terms, tables.terms.c.keys()),
        f"select {_NAMES} from store.terms union all select {_NAMES} from pg_temp.{LIVE_TERMS}",
    ),
    "stays": (
        LIVE_STAYS,
        _typed(tables.stays, STAYS.columns),
        f"select stay, name, entered, time, null::bigint, message from pg_temp.{LIVE_STAYS}",
    ),
    "statements": (
        LIVE_STATEMENTS,
        _typed(tables.statements, STATEMENTS.columns),
        "select subject, predicate, object, valid_from, null::bigint, stay, message, number, "
        f"marks & {_INFERRED} <> 0 from pg_temp.{LIVE_STATEMENTS} "
        f"where marks & {_OF_WINDOW} <> 0",
    ),
}


def live_query(query: exp.Select) -> exp.Select:
    """The query of a view of history, over the window."""
    changed = query.copy()
    for node in list(changed.find_all(exp.Table, exp.EQ, exp.Alias)):
        if isinstance(node, exp.Table) and node.name in _FUNCTIONS:
            call = exp.Anonymous(this=_FUNCTIONS[node.name][0])
            alias = exp.TableAlias(this=exp.to_identifier(node.alias))
            node.replace(exp.Table(this=call, db=exp.to_identifier(node.db), alias=alias))
        elif isinstance(node, exp.EQ) and {node.left.name, node.right.name} == _ENDS:
            # Neither of them has an end.
            node.replace(exp.true())
        elif isinstance(node, exp.Alias) and node.alias == "superseded":
            node.replace(exp.alias_(exp.false(), node.alias))
    return changed


_GAPS: Final = """
  select subject, until, valid_from from (
    select s.subject, s.valid_from, max(s.valid_to) over (
      partition by s.subject order by s.valid_from, s.valid_to
      rows between unbounded preceding and 1 preceding
    ) as until
    from history.statements as s where s.predicate = property
  ) as known
  where {distance} > longest order by subject, valid_from
"""

_SESSIONS: Final = """
  select subject, min(valid_from), max(valid_to), count(*) from (
    select subject, valid_from, valid_to, count(*) filter (where starts) over (
      partition by subject order by valid_from, valid_to rows unbounded preceding
    ) as number
    from (
      select subject, valid_from, valid_to, until is null or {distance} > longest as starts
      from (
        select s.subject, s.valid_from, s.valid_to, max(s.valid_to) over (
          partition by s.subject order by s.valid_from, s.valid_to
          rows between unbounded preceding and 1 preceding
        ) as until
        from history.statements as s where s.predicate = property
      ) as known
    ) as begun
  ) as numbered
  group by subject, number order by subject, min(valid_from)
"""


@frozen
class _Function:
    name: str
    arguments: str
    result: str
    volatility: str
    body: str
    comment: str


def install_functions(cursor: extensions.cursor, timeline: Timeline) -> None:
    """Make the functions that are missing, or were made by another version.

    A function of the user with the same name and arguments is not touched.
    """
    for each in _functions(timeline):
        digest = hashlib.sha256(repr(each).encode()).hexdigest()[:12]
        comment = f"{_MARK} {each.comment} [{digest}]"
        # "property text, longest bigint": the types identify it.
        types = ", ".join(argument.split(" ", 1)[1] for argument in each.arguments.split(", "))
        signature = f"history.{each.name}({types})"
        cursor.execute(
            "select obj_description(to_regprocedure(%s), 'pg_proc'), "
            "to_regprocedure(%s) is not null",
            (signature, signature),
        )
        row = cursor.fetchone()
        assert row is not None
        told, there = row
        if there and (told == comment or not (told or "").startswith(_MARK)):
            continue
        if there:
            cursor.execute(f"drop function {signature}")
        cursor.execute(
            f"create function history.{each.name}({each.arguments}) returns {each.result} "
            f"language sql {each.volatility} parallel safe as $body${each.body}$body$"
        )
        cursor.execute(f"comment on function {signature} is %s", (comment,))


def _functions(timeline: Timeline) -> tuple[_Function, ...]:
    if timeline is Timeline.INTEGER:
        time, width = "bigint", "bigint"
        # A difference of two bigint may not fit.
        distance = "valid_from::numeric - until"
        bucket = "select moment - ((moment % width) + width) % width"
    else:
        time, width = "timestamp with time zone", "interval"
        distance = "valid_from - until"
        bucket = "select date_bin(width, moment, timestamptz '1970-01-01 00:00:00+00')"
    return (
        _Function(
            "time_bucket",
            f"width {width}, moment {time}",
            time,
            "immutable strict",
            bucket,
            "the beginning of the bucket that a time is in; one begins at 0 or 1970-01-01T00:00Z",
        ),
        _Function(
            "gaps",
            f"property text, longest {width}",
            f"table (iri text, gap_from {time}, gap_to {time})",
            "stable",
            _GAPS.format(distance=distance),
            "where an individual had no value of a property for longer than a time",
        ),
        _Function(
            "sessions",
            f"property text, longest {width}",
            f'table (iri text, session_from {time}, session_to {time}, "values" bigint)',
            "stable",
            _SESSIONS.format(distance=distance),
            "the values of a property, parted where a gap is longer than a time",
        ),
    )


_SCHEMAS: Final = (HISTORY, LIVE)
_TELLING: Final = f"store.{LIVE_STAYS}()"
_TOLD: Final = "the views are as an ontology and a version have them"
"""The comment of this function: while it is as it would be now, the views need not be made."""


@frozen
class _Rendered:
    """A view in PostgreSQL's dialect; its terms have no numbers yet."""

    name: str
    text: str
    comment: str
    live: str | None
    """The query of the view of the window, if there is one."""


def install_views(database: Engine, schema: Schema, timeline: Timeline) -> None:
    """Make the views of history and window, all or nothing, and let the reader see them.

    Views that need no change are not touched, so a restart waits for no running query. Raises
    HistoryError if the database fails, or a user's view depends on a generated view that has to
    change.
    """
    with translating("cannot make the history's views"):
        with database.begin() as connection:
            cursor = _driver_cursor(connection)
            made, views = _made_of(schema, timeline), None
            told = one_value(cursor, f"select obj_description(to_regprocedure('{_TELLING}'))")
            if told != _comment(_TOLD, made + repr(_installed(cursor))):
                views, terms = rendered(schema, timeline)
                _name_terms(cursor, terms)
        # In a transaction of its own: the views may have to wait for queries, and the writer must
        # not wait for them.
        with database.begin() as connection:
            _install(_driver_cursor(connection), views, timeline, made)


def _made_of(schema: Schema, timeline: Timeline) -> str:
    """All that the views depend on: the ontology, and the code that renders them."""
    found = hashlib.sha256(json.encode((timeline, schema), order="deterministic", enc_hook=str))
    package = Path(__file__).parents[1]
    for each in sorted((*package.glob("history/**/*.py"), *package.glob("model/*.py"))):
        found.update(each.read_bytes())
    return found.hexdigest()


def admit_to_views(url: str) -> None:
    """Let the reader see the views of a restored database.

    Raises HistoryError if the database fails.
    """
    with opened(url, "cannot let the reader in") as cursor:
        cursor.execute(
            "select nspname::text from pg_namespace where nspname = any(%s)", (list(_SCHEMAS),)
        )
        admit_reader(cursor, [name for (name,) in cursor.fetchall()])


def _install(
    cursor: extensions.cursor, views: Sequence[_Rendered] | None, timeline: Timeline, made: str
) -> None:
    """Make what is missing; ``views``: None if they are there, as ``made`` says."""
    for name in _SCHEMAS:
        cursor.execute(f"create schema if not exists {name}")
    # The tables in the functions need not exist.
    cursor.execute("set local check_function_bodies = off")
    for name, columns, body in _FUNCTIONS.values():
        cursor.execute(
            f"create or replace function store.{name}() returns table ({columns}) "
            f"language sql stable parallel restricted as $body${body}$body$"
        )
    install_row_batches(cursor)
    if views is not None:
        wanted = _wanted(cursor, views)
        there = _installed(cursor)
        for name in _changed(there, wanted):
            cursor.execute(f"drop view {name}")
        for name, (text, comment) in wanted.items():
            if there.get(name) != comment:
                cursor.execute(f"create view {name} as {text}")
                cursor.execute(f"comment on view {name} is %s", (comment,))
        told = _comment(_TOLD, made + repr(_installed(cursor)))
        cursor.execute(f"comment on function {_TELLING} is %s", (told,))
    install_functions(cursor, timeline)
    admit_reader(cursor, _SCHEMAS)


def check_views(database: Engine, schema: Schema, timeline: Timeline) -> None:
    """Check that the views of an ontology could be made now; nothing is changed.

    Raises:
        OntologyConflict: another view depends on a generated view that would change.
        HistoryError: the database fails.
    """
    with translating("cannot check the history's views"), database.connect() as connection:
        cursor = _driver_cursor(connection)
        changed = _changed(_installed(cursor), _wanted(cursor, rendered(schema, timeline)[0]))
        # The dependencies of a view's rule, except the view itself.
        cursor.execute(
            "select distinct r.ev_class::regclass::text, n.nspname, v.relname from pg_depend d "
            "join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass "
            "join pg_class v on v.oid = d.refobjid and d.refclassid = 'pg_class'::regclass "
            "join pg_namespace n on n.oid = v.relnamespace "
            "where n.nspname = any(%s) "
            """and format('"%%s"."%%s"', n.nspname, v.relname) = any(%s) """
            "and r.ev_class <> v.oid order by 1, 2, 3",
            (list(_SCHEMAS), list(changed)),
        )
        row = cursor.fetchone()
        connection.rollback()
    if row is not None:
        raise OntologyConflict(
            f"the view {row[0]} is built on {row[1]}.{row[2]}, which would change: drop it, put "
            "the ontology, and make it again"
        )


@lru_cache(maxsize=8)
def rendered(schema: Schema, timeline: Timeline) -> tuple[tuple[_Rendered, ...], frozenset[IRI]]:
    """The views and the IRIs whose numbers they need. Cached: a new ontology needs them twice."""
    definitions = view_definitions(schema, timeline)
    terms = terms_of(definitions)
    views = []
    for view in definitions:
        live = None if view.name in ENTRY_VIEWS else _sql(live_query(view.query))
        views.append(_Rendered(view.name, _sql(view.stored or view.query), view.comment, live))
    return tuple(views), terms


def _wanted(cursor: extensions.cursor, views: Iterable[_Rendered]) -> dict[str, tuple[str, str]]:
    """Text and comment of the views of history and window, by their names in SQL."""
    cursor.execute(
        "select t.text, v.term from store.vocabulary v join store.terms t on t.id = v.term"
    )
    numbers: dict[str, int] = dict(cursor.fetchall())

    found: dict[str, tuple[str, str]] = {}
    for view in views:
        text = numbered_text(view.text, numbers)
        found[f'"{HISTORY}"."{view.name}"'] = text, _comment(view.comment, text)
        if view.live is not None:
            # Its query is made from that of history: one fingerprint is enough for both.
            told = f"what is in the window now, as history.{view.name} has what was"
            live = numbered_text(view.live, numbers)
            found[f'"{LIVE}"."{view.name}"'] = live, _comment(told, text)
    return found


def _changed(there: Mapping[str, str], wanted: Mapping[str, tuple[str, str]]) -> frozenset[str]:
    """The names of the views that must be replaced."""
    return frozenset(
        name for name, comment in there.items() if name not in wanted or wanted[name][1] != comment
    )


def drop_views(connection: Connection) -> None:
    """Remove the generated views, which would block a change of the base tables."""
    cursor = _driver_cursor(connection)
    for name in _installed(cursor):
        cursor.execute(f"drop view {name}")


def _name_terms(cursor: extensions.cursor, names: Collection[IRI]) -> None:
    """Give IRIs numbers for views; these terms stay, even without statements."""
    # The same lock as the writer's, so that no term gets two numbers, and none is removed.
    cursor.execute("select from store.progress for update")
    numbers = Dictionary().numbers(cursor, sorted(names))
    cursor.execute(
        "insert into store.vocabulary select unnest(%s::bigint[]) on conflict do nothing",
        (list(numbers.values()),),
    )


def _driver_cursor(connection: Connection) -> extensions.cursor:
    driver = connection.connection.driver_connection
    assert isinstance(driver, extensions.connection)
    return driver.cursor()


def _installed(cursor: extensions.cursor) -> dict[str, str]:
    """The comments of the existing generated views, by their names in SQL."""
    cursor.execute(
        """select format('"%%s"."%%s"', n.nspname, c.relname), """
        "obj_description(c.oid, 'pg_class') from pg_class c "
        "join pg_namespace n on n.oid = c.relnamespace "
        "where n.nspname = any(%s) and c.relkind = 'v' "
        "and obj_description(c.oid, 'pg_class') like %s order by 1",
        (list(_SCHEMAS), f"{_MARK}%"),
    )
    return dict(cursor.fetchall())


def _comment(told: str, query: str) -> str:
    """The description of the view and a fingerprint of its query, to detect changes."""
    digest = hashlib.sha256(query.encode()).hexdigest()[:12]
    return f"{_MARK} {told} [{digest}]"


def _sql(query: exp.Select) -> str:
    """The query in PostgreSQL's dialect; the tree is consumed.

    Moments are made by the function ``store.moment``: it is exact, and there are indexes on it, so
    conditions on the times of a view use them.
    """
    for node in list(query.find_all(exp.UnixToTime)):
        moment = exp.func("moment", node.this, copy=False)
        node.replace(exp.Dot(this=exp.to_identifier("store"), expression=moment))
    return query.sql("postgres", identify=True, copy=False)
