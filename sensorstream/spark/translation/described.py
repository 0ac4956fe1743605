"""What PostgreSQL says about a query and about the views, before Spark is asked."""

from __future__ import annotations

from psycopg2 import extensions

from sensorstream.spark.translation.translate import Catalog
from sensorstream.spark.translation.types import BY_OID, SqlType

_COLUMNS = """
select c.relname, a.attname, a.atttypid
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where n.nspname = 'history' and c.relkind = 'v'
order by c.oid, a.attnum
"""
# A built-in or a C locale compares by code point; others do so by a language. A C locale alone
# changes the case of ASCII only, Spark of all letters.
_LOCALE = """
select datlocprovider = 'b' and datlocale = 'C.UTF-8'
from pg_catalog.pg_database where datname = pg_catalog.current_database()
"""


def read_catalog(cursor: extensions.cursor) -> Catalog:
    """The views of schema ``history`` as they are in the database."""
    cursor.execute(_COLUMNS)
    views: dict[str, dict[str, SqlType]] = {}
    for view, column, oid in cursor.fetchall():
        columns = views.setdefault(view, {})
        if oid in BY_OID:
            columns[column] = BY_OID[oid]
    cursor.execute(_LOCALE)
    row = cursor.fetchone()
    return Catalog(views, by_code_point=bool(row and row[0]))
