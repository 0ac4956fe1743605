"""What a file is, by its name: a query, rules over time, a rule set, or a mapping file."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Final

OVER_TIME: Final = ".dotr"
DATALOG: Final = ".dlog"
RULE_SET: Final = ".ru"
_QUERIES: Final = (".rq", ".sparql")


def is_over_time(path: Path) -> bool:
    """Whether a file has rules over time, or Datalog rules for them."""
    return path.suffix.lower() in (OVER_TIME, DATALOG)


def is_rule_set(path: PurePath) -> bool:
    """Whether a file is a rule set of the reasoner, in SPARQL."""
    return path.suffix.lower() == RULE_SET


def is_query_file(path: Path) -> bool:
    """Whether a file is a query, or has rules over time."""
    return path.suffix.lower() in _QUERIES or is_over_time(path)
