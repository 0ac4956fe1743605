"""Trees of SQL from the cells of a table of dialects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from sqlglot import exp

from sensorstream.sql.sparql.fragments import sql

Cell: TypeAlias = str | Callable[..., exp.Expr] | None
"""How a dialect says something.

``""``: as the node stands; ``"name"``: a function of the node's operands in their order;
``"f(:a, :b)"``: a text of the dialect in which letters stand for the operands; a function: makes
it of the node, whose operands are of the dialect; None: the dialect has no equal.
"""
_LETTERS: Final = "abcdefghijkl"


def operands(node: exp.Expr) -> list[exp.Expr]:
    """What a node is of, in the order of a function's arguments."""
    found: list[exp.Expr] = []
    for value in node.args.values():
        if isinstance(value, exp.Expr):
            found.append(value)
        elif isinstance(value, list):
            found += value
    return found


def made(cell: str, dialect: str, *given: exp.Expr) -> exp.Expr:
    """The tree of a name or a text of a table, with operands that are of the dialect already."""
    if cell.isidentifier():
        return exp.Anonymous(this=cell, expressions=list(given))
    for each in given:
        # It is moved, unless it comes more than once.
        each.parent = None
    return sql(cell, dialect, **dict(zip(_LETTERS, given, strict=False)))


def named(cell: str, place: int) -> bool:
    """Whether a name or a text of a table says something of the operand in a place."""
    return cell.isidentifier() or f":{_LETTERS[place]}" in cell
