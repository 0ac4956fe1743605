"""Data sets in the tables of the history, and queries compiled for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import psycopg2
from psycopg2.extras import execute_values
from sqlglot import exp

from sensorstream.history.store import PostgresStore
from sensorstream.history.term_dictionary import Dictionary, look_up, number_of, rounded, term_key
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.sparql.algebra import Query
from sensorstream.sql.dialect_writer import text_of
from sensorstream.sql.sparql.compiled_query import QueryRelations, SqlQuery
from sensorstream.sql.sparql.query_forms import compile_query, constants

_TERMS: Final = exp.select("id", "kind", "text", "datatype", "language", "number", "moment").from_(
    exp.table_("terms", db="store")
)

Data = Mapping[IRI | None, Iterable[Triple]]


class World:
    """The history's terms, and any number of data sets; ``stay`` is the graph of a statement.

    Statements are in a temporary table like the history's: emptying that one for each data set
    takes longer than all else, for its partition has a file for each index.
    """

    def __init__(self, url: str) -> None:
        PostgresStore.open(url, Timeline.INTEGER).close()
        self._connection = psycopg2.connect(url)
        self._cursor = self._connection.cursor()
        self._dictionary = Dictionary()
        self._cursor.execute("create temporary table said (like store.statements)")
        self._cursor.execute("create index on said (predicate, object)")
        self._graphs = 0

    def close(self) -> None:
        self._connection.close()

    def load(self, data: Data) -> dict[IRI | None, int]:
        """Store graphs, each triple one to three times; gives a number for each graph."""
        numbers: dict[IRI | None, int] = {}
        rows = []
        for name, triples in data.items():
            self._graphs += 1
            numbers[name] = self._graphs
            distinct = list(dict.fromkeys(triples))
            terms = [term for triple in distinct for term in triple]
            ids = self._dictionary.numbers(self._cursor, terms)
            for place, triple in enumerate(distinct):
                found = rounded(number_of(triple[2]))
                said = tuple(ids[term] for term in triple)
                rows += [
                    (*said, time, time + 1, self._graphs, 0, found, False, time + place % 2 > 0)
                    for time in range(1 + place % 3)
                ]
        execute_values(self._cursor, "insert into said values %s", rows, page_size=1000)
        if len(rows) > 10:
            # Without statistics the planner takes every join to have one row.
            self._cursor.execute("analyze said")
        if len(rows) > 10_000:
            self._cursor.execute("analyze store.terms")
        return numbers

    def forget(self) -> None:
        """Remove all statements."""
        self._cursor.execute("truncate said")

    def compiled(self, query: Query, graphs: Mapping[IRI | None, int]) -> SqlQuery:
        """A query over one data set."""
        return compile_query(query, self.relations(query, graphs))

    def relations(self, query: Query, graphs: Mapping[IRI | None, int]) -> QueryRelations:
        """The relations of a query over one data set."""
        named = {name: _triples(each) for name, each in graphs.items() if name is not None}
        keys = {each: term_key(each) for each in constants(query, named)}
        numbers = look_up(self._cursor, list(keys.values()))
        ids = {term: numbers[key] for term, key in keys.items() if key in numbers}
        default = graphs.get(None, 0)
        return QueryRelations(_triples(default), _TERMS, ids, named, marked=True)

    def rows(self, query: SqlQuery) -> list[tuple[Any, ...]]:
        """The rows of the SQL."""
        self._cursor.execute("savepoint asked")
        try:
            self._cursor.execute(text_of(query.tree, "postgres"))
        except psycopg2.Error:
            self._cursor.execute("rollback to savepoint asked")
            raise
        return self._cursor.fetchall()

    def answer(self, query: SqlQuery) -> list[tuple[Term | None, ...]]:
        """The rows as terms."""
        return [tuple(each.term(row) for each in query.columns) for row in self.rows(query)]

    def ran(self, query: SqlQuery) -> Iterator[dict[str, Any]]:
        """The nodes of PostgreSQL's plan, with the rows that there were."""
        text = text_of(query.tree, "postgres")
        self._cursor.execute(f"explain (analyze, timing off, format json) {text}")
        waiting = [(self._cursor.fetchone() or ())[0][0]["Plan"]]
        while waiting:
            node = waiting.pop()
            waiting += node.get("Plans", ())
            yield node

    def plan(self, query: SqlQuery) -> str:
        """PostgreSQL's plan."""
        self._cursor.execute(f"explain (format json) {text_of(query.tree, 'postgres')}")
        return json.dumps(self._cursor.fetchone())


def _triples(graph: int) -> exp.Select:
    return (
        exp.select("subject", "predicate", "object", "number")
        .from_("said")
        .where(exp.column("stay").eq(graph), copy=False)
    )
