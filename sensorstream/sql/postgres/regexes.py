"""Regular expressions that mean the same in PostgreSQL and in Java."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from sensorstream.sql.postgres.scope import refused

_PART: Final = re.compile(
    r"(?P<atom>\\[.^$*+?()\[\]{}|\\]|\[\^?(?:[A-Za-z0-9 _/:#.]-[A-Za-z0-9]|[A-Za-z0-9 _/:#.])+\]"
    r"|[A-Za-z0-9 _/:#@=,;<>&%~'\"!.-])"
    r"|(?P<repeat>[*+?]|\{\d{1,3}(?:,\d{0,3})?\})|(?P<open>\((?!\?))|(?P<close>\))|(?P<end>\$)|[|^]"
)


def regular_expression(given: str, node: exp.Expr) -> str:
    """The expression for Java; only whether it matches is the same, not what.

    Raises:
        QueryError: it has something that the two read differently, or that is not on the list.
    """
    told: list[str] = []
    place, repeatable, depth = 0, False, 0
    while place < len(given):
        part = _PART.match(given, place)
        kind = part.lastgroup if part else None
        if part is None or (kind == "repeat" and not repeatable) or (kind == "close" and not depth):
            raise refused(node, f"'{given[place:]}' of this pattern is not on the list; try LIKE")
        # Java's dollar also matches before a last line break.
        told.append(r"\z" if kind == "end" else part.group())
        depth += (kind == "open") - (kind == "close")
        place, repeatable = part.end(), kind in ("atom", "close")
    if depth:
        raise refused(node, "this pattern is not on the list; try LIKE")
    return f"(?s){''.join(told)}"
