"""SPARQL over history beside other engines: ``python -m benchmarks.history_sparql``.

Ten typical questions to the data of :mod:`benchmarks.history`. PostgreSQL is asked as
``sensorstream query --on history`` asks it: with a new connection, parsing and compiling. The
others (:mod:`benchmarks.history_engines`) hold the same statements in memory; every answer is
compared.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import psycopg2

from benchmarks.history import DAY, EX, LINE, ROOMS, START, load
from benchmarks.history_engines import Answers, DuckDB, Oxigraph, RdfLib, Rows
from sensorstream.history import embedded
from sensorstream.history.asking.checked_question import (
    AtInstant,
    CheckedQuestion,
    Interval,
    read_question,
)
from sensorstream.history.asking.query_answer import Solutions
from sensorstream.history.asking.query_run import AskingLimits, answered, plan_of
from sensorstream.model.terms import Literal

_TIMES: Final = 5
_LIMITS: Final = AskingLimits(timeout=600.0, rows=10_000_000)
_FIFTH: Final = LINE.of(START) + 5 * DAY
NOON: Final = AtInstant(_FIFTH + DAY // 2)
FIFTH: Final = Interval(_FIFTH, _FIFTH + DAY)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in SPARQL, when it is about, and as DuckDB's SQL over ``said``.

    The table has a row for each statement: ``s``, ``p``, ``o``, ``number``, ``valid_from``,
    ``valid_to``; the prefix of names is left out. ``free``: which rows come is not determined.
    """

    name: str
    text: str
    sql: str
    time: AtInstant | Interval | None = None
    free: bool = False

    def question(self) -> CheckedQuestion:
        """As it is asked of history."""
        read = read_question(f"PREFIX : <{EX}> {self.text}", LINE)
        return CheckedQuestion(read.query, read.parsed, self.time)


