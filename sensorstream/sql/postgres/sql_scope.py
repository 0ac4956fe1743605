"""PostgreSQL's types beside Spark's, what an expression may refer to, and refusing what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

from sqlglot import exp

from sensorstream.errors import Position, QueryError
from sensorstream.model.frozen import field, frozen, replace
from sensorstream.sql.sql_fragments import made


class PostgresType(Enum):
    """A type of PostgreSQL; the value is its name there."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    BIGINT = "bigint"
    NUMERIC = "numeric"
    DOUBLE = "double precision"
    TEXT = "text"
    BYTES = "bytea"
    MOMENT = "timestamp with time zone"
    LOCAL = "timestamp without time zone"
    DATE = "date"
    SPAN = "interval"
    ARRAY = "array"
    UNKNOWN = "unknown"
    """A literal in quotes, or NULL, before its surroundings give it a type."""


@frozen
class SqlType:
    """A type. ``scale``: digits after the point of a numeric on Spark. ``loose``: PostgreSQL keeps
    fewer of them in some rows. ``item`` belongs to an array.
    """

    kind: PostgresType
    scale: int = 0
    loose: bool = False
    item: PostgresType | None = None


BOOLEAN: Final = SqlType(PostgresType.BOOLEAN)
INTEGER: Final = SqlType(PostgresType.INTEGER)
BIGINT: Final = SqlType(PostgresType.BIGINT)
NUMERIC: Final = SqlType(PostgresType.NUMERIC)
DOUBLE: Final = SqlType(PostgresType.DOUBLE)
TEXT: Final = SqlType(PostgresType.TEXT)
MOMENT: Final = SqlType(PostgresType.MOMENT)
LOCAL: Final = SqlType(PostgresType.LOCAL)
DATE: Final = SqlType(PostgresType.DATE)
SPAN: Final = SqlType(PostgresType.SPAN)
UNKNOWN: Final = SqlType(PostgresType.UNKNOWN)

# Numbers in the order in which PostgreSQL converts one to the other.
NUMBERS: Final = (
    PostgresType.INTEGER,
    PostgresType.BIGINT,
    PostgresType.NUMERIC,
    PostgresType.DOUBLE,
)
TIMES: Final = (PostgresType.DATE, PostgresType.LOCAL, PostgresType.MOMENT)

# Digits after the point of a quotient, of a mean, of a double made numeric; and the most in all.
QUOTIENT_SCALE: Final = 20
MOST_DIGITS: Final = 38

# For each type PostgreSQL's number, that of its arrays, and Spark's name; see
# https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat
_TYPES: Final[Mapping[PostgresType, tuple[int, int | None, str]]] = {
    PostgresType.BOOLEAN: (16, 1000, "BOOLEAN"),
    PostgresType.INTEGER: (23, 1007, "INT"),
    PostgresType.BIGINT: (20, 1016, "BIGINT"),
    PostgresType.NUMERIC: (1700, 1231, f"DECIMAL({MOST_DIGITS}, 0)"),
    PostgresType.DOUBLE: (701, 1022, "DOUBLE"),
    PostgresType.TEXT: (25, 1009, "STRING"),
    PostgresType.BYTES: (17, None, "BINARY"),
    PostgresType.MOMENT: (1184, 1185, "TIMESTAMP"),
    PostgresType.LOCAL: (1114, None, "TIMESTAMP_NTZ"),
    PostgresType.DATE: (1082, 1182, "DATE"),
}
SPARK_NAMES: Final = {kind: name for kind, (_, _, name) in _TYPES.items()}
BY_OID: Final[Mapping[int, SqlType]] = {
    **{oid: SqlType(kind) for kind, (oid, _, _) in _TYPES.items()},
    **{oid: SqlType(PostgresType.ARRAY, item=kind) for kind, (_, oid, _) in _TYPES.items() if oid},
    1043: TEXT,
    1015: SqlType(PostgresType.ARRAY, item=PostgresType.TEXT),
    1186: SPAN,
}


