"""What an expression may refer to: columns with their types, and the rules that read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sensorstream.spark.translation.refusal import refused
from sensorstream.spark.translation.types import SqlType, Typed

Columns = Mapping[str, SqlType]
Outputs = tuple[tuple[str, SqlType], ...]
# Puts an aggregate of Spark over the window, or behind the filter, of the query.
Around = Callable[[exp.Expr], exp.Expr]


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