def questions(individuals: int) -> list[Asked]:
    """About one of so many individuals, a room, an instant, a day."""
    one, room = f"human-{individuals // 2}", f"room-{ROOMS // 2}"
    at = f"valid_from <= {NOON.at} and valid_to > {NOON.at}"
    during = f"valid_from < {FIFTH.end} and valid_to > {FIFTH.start}"
    near = f"from said r join said v using (s) where r.p = 'isIn' and r.o = '{room}'"
    return [
        Asked("a subject", f"SELECT ?p ?o {{ :{one} ?p ?o }}",
              f"select distinct p, o from said where s = '{one}'"),
        Asked("a subject at noon", f"SELECT ?p ?o {{ :{one} ?p ?o }}",
              f"select distinct p, o from said where s = '{one}' and {at}", NOON),
        Asked("the state at noon", "SELECT ?s ?p ?o { ?s ?p ?o }",
              f"select distinct s, p, o from said where {at}", NOON),
        Asked("a value", "SELECT ?s { ?s :hasCertainty ?v FILTER(?v > 99.5) } LIMIT 100",
              "select distinct s, o from said where p = 'hasCertainty' and number > 99.5 limit 100",
              free=True),
        Asked("a room's values", f"SELECT ?s ?v {{ ?s :isIn :{room} ; :hasXLocation ?v }}",
              f"select distinct s, v.o {near} and v.p = 'hasXLocation'"),
        Asked("a room's values above",
              f"SELECT ?s ?n {{ ?s :isIn :{room} ; :hasCertainty ?v ; :hasName ?n "
              "FILTER(?v > 90) }",
              "select distinct s, n.o from said r join said v using (s) join said n using (s) "
              f"where r.p = 'isIn' and r.o = '{room}' and v.p = 'hasCertainty' and v.number > 90 "
              "and n.p = 'hasName'"),
        Asked("a room, optionally",
              f"SELECT ?s ?n ?v {{ ?s :isIn :{room} OPTIONAL {{ ?s :hasName ?n }} "
              "OPTIONAL { ?s :hasCertainty ?v FILTER(?v > 50) } }",
              "select distinct r.s, n.o, v.o from said r "
              "left join said n on n.s = r.s and n.p = 'hasName' left join said v "
              "on v.s = r.s and v.p = 'hasCertainty' and v.number > 50 "
              f"where r.p = 'isIn' and r.o = '{room}'"),
        Asked("who is not",
              f"SELECT ?s {{ ?s :isIn :{room} MINUS {{ ?s :hasCertainty ?v FILTER(?v > 50) }} }}",
              f"select distinct s from said r where p = 'isIn' and o = '{room}' and not exists "
              "(from said v where v.s = r.s and v.p = 'hasCertainty' and v.number > 50)"),
        Asked("a day by room",
              "SELECT ?r (COUNT(*) AS ?n) (AVG(?v) AS ?a) { ?s :isIn ?r ; :hasCertainty ?v } "
              "GROUP BY ?r",
              "select r, count(*), avg(n) from (select distinct i.s, i.o as r, v.o, v.number as n "
              f"from (from said where {during}) i join (from said where {during}) v using (s) "
              "where i.p = 'isIn' and v.p = 'hasCertainty') group by r", FIFTH),
        Asked("the highest of a day",
              "SELECT ?s ?v { ?s :hasCertainty ?v } ORDER BY DESC(?v) ?s LIMIT 10",
              "select s, o from (select distinct s, o, number from said where p = 'hasCertainty' "
              f"and {during}) order by number desc, s limit 10", FIFTH),
    ]  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Load, measure, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--individuals", type=int, default=20_000)
    parser.add_argument("--alone", action="store_true", help="without the other engines")
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
        connection.close()
        others: list[Answers] = []
        if not options.alone:
            others = [made(options.individuals) for made in (Oxigraph, RdfLib, DuckDB)]
        names = "".join(f"{each.name:>18}" for each in others)
        print(f"{'ms (and how many times as long)':34}{'rows':>8}{'PostgreSQL':>12}{names}")
        for asked in questions(options.individuals):
            question = asked.question()
            rows, own = measured(partial(_of_history, server.url, question))
            line = f"{asked.name:34}{len(rows):8}{own:12.1f}"
            for each in others:
                found, took = measured(partial(each.answer, asked.text, asked.sql, asked.time))
                same = comparable(found) == comparable(rows)
                assert same or (asked.free and len(found) == len(rows)), (
                    f"{each.name} answers '{asked.name}' in another way"
                )
                line += f"{took:10.1f} ({took / own:5.2f})"
            print(line, flush=True)
            if options.plans:
                print(plan_of(server.url, question, _LIMITS, analyze=True).plan)
    return 0


def measured(ask: Callable[[], Rows]) -> tuple[Rows, float]:
    """The answer, and the milliseconds of the quickest of five runs; of two that take seconds."""
    took = []
    for _ in range(_TIMES):
        begun = time.perf_counter()
        rows = ask()
        took.append((time.perf_counter() - begun) * 1000)
        if len(took) > 1 and took[0] > 1000:
            break
    return rows, min(took)


def comparable(rows: Rows) -> Counter[tuple[str, ...]]:
    """The rows with names and numbers as all engines would write them."""
    return Counter(tuple(map(_cell, row)) for row in rows)


def _cell(value: object) -> str:
    text = "" if value is None else str(value).removeprefix(EX)
    # Oxigraph writes a time without the zeros at its end.
    text = re.sub(r"(\.\d*?)0+Z$", r"\1Z", text)
    try:
        return f"{float(text):.6f}"
    except ValueError:
        return text


def _of_history(url: str, question: CheckedQuestion) -> Rows:
    with answered(url, question, _LIMITS) as answer:
        assert isinstance(answer, Solutions)
        return [
            tuple(
                "" if each is None else each.lexical if isinstance(each, Literal) else str(each)
                for each in row
            )
            for row in answer.rows
        ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