@frozen
class TypedSql:
    """An expression in Spark's SQL, and its type in PostgreSQL's."""

    tree: exp.Expr
    type: SqlType

    @property
    def kind(self) -> PostgresType:
        return self.type.kind


def spark(cell: str, type_: SqlType, /, *parts: exp.Expr) -> TypedSql:
    """Spark's tree of the cell of a table, with parts that are Spark's already."""
    return TypedSql(made(cell, "spark", *(each.copy() for each in parts)), type_)


Columns = Mapping[str, SqlType]
Outputs = tuple[tuple[str, SqlType], ...]
# Puts an aggregate of Spark over the window, or behind the filter, of the query.
Around = Callable[[exp.Expr], exp.Expr]
_LONGEST = 60


@frozen
class SqlScope:
    """The names that a query sees: ``tables``, ``outputs`` with their types; ``outer`` is around
    it.

    ``by_code_point``: PostgreSQL compares texts and changes their case by code points.
    """

    read: Callable[[exp.Expr, SqlScope], TypedSql]
    query: Callable[[exp.Expr, SqlScope], tuple[exp.Expr, Outputs]]
    by_code_point: bool
    views: Mapping[str, Columns]
    ctes: Mapping[str, Columns] = field(default_factory=dict)
    tables: Mapping[str, Columns] = field(default_factory=dict)
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    outer: SqlScope | None = None

    def value(self, node: exp.Expr) -> TypedSql:
        """An expression for Spark; raises :class:`QueryError` where it is refused."""
        return self.read(node, self)

    def inner(self) -> SqlScope:
        """The scope of a query inside this one."""
        return replace(self, tables={}, windows={}, outer=self)

    def column(self, node: exp.Column) -> tuple[str, SqlType]:
        """The table and the type of a column; a name alone is looked up from the inside out."""
        scope: SqlScope | None = self
        while scope is not None:
            names = [node.table] if node.table else list(scope.tables)
            found = [name for name in names if node.name in scope.tables.get(name, ())]
            if len(found) == 1:
                return found[0], scope.tables[found[0]][node.name]
            if found or (node.table and node.table in scope.tables):
                break
            scope = scope.outer
        raise refused(node, "no column of one table, or its type is not on the list")


def refused(node: exp.Expr, reason: str) -> QueryError:
    """The error for a part of a query, as read; ``reason`` also says what to write instead."""
    text = node.sql(dialect="postgres", comments=False)
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return QueryError(f"not on Spark: {short}: {reason}", position=position(node))


def only(node: exp.Expr, *known: str) -> None:
    """Refuse, by a QueryError, a node with arguments that its translation does not look at."""
    for name, value in node.args.items():
        if value not in (None, False, []) and name not in known:
            raise refused(node, f"'{name.strip('_')}' is not on the list here")


def one_of(
    kinds: tuple[PostgresType, ...], value: TypedSql, node: exp.Expr, why: str = ""
) -> TypedSql:
    """The value, if it is of one of these kinds; raises :class:`QueryError` otherwise."""
    if value.kind in kinds:
        return value
    expected = " or ".join(each.value for each in kinds)
    raise refused(node, why or f"expected {expected}, not {value.kind.value}")


def whole(node: exp.Expr | None, least: int, around: exp.Expr, what: str) -> int:
    """The value of a number as written; raises :class:`QueryError` if it is another expression."""
    if isinstance(node, exp.Literal) and node.name.isdigit() and int(node.name) >= least:
        return int(node.name)
    raise refused(around, f"{what} must be a whole number from {least} on, as a literal")


def position(node: exp.Expr) -> Position | None:
    """The place where a part of a query begins, if its tree tells."""
    for each in node.walk():
        meta = each.meta
        if "line" in meta:
            # The column is the end of the token.
            column = meta["col"] - (meta["end"] - meta["start"])
            return Position("query", meta["line"], max(1, column))
    return None
