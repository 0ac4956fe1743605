"""The types of SQL, as PostgreSQL has them, and a tree of Spark's SQL together with its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from sqlglot import exp

from sensorstream.sql.templates import made


class Kind(Enum):
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


@dataclass(frozen=True, slots=True)
class SqlType:
    """``scale``: digits after the point of a numeric on Spark. ``loose``: PostgreSQL keeps fewer of
    them in some rows. ``item`` belongs to an array.
    """

    kind: Kind
    scale: int = 0
    loose: bool = False
    item: Kind | None = None


BOOLEAN: Final = SqlType(Kind.BOOLEAN)
INTEGER: Final = SqlType(Kind.INTEGER)
BIGINT: Final = SqlType(Kind.BIGINT)
NUMERIC: Final = SqlType(Kind.NUMERIC)
DOUBLE: Final = SqlType(Kind.DOUBLE)
TEXT: Final = SqlType(Kind.TEXT)
MOMENT: Final = SqlType(Kind.MOMENT)
LOCAL: Final = SqlType(Kind.LOCAL)
DATE: Final = SqlType(Kind.DATE)
SPAN: Final = SqlType(Kind.SPAN)
UNKNOWN: Final = SqlType(Kind.UNKNOWN)

# Numbers in the order in which PostgreSQL converts one to the other.
NUMBERS: Final = (Kind.INTEGER, Kind.BIGINT, Kind.NUMERIC, Kind.DOUBLE)
TIMES: Final = (Kind.DATE, Kind.LOCAL, Kind.MOMENT)

# The digits after the point of a quotient, a mean, or a double made numeric; and the most in all.
QUOTIENT_SCALE: Final = 20
MOST_DIGITS: Final = 38

# Of each type PostgreSQL's number, that of its arrays, and Spark's name; see
# https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat
_TYPES: Final[Mapping[Kind, tuple[int, int | None, str]]] = {
    Kind.BOOLEAN: (16, 1000, "BOOLEAN"),
    Kind.INTEGER: (23, 1007, "INT"),
    Kind.BIGINT: (20, 1016, "BIGINT"),
    Kind.NUMERIC: (1700, 1231, f"DECIMAL({MOST_DIGITS}, 0)"),
    Kind.DOUBLE: (701, 1022, "DOUBLE"),
    Kind.TEXT: (25, 1009, "STRING"),
    Kind.BYTES: (17, None, "BINARY"),
    Kind.MOMENT: (1184, 1185, "TIMESTAMP"),
    Kind.LOCAL: (1114, None, "TIMESTAMP_NTZ"),
    Kind.DATE: (1082, 1182, "DATE"),
}
SPARK_NAMES: Final = {kind: name for kind, (_, _, name) in _TYPES.items()}
BY_OID: Final[Mapping[int, SqlType]] = {
    **{oid: SqlType(kind) for kind, (oid, _, _) in _TYPES.items()},
    **{oid: SqlType(Kind.ARRAY, item=kind) for kind, (_, oid, _) in _TYPES.items() if oid},
    1043: TEXT,
    1015: SqlType(Kind.ARRAY, item=Kind.TEXT),
    1186: SPAN,
}


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression in Spark's SQL, and its type in PostgreSQL's."""

    tree: exp.Expr
    type: SqlType

    @property
    def kind(self) -> Kind:
        return self.type.kind


def spark(cell: str, type_: SqlType, /, *parts: exp.Expr) -> Typed:
    """What Spark has by the cell of a table, with parts that are Spark's already."""
    return Typed(made(cell, "spark", *(each.copy() for each in parts)), type_)
