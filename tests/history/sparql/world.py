"""Data sets in the tables of the history, and queries compiled for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import psycopg2
from psycopg2.extras import execute_values
from sqlglot import exp, parse_one

from sensorstream.history.partitions import Partitions
from sensorstream.history.sparql.forms import compile_query, constants
from sensorstream.history.sparql.scope import Scope, SqlQuery, text_of
from sensorstream.history.store import PostgresStore
from sensorstream.history.terms import Dictionary, look_up, number_of, rounded, term_key
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.sparql.algebra import Query

Data = Mapping[IRI | None, Iterable[Triple]]


class World:
    """The history's tables with any number of data sets; ``stay`` is the graph of a statement."""

    def __init__(self, url: str) -> None:
        PostgresStore.open(url, Timeline.INTEGER).close()
        self._connection = psycopg2.connect(url)
        self._cursor = self._connection.cursor()
        self._dictionary = Dictionary()
        Partitions(Timeline.INTEGER).make(self._cursor, [1])
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
                rows += [
                    (*(ids[term] for term in triple), time, time + 1, self._graphs, 0, found, False)
                    for time in range(1 + place % 3)
                ]
        execute_values(self._cursor, "insert into store.statements values %s", rows, page_size=1000)
        if len(rows) > 40:
            # Without statistics the planner takes every join to have one row.
            self._cursor.execute("analyze store.statements")
        return numbers

    def forget(self) -> None:
        """Remove all statements."""
        self._cursor.execute("truncate store.statements")

    def compiled(self, query: Query, graphs: Mapping[IRI | None, int]) -> SqlQuery:
        """A query over one data set."""
        named = {name: _triples(each) for name, each in graphs.items() if name is not None}
        keys = {each: term_key(each) for each in constants(query, named)}
        numbers = look_up(self._cursor, list(keys.values()))
        ids = {term: numbers[key] for term, key in keys.items() if key in numbers}
        default = graphs.get(None, 0)
        terms = parse_one(
            "SELECT t.id, t.kind, t.text, t.datatype, t.language, t.number, t.moment "
            "FROM store.terms AS t",
            dialect="postgres",
        )
        assert isinstance(terms, exp.Select)
        return compile_query(query, Scope(_triples(default), terms, ids, named))

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

    def plan(self, query: SqlQuery) -> str:
        """PostgreSQL's plan."""
        self._cursor.execute(f"explain (format json) {text_of(query.tree, 'postgres')}")
        return json.dumps(self._cursor.fetchone())


def _triples(graph: int) -> exp.Select:
    tree = parse_one(
        "SELECT s.subject, s.predicate, s.object, s.number FROM store.statements AS s "
        f"WHERE s.stay = {graph}",
        dialect="postgres",
    )
    assert isinstance(tree, exp.Select)
    return tree
