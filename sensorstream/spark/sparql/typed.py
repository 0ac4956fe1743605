"""The types of the tree's expressions, which tell how Spark computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, auto
from typing import Any, Final, Protocol, TypeAlias

from sqlglot import exp

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.numerals import sortable
from sensorstream.spark.sparql import numbers


class Kind(Enum):
    """A type of the tree.

    A number is the text that :mod:`.numbers` describes; a moment is microseconds since 1970.
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
OF_NAME: Final[Mapping[str, Kind]] = {
    "DECIMAL": Kind.NUMBER,
    "DOUBLE": Kind.DOUBLE,
    "FLOAT": Kind.FLOAT,
    "SMALLINT": Kind.INTEGER,
    "INT": Kind.INTEGER,
    "BIGINT": Kind.INTEGER,
    "TEXT": Kind.TEXT,
    "BOOLEAN": Kind.BOOLEAN,
    "TIMESTAMPTZ": Kind.MOMENT,
    "INTERVAL": Kind.INTEGER,
}
"""From PostgreSQL's types, as the tree has them."""
_SPARK: Final[Mapping[Kind, str]] = {
    Kind.NUMBER: "STRING",
    Kind.DOUBLE: "DOUBLE",
    Kind.FLOAT: "FLOAT",
    Kind.INTEGER: "BIGINT",
    Kind.TEXT: "STRING",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.MOMENT: "BIGINT",
}


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression of Spark; ``value``: of a constant number."""

    tree: exp.Expr
    kind: Kind
    value: Decimal | None = None


def refused(node: exp.Expr) -> UnsupportedQuery:
    """The error for a part of a query that Spark has no equal for."""
    return UnsupportedQuery(
        f"not on Spark: {node.sql('postgres')[:80]}: ask the same with --on history"
    )


def call(name: str, kind: Kind, *arguments: Typed | exp.Expr) -> Typed:
    """A function of Spark."""
    given = [each.tree if isinstance(each, Typed) else each for each in arguments]
    return Typed(exp.Anonymous(this=name, expressions=given), kind)


def cast(given: Typed, kind: Kind) -> Typed:
    """The same in the type that Spark has for a kind."""
    return Typed(exp.cast(given.tree, _SPARK[kind]), kind)


def text(value: str) -> Typed:
    """A constant text."""
    return Typed(exp.Literal.string(value), Kind.TEXT)


def number(value: Decimal) -> Typed:
    """A constant number."""
    return Typed(exp.Literal.string(sortable(value)), Kind.NUMBER, value)


def as_number(given: Typed) -> Typed:
    """An integer, double, text or number as a number."""
    if given.kind is Kind.NUMBER:
        return given
    if given.kind is Kind.NULL:
        return cast(given, Kind.NUMBER)
    if isinstance(given.tree, exp.Literal):
        return number(Decimal(given.tree.this))
    written = given if given.kind is Kind.TEXT else cast(given, Kind.TEXT)
    return call(numbers.READ, Kind.NUMBER, written)


def alike(given: Iterable[Typed]) -> tuple[list[Typed], Kind]:
    """Expressions of one type: where one is a number, integers become numbers, too."""
    found = list(given)
    kinds = [each.kind for each in found if each.kind is not Kind.NULL]
    if Kind.NUMBER in kinds:
        return [e if e.kind is Kind.NULL else as_number(e) for e in found], Kind.NUMBER
    if Kind.DOUBLE in kinds:
        return found, Kind.DOUBLE
    return found, kinds[0] if kinds else Kind.NULL


class Within(Protocol):
    """What the translation of an expression may ask about the query that it stands in."""

    def typed(self, node: exp.Expr) -> Typed:
        """An operand for Spark."""

    def tree(self, node: exp.Expr) -> exp.Expr:
        """An operand for Spark, without its type."""

    def kind(self, column: exp.Column) -> Kind:
        """The type of a column."""

    def query(self, tree: exp.Expr) -> exp.Expr:
        """A query within the expression."""


Handler: TypeAlias = Callable[[Within, Any], Typed]
"""Translates one kind of expression."""
