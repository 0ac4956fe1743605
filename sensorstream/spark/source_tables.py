"""The history's tables for Spark: columns, types, PostgreSQL's CSV of them, the archive's files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from typing import Final, TypeAlias

from psycopg2 import sql
from sqlalchemy import (
    BigInteger,
    Boolean,
    DateTime,
    Double,
    LargeBinary,
    Numeric,
    SmallInteger,
    Table,
    Text,
)

from sensorstream.history import tables
from sensorstream.model.frozen import frozen, replace

Value: TypeAlias = int | float | str | bool


class ColumnComparison(Enum):
    """Comparisons of a column with a value; the texts are SQL."""

    IN = "in"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="


@frozen
class ColumnCondition:
    """A condition on a column; all but IN have one value. NULL never fulfils it."""

    column: str
    comparison: ColumnComparison
    values: tuple[Value, ...]


def span(conditions: Iterable[ColumnCondition], column: str) -> tuple[int | None, int | None]:
    """The least and the greatest value that a column of whole numbers may have; None: any.

    If no value is possible the least is above the greatest, or the answer is wider than it need be.
    """
    lows: list[int] = []
    highs: list[int] = []
    for each in conditions:
        if each.column != column:
            continue
        values = [value for value in each.values if isinstance(value, int)]
        match each.comparison:
            case ColumnComparison.IN if values:
                lows.append(min(values))
                highs.append(max(values))
            case ColumnComparison.LESS:
                highs += [value - 1 for value in values]
            case ColumnComparison.AT_MOST:
                highs += values
            case ColumnComparison.MORE:
                lows += [value + 1 for value in values]
            case ColumnComparison.AT_LEAST:
                lows += values
    return max(lows, default=None), min(highs, default=None)


_TRUE: Final = sql.SQL("true")


@frozen
class SourceColumn:
    """``kind`` is Spark's type name; ``value`` the SQL of what PostgreSQL has no column for."""

    name: str
    kind: str
    value: str | None = None

    @property
    def tested(self) -> str:
        """The SQL expression that conditions compare."""
        return self.value or self.name

    @property
    def written(self) -> str:
        """The SQL expression of the column, as a text that the CSV reader can parse."""
        if self.kind == "timestamp":
            return f"(extract(epoch from {self.tested}) * 1000000)::bigint"
        if self.kind == "binary":
            return f"encode({self.tested}, 'hex')"
        return self.tested


@frozen
class SourceTable:
    """A table of schema ``store``.

    ``unique`` is a column without equal values, also not in the archive. ``key`` is the column by
    which tasks read ranges, where the reading role sees only a view of the table, in schema
    ``history``; without it a task reads a range of pages.
    """

    name: str
    columns: tuple[SourceColumn, ...]
    unique: str | None = None
    key: str | None = None

    @property
    def identifier(self) -> sql.Identifier:
        """The relation that the reading role may read."""
        return sql.Identifier("store" if self.key is None else "history", self.name)

    def only(self, names: Collection[str]) -> SourceTable:
        """The table with some of its columns, in its own order."""
        return replace(self, columns=tuple(each for each in self.columns if each.name in names))

    @property
    def schema(self) -> str:
        """The columns as Spark's DDL."""
        return ", ".join(f"`{each.name}` {each.kind}" for each in self.columns)


def condition_of(table: SourceTable, conditions: Collection[ColumnCondition]) -> sql.Composable:
    """Conditions of a table for PostgreSQL."""
    tested = {each.name: each.tested for each in table.columns}
    told = sorted(conditions, key=repr)
    return sql.SQL(" and ").join([_test(tested[each.column], each) for each in told] or [_TRUE])


def _test(column: str, condition: ColumnCondition) -> sql.Composable:
    values = [sql.Literal(value) for value in condition.values]
    if condition.comparison is ColumnComparison.IN:
        return sql.SQL("{} in ({})").format(sql.SQL(column), sql.SQL(", ").join(values))
    return sql.SQL("{} {} {}").format(sql.SQL(column), sql.SQL(condition.comparison.value), *values)


_KINDS: Final[Mapping[type, str]] = {
    BigInteger: "bigint",
    SmallInteger: "bigint",
    Double: "double",
    Boolean: "boolean",
    Text: "string",
    # A number of any digits is exact as a text.
    Numeric: "string",
    DateTime: "timestamp",
    LargeBinary: "binary",
}


def _table(
    table: Table,
    columns: str,
    *more: SourceColumn,
    unique: str | None = None,
    key: str | None = None,
) -> SourceTable:
    """A table with these of its columns, of the types that PostgreSQL has for them."""
    told = [
        SourceColumn(
            name,
            _KINDS[type(table.c[name].type)],
            f"{name}::text" if type(table.c[name].type) is Numeric else None,
        )
        for name in columns.split()
    ]
    return SourceTable(table.name, (*told, *more), unique, key)


SOURCE_TABLES: Final[Mapping[str, SourceTable]] = {
    each.name: each
    for each in (
        _table(tables.terms, "id kind text datatype language moment number", unique="id"),
        _table(tables.stays, "stay name entered time expired_at message", unique="stay"),
        _table(
            tables.statements,
            "subject predicate object valid_from valid_to stay message number inferred",
        ),
        _table(
            tables.messages,
            "seq id source received_at content status reason",
            # The view has messages only.
            SourceColumn("kind", "string", "'message'::text"),
            key="seq",
        ),
        _table(
            tables.alerts,
            "seq id rule kind severity text key time raised_at message_id",
        ),
    )
}
