"""The answer to a SPARQL query, read while it is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from sensorstream.errors import QueryError
from sensorstream.history.sparql.scope import SqlQuery
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


def answer_of(query: SqlQuery, rows: Iterator[Sequence[Any]]) -> Answer:
    """What the rows of a query in SQL say, whichever engine gives them."""
    if query.form == "ASK":
        (row,) = rows
        return bool(row[0])
    found = (tuple(column.term(row) for column in query.columns) for row in rows)
    if query.form == "SELECT":
        return Solutions(tuple(column.name for column in query.columns), found)
    return Graph(cast(Iterator[Triple], found))


def limited(batches: Iterable[Sequence[Sequence[Any]]], most: int) -> Iterator[Sequence[Any]]:
    """The rows of batches one by one.

    Raises:
        QueryError: they are more than ``most``.
    """
    count = 0
    for batch in batches:
        count += len(batch)
        if count > most:
            raise QueryError(
                f"the answer has more than {most} rows: ask for less, or add LIMIT "
                "(history.row_limit)"
            )
        yield from batch
