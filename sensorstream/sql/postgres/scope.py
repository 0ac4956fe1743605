"""What an expression may refer to, and refusing what Spark would answer otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sensorstream.errors import Position, QueryError
from sensorstream.sql.types import Kind, SqlType, Typed

Columns = Mapping[str, SqlType]
Outputs = tuple[tuple[str, SqlType], ...]
# Puts an aggregate of Spark over the window, or behind the filter, of the query.
Around = Callable[[exp.Expr], exp.Expr]
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Scope:
    """``tables`` and ``outputs`` map names to types; ``outer`` is the query around.

    ``by_code_point``: PostgreSQL compares texts and changes their case by code points.
    """

    read: Callable[[exp.Expr, Scope], Typed]
    query: Callable[[exp.Expr, Scope], tuple[exp.Expr, Outputs]]
    by_code_point: bool
    views: Mapping[str, Columns]
    ctes: Mapping[str, Columns] = field(default_factory=dict)
    tables: Mapping[str, Columns] = field(default_factory=dict)
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    outer: Scope | None = None

    def value(self, node: exp.Expr) -> Typed:
        """An expression for Spark; raises :class:`QueryError` where it is refused."""
        return self.read(node, self)

    def inner(self) -> Scope:
        """For a query inside this one."""
        return replace(self, tables={}, windows={}, outer=self)

    def column(self, node: exp.Column) -> tuple[str, SqlType]:
        """The table and the type of a column; a name alone is looked up from the inside out."""
        scope: Scope | None = self
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
    """The error for a part of a query: what it is, why, and the way out.

    Args:
        node: a part of the tree as it was read.
        reason: why, and what to write instead, as a clause.
    """
    text = node.sql(dialect="postgres", comments=False)
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return QueryError(f"not on Spark: {short}: {reason}", position=position(node))


def only(node: exp.Expr, *known: str) -> None:
    """Refuse a node with arguments that its translation does not look at.

    Raises:
        QueryError: there is one.
    """
    for name, value in node.args.items():
        if value not in (None, False, []) and name not in known:
            raise refused(node, f"'{name.strip('_')}' is not on the list here")


def one_of(kinds: tuple[Kind, ...], value: Typed, node: exp.Expr, why: str = "") -> Typed:
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
    """Where a part of a query begins, if its tree tells."""
    for each in node.walk():
        meta = each.meta
        if "line" in meta:
            # The column is the end of the token.
            column = meta["col"] - (meta["end"] - meta["start"])
            return Position("query", meta["line"], max(1, column))
    return None
