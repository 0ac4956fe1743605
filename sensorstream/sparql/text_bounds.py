"""Bounds of a text: its length, its patterns, its lists.

No evaluator is linear in all of them: Oxigraph's optimiser takes a second for 100 patterns of a
group, more than an hour for 1,000, and 10,000 end the process; the keys of a list are nested in
SQL. So they are bounded before anything but the parser works on them. The depth of a text is
bounded by :data:`.DEEPEST`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from sensorstream.errors import Position, QueryError
from sensorstream.sparql import algebra
from sensorstream.sparql.walk import children

LONGEST: Final = 262_144
"""Characters. Reading as many takes about two seconds."""
MOST_TOKENS: Final = 20_000
"""Words, terms and marks of a continuous query, and over history and archive. As many take a
second. Questions to the cache are parsed in a process that can be ended."""
MOST_PATTERNS: Final = 100
"""Triples (also of lists and brackets), steps of paths, VALUES and empty groups, together."""
MOST_IN_LIST: Final = 100
"""Members of GROUP BY and of ORDER BY, columns of a VALUES."""
MOST_COLUMNS: Final = 1_000
"""Columns of a SELECT."""

_LISTS: Final[Mapping[type, tuple[str, str, int]]] = {
    algebra.Values: ("variables", "columns of VALUES", MOST_IN_LIST),
    algebra.Group: ("keys", "keys of GROUP BY", MOST_IN_LIST),
    algebra.OrderBy: ("conditions", "conditions of ORDER BY", MOST_IN_LIST),
    algebra.Project: ("variables", "columns of SELECT", MOST_COLUMNS),
}


def check_length(text: str, start: Position) -> None:
    """Refuse a text before it is read; raises QueryError above :data:`LONGEST`."""
    if len(text) > LONGEST:
        raise QueryError(
            f"the text has {len(text):,} characters: expected at most {LONGEST:,}", position=start
        )


def check_bounds(meaning: object, start: Position) -> None:
    """Refuse a query or update that is too wide.

    Raises QueryError if it has more patterns or longer lists than the constants above.
    """
    found = patterns_of(meaning)
    if found > MOST_PATTERNS:
        raise QueryError(
            f"the text has {found:,} patterns: expected at most {MOST_PATTERNS} (each triple "
            "counts, also those of lists and brackets, each step of a path, each VALUES, and each "
            "empty group); write several values of one variable as VALUES",
            position=start,
        )
    for node in parts_of(meaning):
        if type(node) in _LISTS:
            field, what, most = _LISTS[type(node)]
            members = len(getattr(node, field))
            if members > most:
                raise QueryError(
                    f"the text has {members:,} {what}: expected at most {most:,}", position=start
                )


def patterns_of(node: object) -> int:
    """The number of patterns of a part: triples, steps of paths, VALUES, empty groups."""
    found = 0
    for each in parts_of(node):
        match each:
            case algebra.BGP(patterns):
                found += max(1, sum(_steps(one.predicate) for one in patterns))
            case algebra.DeleteWhere(quads):
                found += len(quads)
            case algebra.Values() | algebra.Service():
                found += 1
    return found


def parts_of(node: object) -> Iterator[object]:
    """The nodes of a part as :func:`.nodes`, except constants, in any order, without recursion."""
    ahead = [node]
    while ahead:
        current = ahead.pop()
        yield current
        if not isinstance(current, algebra.Values):
            ahead.extend(children(current))


def _steps(path: object) -> int:
    """The steps of a path along a property; a variable or a negated set is one step."""
    found, ahead = 0, [path]
    while ahead:
        match ahead.pop():
            case algebra.OfPaths(left, right):
                ahead += (left, right)
            case algebra.OfPath(inner):
                ahead.append(inner)
            case _:
                found += 1
    return found
