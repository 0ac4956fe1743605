"""Regular expressions that mean the same in PostgreSQL and in Java."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from sensorstream.sql.postgres.scope import refused

_PLAIN: Final = re.compile(r"[A-Za-z0-9 _/:#@=,;<>&%~'\"!-]")
_CLASS: Final = re.compile(r"\[\^?(?:[A-Za-z0-9 _/:#.]-[A-Za-z0-9]|[A-Za-z0-9 _/:#.])+\]")
_ESCAPED: Final = re.compile(r"\\([.^$*+?()\[\]{}|\\])")
_REPEATED: Final = re.compile(r"[*+?]|\{\d{1,3}(?:,\d{0,3})?\}")


def regular_expression(given: str, node: exp.Expr) -> str:
    """The expression for Java; only whether it matches is the same, not what.

    Raises:
        QueryError: it has something that the two read differently, or that is not on the list.
    """
    told: list[str] = []
    place, repeatable, depth = 0, False, 0
    while place < len(given):
        each = given[place]
        found = _ESCAPED.match(given, place) or _CLASS.match(given, place)
        if found:
            told.append(found.group())
            place, repeatable = found.end(), True
            continue
        if (repeated := _REPEATED.match(given, place)) and repeatable:
            told.append(repeated.group())
            place, repeatable = repeated.end(), False
            continue
        if _PLAIN.match(each) or each == ".":
            repeatable = True
        elif each in "^|":
            repeatable = False
        elif each == "$":
            # Java's dollar also matches before a last line break.
            each, repeatable = r"\z", False
            place += 1
            told.append(each)
            continue
        elif each == "(" and given[place + 1 : place + 2] != "?":
            depth, repeatable = depth + 1, False
        elif each == ")" and depth:
            depth, repeatable = depth - 1, True
        else:
            raise refused(node, f"'{given[place:]}' of this pattern is not on the list; try LIKE")
        told.append(each)
        place += 1
    if depth or given.startswith("***"):
        raise refused(node, "this pattern is not on the list; try LIKE")
    return f"(?s){''.join(told)}"
