"""What a file is, by its name: a query, rules over time, or one of the rule files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

OVER_TIME: Final = ".dotr"
DATALOG: Final = ".dlog"
_QUERIES: Final = (".rq", ".sparql")


def is_over_time(path: Path) -> bool:
    """Whether a file has rules over time, or Datalog rules for them."""
    return path.suffix.lower() in (OVER_TIME, DATALOG)


def is_query_file(path: Path) -> bool:
    """Whether a file is a query, or has rules over time."""
    return path.suffix.lower() in _QUERIES or is_over_time(path)
