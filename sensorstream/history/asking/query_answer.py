"""The answer to a SPARQL query, read while it is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import pyoxigraph as ox

from sensorstream.errors import Overrun
from sensorstream.kb.oxigraph_terms import term_of
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import Literal, Term, Triple
from sensorstream.sparql.algebra import Ask, Construct

if TYPE_CHECKING:
    import pyarrow

    from sensorstream.network.exact_values import OxigraphQuery, Results

    # This import brings sqlglot, which the process that answers from the cache does not need.
    from sensorstream.sql.sparql.compiled_query import SqlQuery
    from sensorstream.streams.continuous_query import ContinuousQuery

Row: TypeAlias = tuple[Term | None, ...]
_BATCH: Final = 1024


@frozen
class Solutions:
    """The answer to SELECT: a row has a term, or None, for each variable; can be read once."""

    variables: tuple[str, ...]
    rows: Iterator[Row]


@frozen
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


def kept(answer: Answer, most: int) -> Answer:
    """An answer with all rows, which other processes can read; raises Overrun above ``most``."""
    match answer:
        case Solutions(variables, rows):
            found = limited([list(rows)], most)
            return Solutions(variables, iter(cast(list[Row], list(found))))
        case GraphAnswer(triples):
            return GraphAnswer(iter(cast(list[Triple], list(limited([list(triples)], most)))))
    return answer


def joined(answers: Mapping[str, Answer], empty: Answer) -> Answer:
    """The answers of several engines, by key, as one: solutions get a variable with the key. It is
    named ``key``, or ``_key`` where the query has that. ``empty`` is an answer without rows.
    """
    found = answers.values()
    if isinstance(empty, Solutions):
        name = "key"
        while name in empty.variables:
            name = f"_{name}"
        rows: Iterator[Row] = (
            (Literal(key), *row)
            for key, each in answers.items()
            if isinstance(each, Solutions)
            for row in each.rows
        )
        return Solutions((name, *empty.variables), rows)
    if isinstance(empty, GraphAnswer):
        parts = (each.triples for each in found if isinstance(each, GraphAnswer))
        return GraphAnswer(iter(dict.fromkeys(chain.from_iterable(parts))))
    return any(each is True for each in found)


def answer_of(query: SqlQuery, rows: Iterator[Sequence[Any]]) -> Answer:
    """The answer in the rows of a query in SQL, of any engine."""
    if query.form == "ASK":
        (row,) = rows
        return bool(row[0])
    found = (tuple(column.term(row) for column in query.columns) for row in rows)
    if query.form == "SELECT":
        return Solutions(tuple(column.name for column in query.columns), found)
    return GraphAnswer(cast(Iterator[Triple], found))


def answer_of_oxigraph(found: Results, most: int, asked: OxigraphQuery) -> Answer:
    """The answer in the results of a query to Oxigraph."""
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    if isinstance(found, ox.QuerySolutions):
        names = tuple(variable.value for variable in found.variables)
        rows: Iterator[Row] = (
            tuple(None if value is None else term_of(value) for value in solution)
            for solution in found
        )
        return Solutions(names, cast(Iterator[Row], limited(_batches(rows, asked), most)))
    triples = (tuple(map(term_of, triple)) for triple in found)
    return GraphAnswer(cast(Iterator[Triple], limited(_batches(triples, asked), most)))


def _batches(
    rows: Iterable[tuple[object, ...]], asked: OxigraphQuery
) -> Iterator[list[tuple[object, ...]]]:
    rows = iter(rows)
    while batch := list(islice(rows, _BATCH)):
        asked.check()
        yield batch
    asked.check()


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
