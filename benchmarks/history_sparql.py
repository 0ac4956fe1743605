"""How fast SPARQL over history is, as SQL: ``python -m benchmarks.history_sparql``.

The data are those of :mod:`benchmarks.history`. For each query: how long it takes to compile it,
and to run it until the last row is here.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psycopg2
from psycopg2 import extensions
from sqlglot import exp, parse_one

from benchmarks.history import DAY, EX, LINE, ROOMS, START, load
from sensorstream.history import embedded
from sensorstream.history.sparql.forms import compile_query, constants
from sensorstream.history.sparql.scope import Scope, SqlQuery, text_of
from sensorstream.history.terms import look_up, term_key
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.parser import parse_query

_TIMES: Final = 5
_NOON: Final = LINE.of(START) + 5 * DAY + DAY // 2
_AT_NOON: Final = f"WHERE s.valid_from <= {_NOON} AND s.valid_to > {_NOON}"
_FIFTH: Final = (
    f"WHERE s.valid_from < {LINE.of(START) + 6 * DAY} AND s.valid_to > {LINE.of(START) + 5 * DAY}"
)


def questions(individuals: int) -> list[tuple[str, str, str]]:
    """Names, conditions on valid time, and queries."""
    one = f"<{EX}human-{individuals // 2}>"
    room = f"<{EX}room-{ROOMS // 2}>"
    return [
        ("a subject", "", f"SELECT * {{ {one} ?p ?o }}"),
        ("a subject at noon", _AT_NOON, f"SELECT * {{ {one} ?p ?o }}"),
        ("the state at noon", _AT_NOON, "SELECT * { ?s ?p ?o }"),
        ("a value", "", "SELECT ?s { ?s :hasCertainty ?v FILTER(?v > 99.5) } LIMIT 100"),
        ("a room's values", "", f"SELECT ?s ?v {{ ?s :isIn {room} ; :hasXLocation ?v }}"),
        (
            "a room's values above",
            "",
            f"SELECT ?s ?n {{ ?s :isIn {room} ; :hasCertainty ?v ; :hasName ?n FILTER(?v > 90) }}",
        ),
        (
            "a room, optionally",
            "",
            f"SELECT * {{ ?s :isIn {room} OPTIONAL {{ ?s :hasName ?n }} "
            "OPTIONAL { ?s :hasCertainty ?v FILTER(?v > 50) } }",
        ),
        ("who is not", "", f"SELECT ?s {{ ?s :isIn {room} MINUS {{ ?s a :Actor }} }}"),
        (
            "a day by room",
            _FIFTH,
            "SELECT ?r (COUNT(*) AS ?n) (AVG(?v) AS ?a) "
            "{ ?s :isIn ?r ; :hasCertainty ?v } GROUP BY ?r",
        ),
        (
            "the highest of a day",
            _FIFTH,
            "SELECT ?s ?v { ?s :hasCertainty ?v } ORDER BY DESC(?v) ?s LIMIT 10",
        ),
    ]


def main(arguments: Sequence[str]) -> int:
    """Load, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--individuals", type=int, default=100_000)
    parser.add_argument("--plans", action="store_true", help="PostgreSQL's plan of each query")
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="sensorstream-bench-") as folder,
        embedded.start(Path(folder)) as server,
    ):
        load(server.url, options.individuals)
        connection = psycopg2.connect(server.url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("vacuum analyze")
            print(f"{'query':30}{'rows':>10}{'compile ms':>12}{'ms':>10}")
            for name, condition, text in questions(options.individuals):
                query = parse_query(f"PREFIX : <{EX}> {text}")
                begun = time.perf_counter()
                compiled = _compiled(cursor, query, condition)
                sql = text_of(compiled.tree, "postgres")
                spent = time.perf_counter() - begun
                rows, took = _asked(cursor, sql)
                print(f"{name:30}{rows:10}{spent * 1000:12.1f}{took * 1000:10.2f}", flush=True)
                if options.plans:
                    cursor.execute(f"explain (analyze, buffers) {sql}")
                    print("\n".join(f"    {line}" for (line,) in cursor))
        connection.close()
    return 0


def _compiled(cursor: extensions.cursor, query: Query, condition: str) -> SqlQuery:
    keys = {each: term_key(each) for each in constants(query)}
    numbers = look_up(cursor, list(keys.values()))
    ids = {term: numbers[key] for term, key in keys.items() if key in numbers}
    triples = _select(
        f"SELECT s.subject, s.predicate, s.object, s.number FROM store.statements AS s {condition}"
    )
    terms = _select(
        "SELECT t.id, t.kind, t.text, t.datatype, t.language, t.number, t.moment "
        "FROM store.terms AS t"
    )
    return compile_query(query, Scope(triples, terms, ids))


def _select(text: str) -> exp.Select:
    tree = parse_one(text, dialect="postgres")
    assert isinstance(tree, exp.Select)
    return tree


def _asked(cursor: extensions.cursor, sql: str) -> tuple[int, float]:
    """How many rows, and the median of the seconds."""
    seconds = []
    rows = 0
    for _ in range(_TIMES):
        begun = time.perf_counter()
        cursor.execute(sql)
        rows = len(cursor.fetchall())
        seconds.append(time.perf_counter() - begun)
    return rows, statistics.median(seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
