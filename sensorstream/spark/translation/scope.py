"""What an expression may refer to: columns with their types, and the rules that read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sensorstream.spark.translation.refusal import refused
from sensorstream.spark.translation.types import SqlType, Typed

Columns = Mapping[str, SqlType]


@dataclass(frozen=True, slots=True)
class Scope:
    """``tables`` and ``outputs`` map names to types; ``outer`` is the query around.

    ``by_code_point``: PostgreSQL compares texts and changes their case by code points.
    """

    read: Callable[[exp.Expr, Scope], Typed]
    query: Callable[[exp.Expr, Scope], tuple[exp.Expr, tuple[tuple[str, SqlType], ...]]]
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

    def column(self, node: exp.Column) -> SqlType:
        """The type of a column that names its table."""
        scope: Scope | None = self
        while scope is not None:
            columns = scope.tables.get(node.table)
            if columns is not None:
                if node.name in columns:
                    return columns[node.name]
                break
            scope = scope.outer
        raise refused(node, "there is no such column, or its type is not on the list")
