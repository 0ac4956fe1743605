"""Data sets in the tables of the history, and queries compiled for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

import psycopg2
from psycopg2.extras import execute_values
from sqlglot import exp, parse_one

from sensorstream.errors import TermError
from sensorstream.history.sparql.forms import compile_query, constants, lookup
from sensorstream.history.sparql.scope import Scope, SqlQuery
from sensorstream.model.datatypes import XSD_DATE_TIME, XSD_DATE_TIME_STAMP
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.network.expressions.values import moment, number
from sensorstream.sparql.algebra import Query

_TABLES: Final = """
create schema store;
create table store.terms (
    id bigint primary key, kind smallint not null, text text not null, datatype text,
    language text, number numeric, moment timestamptz
);
create unique index on store.terms
    (md5(text), kind, coalesce(datatype, ''), coalesce(language, ''));
create table store.statements (
    subject bigint not null, predicate bigint not null, object bigint not null,
    valid_from bigint not null, valid_to bigint not null, stay bigint not null,
    number double precision
);
create index on store.statements (stay, predicate, object);
create index on store.statements (stay, subject);
"""
Data = Mapping[IRI | None, Iterable[Triple]]


class World:
    """A database with any number of data sets; ``stay`` tells the graph of a statement."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg2.connect(url)
        self._cursor = self._connection.cursor()
        self._cursor.execute(_TABLES)
        self._cursor.execute("set jit = off")
        self._ids: dict[Term, int] = {}
        self._graphs = 0

    def close(self) -> None:
        self._connection.close()

    def load(self, data: Data) -> dict[IRI | None, int]:
        """Store graphs, each triple one to three times; gives a number for each graph."""
        before = len(self._ids)
        numbers: dict[IRI | None, int] = {}
        rows = []
        for name, triples in data.items():
            self._graphs += 1
            numbers[name] = self._graphs
            for place, triple in enumerate(dict.fromkeys(triples)):
                ids = [self._ids.setdefault(term, len(self._ids) + 1) for term in triple]
                found = number(triple[2])
                value = None if found is None else float(found)
                rows += [
                    (*ids, time, time + 1, self._graphs, value) for time in range(1 + place % 3)
                ]
        new = list(self._ids)[before:]
        execute_values(
            self._cursor,
            "insert into store.terms values %s",
            [(self._ids[term], *_stored(term)) for term in new],
            page_size=1000,
        )
        execute_values(self._cursor, "insert into store.statements values %s", rows, page_size=1000)
        return numbers

    def forget(self) -> None:
        """Remove all statements."""
        self._cursor.execute("truncate store.statements")

    def compiled(self, query: Query, graphs: Mapping[IRI | None, int]) -> SqlQuery:
        """A query over one data set."""
        named = {name: _triples(each) for name, each in graphs.items() if name is not None}
        found = sorted(constants(query, named))
        tree, ids = lookup(found), {}
        if tree is not None:
            self._cursor.execute(tree.sql("postgres"))
            ids = {found[place]: id_ for place, id_ in self._cursor.fetchall()}
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
            self._cursor.execute(query.text())
        except psycopg2.Error:
            self._cursor.execute("rollback to savepoint asked")
            raise
        return self._cursor.fetchall()

    def answer(self, query: SqlQuery) -> list[tuple[Term | None, ...]]:
        """The rows as terms."""
        return [tuple(each.term(row) for each in query.columns) for row in self.rows(query)]

    def plan(self, query: SqlQuery) -> str:
        """PostgreSQL's plan."""
        self._cursor.execute(f"explain (format json) {query.text()}")
        return json.dumps(self._cursor.fetchone())


def _triples(graph: int) -> exp.Select:
    tree = parse_one(
        "SELECT s.subject, s.predicate, s.object, s.number FROM store.statements AS s "
        f"WHERE s.stay = {graph}",
        dialect="postgres",
    )
    assert isinstance(tree, exp.Select)
    return tree


def _stored(term: Term) -> tuple[Any, ...]:
    if isinstance(term, IRI):
        return (0, str(term), None, None, None, None)
    if isinstance(term, BlankNode):
        return (1, term.removeprefix("_:"), None, None, None, None)
    assert isinstance(term, Literal)
    try:
        value = number(term)
    except TermError:
        value = None
    exact = Decimal(repr(value)) if isinstance(value, float) else value
    known = moment(term) if term.datatype in (XSD_DATE_TIME, XSD_DATE_TIME_STAMP) else None
    return (2, term.lexical, term.datatype, term.language, exact, known)
