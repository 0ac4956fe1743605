"""The suites' queries through PostgreSQL: their data as statements, some of them repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Protocol

import pyoxigraph as ox

from sensorstream.errors import UnsupportedQuery
from sensorstream.kb.oxigraph_terms import from_oxigraph, to_oxigraph
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.sparql.algebra import Query
from sensorstream.sql.sparql.compiled_query import SqlQuery
from tests.history.sparql.world import Data
from tests.w3c.checks import read, same_result
from tests.w3c.manifests import QueryCase
from tests.w3c.network import files
from tests.w3c.results import Graph, Result, Solutions, expected, parse_graph


class World(Protocol):
    """Tables for data sets, and queries compiled for them."""

    def load(self, data: Data) -> dict[IRI | None, int]: ...

    def forget(self) -> None: ...

    def compiled(self, query: Query, graphs: dict[IRI | None, int]) -> SqlQuery: ...

    def rows(self, query: SqlQuery) -> list[tuple[Any, ...]]: ...

    def answer(self, query: SqlQuery) -> list[tuple[Term | None, ...]]: ...


REFUSED: Final = {
    "sparql11/functions/sha1-01": "SHA1()",
    "sparql11/functions/sha1-02": "SHA1()",
    "sparql11/functions/bnode01": "BNODE()",
    "sparql11/functions/iri02": "IRI() of a computed text below BASE",
    "sparql11/functions/replace03": "alternatives",
}
"""Tests whose query is refused, with words of the refusal."""


def fault_of_history(case: QueryCase, world: World) -> str | None:
    """What is wrong with how PostgreSQL answers a test."""
    query = read(case, update=False)
    assert isinstance(query, Query)
    try:
        found = answer_of_history(case, query, world)
    except UnsupportedQuery as error:
        word = REFUSED.get(case.label)
        return None if word is not None and word in str(error) else f"refused: {error}"
    if case.label in REFUSED:
        return "it is answered: take it out of the table of refusals"
    right = same_result(case, query, found, expected(case.result))
    return None if right else f"the result is {found}, not {expected(case.result)}"


def answer_of_history(case: QueryCase, query: Query, world: World) -> Result:
    """What PostgreSQL answers."""
    data: dict[IRI | None, list[Triple]] = {None: []}
    for name, file in files(case, query):
        graph = None if name is None else IRI(name)
        data.setdefault(graph, []).extend(_triples(file))
        if graph is None and query.dataset.default:
            # What FROM names is a graph of the data, merged for this query.
            data.setdefault(IRI(query.dataset.default[0]), []).extend(_triples(file))
    world.forget()
    sql = world.compiled(query, world.load(data))
    if sql.form == "ASK":
        return bool(world.rows(sql)[0][0])
    rows: Any = world.answer(sql)
    if sql.form in ("CONSTRUCT", "DESCRIBE"):
        parts: Any = [list(map(to_oxigraph, row)) for row in rows]
        return Graph(tuple(ox.Triple(*each) for each in parts))
    return Solutions(
        tuple(
            {
                column.name: to_oxigraph(term)
                for column, term in zip(sql.columns, row, strict=True)
                if term is not None
            }
            for row in rows
        )
    )


def _triples(file: Path) -> list[Triple]:
    found: Any = [
        tuple(map(from_oxigraph, (quad.subject, quad.predicate, quad.object)))
        for quad in parse_graph(file)
    ]
    return found  # type: ignore[no-any-return]
