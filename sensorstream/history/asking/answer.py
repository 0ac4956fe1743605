"""The answer to a SPARQL query, read while it is computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sensorstream.model.terms import Term, Triple

Row: TypeAlias = tuple[Term | None, ...]


@dataclass(frozen=True, slots=True)
class Solutions:
    """The answer to SELECT: a row has a term, or None, for each variable; can be read once."""

    variables: tuple[str, ...]
    rows: Iterator[Row]


@dataclass(frozen=True, slots=True)
class Graph:
    """The answer to CONSTRUCT or DESCRIBE; can be read once."""

    triples: Iterator[Triple]


Answer: TypeAlias = Solutions | Graph | bool
