"""Data sets in the tables of an archive, without files, and queries compiled for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import duckdb
from sqlglot import exp, parse_one

from sensorstream.archive.archive_process import TERMS
from sensorstream.archive.archive_queries import ids_of
from sensorstream.archive.archive_sparql import install
from sensorstream.history.term_dictionary import number_of, rounded
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.sparql.algebra import Query
from sensorstream.sql.dialect_writer import duckdb_query, text_of
from sensorstream.sql.sparql.compiled_query import QueryRelations, SqlQuery
from sensorstream.sql.sparql.query_forms import compile_query


class World:
    """The archive's statements with any number of data sets."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:")
        self._connection.execute(
            "set TimeZone = 'UTC'; set integer_division = true; create schema store; "
            "set default_null_order = 'nulls_last_on_asc_first_on_desc'; "
            "create table store.statements (subject varchar, predicate varchar, object varchar, "
            "number double, stay bigint)"
        )
        install(self._connection)
        self._connection.execute(TERMS)
        self._graphs = 0

    def close(self) -> None:
        self._connection.close()

    def load(self, data: Mapping[IRI | None, Iterable[Triple]]) -> dict[IRI | None, int]:
        """Store graphs, each triple one to three times; gives a number for each graph."""
        numbers: dict[IRI | None, int] = {}
        rows = []
        for name, triples in data.items():
            self._graphs += 1
            numbers[name] = self._graphs
            for place, (subject, predicate, value) in enumerate(dict.fromkeys(triples)):
                number = rounded(number_of(value))
                row = (subject, predicate, _named(value), number, self._graphs)
                rows += [row] * (1 + place % 3)
        if rows:
            self._connection.executemany("insert into store.statements values (?,?,?,?,?)", rows)
        return numbers

    def forget(self) -> None:
        """Remove all statements."""
        self._connection.execute("delete from store.statements")

    def compiled(self, query: Query, graphs: Mapping[IRI | None, int]) -> SqlQuery:
        """A query over one data set."""
        named = {name: _triples(each) for name, each in graphs.items() if name is not None}
        ids = ids_of(query)
        ids.update((name, str(name)) for name in named)
        scope = QueryRelations(_triples(graphs.get(None, 0)), _terms(), ids, named)
        return duckdb_query(compile_query(query, scope))

    def rows(self, query: SqlQuery) -> list[tuple[Any, ...]]:
        """The rows of the SQL."""
        return self._connection.execute(text_of(query.tree, "duckdb")).fetchall()

    def ask(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a text."""
        return self._connection.execute(text, list(values)).fetchall()

    def answer(self, query: SqlQuery) -> list[tuple[Term | None, ...]]:
        """The rows as terms."""
        return [tuple(each.term(row) for each in query.columns) for row in self.rows(query)]


def _named(term: Term) -> str:
    if not isinstance(term, Literal):
        return str(term)
    kind = f"^^{term.datatype}" if term.language is None else f"@{term.language}"
    return f'"{term.lexical}"{kind}'


def _terms() -> exp.Select:
    tree = parse_one(
        "SELECT t.id, t.kind, t.text, t.datatype, t.language, t.number, t.moment "
        "FROM store.terms AS t"
    )
    assert isinstance(tree, exp.Select)
    return tree


def _triples(graph: int) -> exp.Select:
    tree = parse_one(
        "SELECT s.subject, s.predicate, s.object, s.number FROM store.statements AS s "
        f"WHERE s.stay = {graph}"
    )
    assert isinstance(tree, exp.Select)
    return tree
