"""The types of PostgreSQL that the translation knows, and a tree together with its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from sqlglot import exp, parse_one


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
BYTES: Final = SqlType(Kind.BYTES)
MOMENT: Final = SqlType(Kind.MOMENT)
LOCAL: Final = SqlType(Kind.LOCAL)
DATE: Final = SqlType(Kind.DATE)
SPAN: Final = SqlType(Kind.SPAN)
UNKNOWN: Final = SqlType(Kind.UNKNOWN)

# Numbers in the order in which PostgreSQL converts one to the other.
NUMBERS: Final = (Kind.INTEGER, Kind.BIGINT, Kind.NUMERIC, Kind.DOUBLE)
WHOLE: Final = (Kind.INTEGER, Kind.BIGINT)
TIMES: Final = (Kind.DATE, Kind.LOCAL, Kind.MOMENT)

# The digits after the point of a quotient, a mean, or a double made numeric.
QUOTIENT_SCALE: Final = 20

# https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat
BY_OID: Final[Mapping[int, SqlType]] = {
    16: BOOLEAN,
    17: BYTES,
    20: BIGINT,
    23: INTEGER,
    25: TEXT,
    1043: TEXT,
    701: DOUBLE,
    1082: DATE,
    1114: LOCAL,
    1184: MOMENT,
    1186: SPAN,
    1700: NUMERIC,
    1000: SqlType(Kind.ARRAY, item=Kind.BOOLEAN),
    1007: SqlType(Kind.ARRAY, item=Kind.INTEGER),
    1009: SqlType(Kind.ARRAY, item=Kind.TEXT),
    1015: SqlType(Kind.ARRAY, item=Kind.TEXT),
    1016: SqlType(Kind.ARRAY, item=Kind.BIGINT),
    1022: SqlType(Kind.ARRAY, item=Kind.DOUBLE),
    1182: SqlType(Kind.ARRAY, item=Kind.DATE),
    1185: SqlType(Kind.ARRAY, item=Kind.MOMENT),
    1231: SqlType(Kind.ARRAY, item=Kind.NUMERIC),
}

SPARK_NAMES: Final[Mapping[Kind, str]] = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "INT",
    Kind.BIGINT: "BIGINT",
    Kind.DOUBLE: "DOUBLE",
    Kind.TEXT: "STRING",
    Kind.BYTES: "BINARY",
    Kind.MOMENT: "TIMESTAMP",
    Kind.LOCAL: "TIMESTAMP_NTZ",
    Kind.DATE: "DATE",
}


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression in Spark's SQL, and its type in PostgreSQL's."""

    tree: exp.Expr
    type: SqlType

    @property
    def kind(self) -> Kind:
        return self.type.kind


def spark(text: str, type_: SqlType, /, **parts: exp.Expr) -> Typed:
    """A template in Spark's SQL with its ``:placeholders`` filled in."""
    safe = {name: enclosed(part) for name, part in parts.items()}
    return Typed(exp.replace_placeholders(_template(text).copy(), **safe), type_)


@lru_cache(maxsize=512)
def _template(text: str) -> exp.Expr:
    return parse_one(text, dialect="spark")


def enclosed(tree: exp.Expr) -> exp.Expr:
    """A copy in parentheses, if an operator beside it could bind one of its parts."""
    copied = tree.copy()
    closed = exp.Column | exp.Literal | exp.Paren | exp.Subquery | exp.Func | exp.Cast | exp.Tuple
    if isinstance(copied, closed) and not isinstance(copied, exp.Connector | exp.Binary | exp.Case):
        return copied
    return exp.paren(copied, copy=False)


def call(name: str, type_: SqlType, *arguments: exp.Expr) -> Typed:
    """A call of one of Spark's functions, which sqlglot leaves as it is."""
    tree = exp.Anonymous(this=name, expressions=[each.copy() for each in arguments])
    return Typed(tree, type_)
