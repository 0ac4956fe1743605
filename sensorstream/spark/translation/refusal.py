"""Refusing what Spark would answer otherwise than PostgreSQL."""

from __future__ import annotations

from sqlglot import exp

from sensorstream.errors import Position, QueryError

_LONGEST = 60


def refused(node: exp.Expr, reason: str) -> QueryError:
    """The error for a part of a query: what it is, why, and the way out.

    Args:
        node: a part of the tree as it was read.
        reason: why, and what to write instead, as a clause.
    """
    text = node.sql(dialect="postgres", comments=False)
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return QueryError(f"not on Spark: {short}: {reason}", position=_position(node))


def only(node: exp.Expr, *known: str) -> None:
    """Refuse a node with arguments that its translation does not look at.

    Raises:
        QueryError: there is one.
    """
    for name, value in node.args.items():
        if value not in (None, False, []) and name not in known:
            raise refused(node, f"'{name.strip('_')}' is not on the list here")


def _position(node: exp.Expr) -> Position | None:
    for each in node.walk():
        meta = each.meta
        if "line" in meta:
            # The column is the end of the token.
            column = meta["col"] - (meta["end"] - meta["start"])
            return Position("query", meta["line"], max(1, column))
    return None
