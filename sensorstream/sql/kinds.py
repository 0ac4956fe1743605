"""The kinds of values that a query's tree computes, and those of the columns that it names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, TypeAlias

from sqlglot import exp

from sensorstream.errors import UnsupportedQuery

_WAY_OUT: Final = "of the outside: Spark cannot plan it: ask the same with --on history"
_TOO_FAR: Final = (
    f"not on Spark: an EXISTS, or a MINUS, within an EXISTS that mentions a variable {_WAY_OUT}"
)
_OPTIONAL: Final = f"not on Spark: an OPTIONAL within an EXISTS that mentions a variable {_WAY_OUT}"


class Kind(Enum):
    """What an expression gives.

    A number is a ``numeric`` of PostgreSQL, which has no bounds; elsewhere what stands for one
    (:mod:`.dialects`).
    """

    NULL = auto()
    NUMBER = auto()
    DOUBLE = auto()
    FLOAT = auto()
    INTEGER = auto()
    TEXT = auto()
    BOOLEAN = auto()
    MOMENT = auto()


Columns: TypeAlias = Mapping[str, Kind]
TABLES: Final[Mapping[str, Columns]] = {
    "statements": {
        "subject": Kind.INTEGER,
        "predicate": Kind.INTEGER,
        "object": Kind.INTEGER,
        "number": Kind.DOUBLE,
        "valid_from": Kind.INTEGER,
        "valid_to": Kind.INTEGER,
        "inferred": Kind.BOOLEAN,
    },
    "terms": {
        "id": Kind.INTEGER,
        "kind": Kind.INTEGER,
        "text": Kind.TEXT,
        "datatype": Kind.TEXT,
        "language": Kind.TEXT,
        "number": Kind.NUMBER,
        "moment": Kind.MOMENT,
    },
}
"""The tables of the history, of which queries are made."""


def common(kinds: Iterable[Kind]) -> Kind:
    """The kind of operands, or of branches: that of a number if one is a number."""
    found = [each for each in kinds if each is not Kind.NULL]
    for each in (Kind.NUMBER, Kind.DOUBLE):
        if each in found:
            return each
    return found[0] if found else Kind.NULL


@dataclass(slots=True)
class Scope:
    """The columns that an expression of a dialect can name: its tables' and those around it."""

    dialect: str
    outer: Scope | None = None
    tables: dict[str, Columns] = field(default_factory=dict)
    queries: dict[str, Columns] = field(default_factory=dict)
    is_condition: bool = False
    """Whether it is around an EXISTS."""
    is_optional: bool = False
    """Whether it is that of the right side of an outer join."""

    def below(self, *, is_condition: bool = False, is_optional: bool = False) -> Scope:
        """The scope of a query within."""
        return Scope(self.dialect, self, {}, {}, is_condition, is_optional)

    def kind(self, column: exp.Column, conditions: int = 0, *, is_optional: bool = False) -> Kind:
        """The kind of a column; NULL for one that nobody calculates with.

        Args:
            column: the column.
            conditions: it is named within so many EXISTS of the scope.
            is_optional: on the right side of an outer join within these.

        Raises:
            UnsupportedQuery: Spark cannot name it from there.
        """
        columns = self.tables.get(column.table, {})
        if not column.table:
            columns = {k: v for each in self.tables.values() for k, v in each.items()}
        if column.name in columns:
            if self.dialect == "spark" and conditions > 1:
                raise UnsupportedQuery(_TOO_FAR)
            if self.dialect == "spark" and conditions and is_optional:
                raise UnsupportedQuery(_OPTIONAL)
            return columns[column.name]
        if self.outer is None:
            return Kind.NULL
        return self.outer.kind(
            column, conditions + self.is_condition, is_optional=is_optional or self.is_optional
        )

    def query(self, name: str) -> Columns | None:
        """The columns of a WITH query."""
        if name in self.queries:
            return self.queries[name]
        return None if self.outer is None else self.outer.query(name)
