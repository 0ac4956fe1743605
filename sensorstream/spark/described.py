"""What PostgreSQL says about a query and about the views, before Spark is asked."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg2 import extensions

from sensorstream.errors import QueryError
from sensorstream.history.read_only_sql import describe_sql
from sensorstream.sql.postgres.reading import Catalog, Translated, translate
from sensorstream.sql.postgres.scope import BY_OID, Kind, SqlType

_COLUMNS = """
select c.relname, a.attname, a.atttypid
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where n.nspname = 'history' and c.relkind = 'v'
order by c.oid, a.attnum
"""
# Spark compares texts, and changes their case, as this locale does; others know a language, or
# change the case of ASCII only.
_LOCALE = """
select datlocprovider = 'b' and datlocale = 'C.UTF-8'
from pg_catalog.pg_database where datname = pg_catalog.current_database()
"""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query for Spark; ``names`` are its columns as PostgreSQL calls them."""

    query: Translated
    names: tuple[str, ...]


def prepare(url: str, text: str, *, timeout: float) -> Prepared:
    """Let PostgreSQL read a query, and translate it.

    Raises:
        QueryError: PostgreSQL or the translation refuses it.
        HistoryError: the history cannot be reached.
    """
    with describe_sql(url, text, timeout=timeout) as (columns, cursor):
        catalog = read_catalog(cursor)
    translated = translate(text, catalog)
    names = tuple(each.name for each in columns)
    starred = translated.starred and names != tuple(name for name, _ in translated.columns)
    if starred or len(names) != len(translated.columns):
        raise QueryError("not on Spark: the columns of * are not clear; write their names")
    for column, (_, type_) in zip(columns, translated.columns, strict=True):
        told = BY_OID.get(column.type)
        if told is None or (told.kind, told.item) != (type_.kind, type_.item):
            expected = told.kind.value if told else "not on the list of types"
            raise QueryError(
                f"not on Spark: column {column.name} would be {type_.kind.value}, in PostgreSQL it "
                f"is {expected}: write a cast"
            )
    return Prepared(translated, names)


def read_catalog(cursor: extensions.cursor) -> Catalog:
    """The views of schema ``history`` as they are in the database."""
    cursor.execute(_COLUMNS)
    views: dict[str, dict[str, SqlType]] = {}
    for view, column, oid in cursor.fetchall():
        columns = views.setdefault(view, {})
        type_ = BY_OID.get(oid)
        # A numeric of any digits has no type in Spark.
        if type_ is not None and type_.kind is not Kind.NUMERIC:
            columns[column] = type_
    cursor.execute(_LOCALE)
    row = cursor.fetchone()
    return Catalog(views, by_code_point=bool(row and row[0]))
