"""The answer to a SPARQL query, read while it is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from sensorstream.errors import Overrun
from sensorstream.model.terms import Term, Triple
from sensorstream.sparql.algebra import Ask, Construct

if TYPE_CHECKING:
    import pyarrow

    # This import brings sqlglot, which the process that answers from the cache does not need.
    from sensorstream.sql.sparql.compiled_query import SqlQuery
    from sensorstream.streams.continuous_query import ContinuousQuery

Row: TypeAlias = tuple[Term | None, ...]


@dataclass(frozen=True, slots=True)
class Solutions:
    """The answer to SELECT: a row has a term, or None, for each variable; can be read once."""

    variables: tuple[str, ...]
    rows: Iterator[Row]


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """The answer to CONSTRUCT or DESCRIBE; can be read once."""

    triples: Iterator[Triple]


Answer: TypeAlias = Solutions | GraphAnswer | bool


def answer_now(query: ContinuousQuery) -> Answer:
    """The whole result of a continuous query as it is now."""
    match query.query.form:
        case Ask():
            return next(iter(query.root.rows()), None) is not None
        case Construct():
            return GraphAnswer(iter(query.graph()))
    return Solutions(query.variables, iter(query.result()))


def answer_of(query: SqlQuery, rows: Iterator[Sequence[Any]]) -> Answer:
    """The answer in the rows of a query in SQL, of any engine."""
    if query.form == "ASK":
        (row,) = rows
        return bool(row[0])
    found = (tuple(column.term(row) for column in query.columns) for row in rows)
    if query.form == "SELECT":
        return Solutions(tuple(column.name for column in query.columns), found)
    return GraphAnswer(cast(Iterator[Triple], found))


def rows_of_batch(batch: pyarrow.RecordBatch) -> list[tuple[Any, ...]]:
    """The rows of a batch of Arrow, as values of Python."""
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def limited(batches: Iterable[Sequence[Sequence[Any]]], most: int) -> Iterator[Sequence[Any]]:
    """The rows of batches one by one; raises Overrun if they are more than ``most``."""
    count = 0
    for batch in batches:
        count += len(batch)
        if count > most:
            raise Overrun(
                f"the answer has more than {most} rows: ask for less, or add LIMIT "
                "(limits.question_rows)"
            )
        yield from batch
