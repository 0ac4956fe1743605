"""Rows of the cursor ``answer`` in batches whose bytes are bounded before they are sent.

A value may have a gigabyte (``repeat('x', 1000000000)``), and libpq keeps all that one statement
answers: a limit that is looked at afterwards is too late. So a function in PostgreSQL takes rows
from the cursor until they are enough, and refuses a row that is too large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from psycopg2 import extensions

from sensorstream.errors import Overrun

Row: TypeAlias = tuple[object, ...]

NEXT_ROWS: Final = "store.next_rows"
BATCH_BYTES: Final = 4 * 1024 * 1024
"""A batch ends with the row that brings it beyond this size, as text."""
_ROW_BYTES: Final = 16 * 1024 * 1024
ANSWER_BYTES: Final = 128 * 1024 * 1024
"""The most that the values of an answer have that is kept in memory."""

TOO_LARGE: Final = "54S01"
"""The SQLSTATE of a row that is too large."""
_BODY: Final = f"""
declare
  one record;
  size bigint;
  total bigint := 0;
begin
  for n in 1 .. most loop
    fetch next from answer into one;
    exit when not found;
    size := octet_length(one::text);
    if size > {_ROW_BYTES} then
      raise exception using errcode = '{TOO_LARGE}', message = format(
        'a row of the answer has %s bytes, more than {_ROW_BYTES}: ask for less of it', size);
    end if;
    return next one;
    total := total + size;
    exit when total > {BATCH_BYTES};
  end loop;
end
"""

# Their size is that of the type, whatever the value.
_FIXED: Final = frozenset(
    (16, 18, 19, 20, 21, 23, 26, 700, 701, 1082, 1083, 1114, 1184, 1186, 1266, 2278, 2950)
)
# Of those that are most common, PostgreSQL need not be asked.
_NAMES: Final[Mapping[int, str]] = MappingProxyType(
    {
        16: "boolean",
        17: "bytea",
        20: "bigint",
        21: "smallint",
        23: "integer",
        25: "text",
        114: "json",
        700: "real",
        701: "double precision",
        1043: "varchar",
        1082: "date",
        1114: "timestamp",
        1184: "timestamptz",
        1700: "numeric",
        3802: "jsonb",
    }
)


@dataclass(frozen=True, slots=True)
class Fetching:
    """How rows are taken: ``statement`` has ``%s`` for the number of rows.

    ``most``: so many at a time. ``exact``: fewer come only at the end.
    """

    statement: str
    exact: bool
    most: int | None = None


def install_row_batches(cursor: extensions.cursor) -> None:
    """Make the function that takes rows from the cursor ``answer`` of its transaction."""
    cursor.execute(
        f"create or replace function {NEXT_ROWS}(answer refcursor, most integer) "
        f"returns setof record language plpgsql as $body${_BODY}$body$"
    )


def fetching(
    cursor: extensions.cursor, columns: Sequence[tuple[int, tuple[int, int] | None]]
) -> Fetching:
    """How to take the rows of the cursor ``answer``.

    Args:
        cursor: in the transaction of the cursor.
        columns: for each its type (OID), and the table and number of the column that it shows.
    """
    if _FIXED.issuperset(each for each, _ in columns):
        return Fetching("fetch forward %s from answer", exact=True)
    types = _declared(cursor, columns)
    names = dict(_NAMES)
    if unknown := [each for each in set(types) if each not in names]:
        cursor.execute(
            "select oid, case when typtype <> 'p' then format_type(oid, null) end "
            "from pg_catalog.pg_type where oid = any(%s)",
            (unknown,),
        )
        names |= dict(cursor.fetchall())
    told = [names.get(each) for each in types]
    if None in told:
        # A function cannot give a column of such a type, as "record".
        return Fetching("fetch forward %s from answer", exact=True, most=1)
    row = ", ".join(f"c{number} {name}" for number, name in enumerate(told))
    return Fetching(f"select * from {NEXT_ROWS}('answer', %s) as rows({row})", exact=False)


def _declared(
    cursor: extensions.cursor, columns: Sequence[tuple[int, tuple[int, int] | None]]
) -> list[int]:
    """The types of columns: where one is a domain, PostgreSQL tells that below it (protocol)."""
    types = [each for each, _ in columns]
    origins = [(place, *origin) for place, (_, origin) in enumerate(columns) if origin]
    if origins:
        cursor.execute(
            "select o.place, a.atttypid from unnest(%s::int[], %s::oid[], %s::int[]) "
            "as o (place, relation, number) join pg_catalog.pg_attribute a "
            "on a.attrelid = o.relation and a.attnum = o.number "
            "join pg_catalog.pg_type t on t.oid = a.atttypid and t.typtype = 'd'",
            tuple(map(list, zip(*origins, strict=True))),
        )
        for place, declared in cursor.fetchall():
            types[place] = declared
    return types


def bounded(batches: Iterable[Sequence[Row]]) -> Iterator[Sequence[Row]]:
    """The batches of an answer that is kept in memory.

    Raises:
        Overrun: their values have more bytes than :data:`ANSWER_BYTES`.
    """
    size = 0
    for batch in batches:
        size += sum(_size(value) for row in batch for value in row)
        if size > ANSWER_BYTES:
            raise Overrun(
                f"the answer has more than {ANSWER_BYTES:,} bytes: ask for less, or for SQL over "
                "history as CSV or Arrow, which is sent while it is read"
            )
        yield batch


def _size(value: object) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    return sum(map(_size, value)) if isinstance(value, list) else 8
