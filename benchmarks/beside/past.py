"""History in PostgreSQL: statements written, and ten typical questions in SPARQL.

CPU time of PostgreSQL's processes is counted. DuckDB is asked in SQL, over one table; Oxigraph
knows no valid time: for a question about one it has a store of what held then. Both hold all in
memory, made before the clock runs; every answer is compared.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil

from benchmarks.beside.turns import Pair, agree, timed
from benchmarks.history import DAY, EX, LINE, ROOMS, START, STATEMENTS, load
from benchmarks.history_engines import Answers, DuckDB, Oxigraph, Rows
from sensorstream.history import embedded
from sensorstream.history.asking.checked_question import (
    AtInstant,
    CheckedQuestion,
    Interval,
    read_question,
)
from sensorstream.history.asking.query_answer import Solutions
from sensorstream.history.asking.query_run import AskingLimits, answered
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import Literal

_LIMITS: Final = AskingLimits(timeout=600.0, rows=10_000_000)
_FIFTH: Final = LINE.of(START) + 5 * DAY
NOON: Final = AtInstant(_FIFTH + DAY // 2)
FIFTH: Final = Interval(_FIFTH, _FIFTH + DAY)


@frozen
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


class _Past:
    """A PostgreSQL with a history of so many individuals."""

    def __init__(self, folder: Path, url: str, individuals: int) -> None:
        self.url = url
        (file,) = folder.rglob("postmaster.pid")
        self._postgres = psutil.Process(int(file.read_text().split()[0]))
        begun = self.cpu()
        load(url, individuals)
        self.written = (self.cpu() - begun) / (individuals * STATEMENTS)

    def cpu(self) -> float:
        """CPU seconds so far of this process and PostgreSQL's."""
        spent = time.process_time()
        for each in (self._postgres, *self._postgres.children(recursive=True)):
            # One that has ended is in the times of the first.
            with suppress(psutil.NoSuchProcess):
                spent += sum(each.cpu_times()[:4])
        return spent


@contextmanager
def _past(individuals: int) -> Iterator[_Past]:
    with tempfile.TemporaryDirectory(prefix="sensorstream-bench-") as name:
        folder = Path(name)
        with embedded.start(folder) as server:
            yield _Past(folder, server.url, individuals)


@contextmanager
def questions_beside(made: type[DuckDB | Oxigraph], size: int) -> Iterator[Pair]:
    """All questions about so many individuals, one after the other."""
    other: Answers = made(size)
    asked = [(each, each.question()) for each in questions(size)]
    with _past(size) as past:
        for each, question in asked:
            ours, theirs = (
                _of_history(past.url, question),
                other.answer(each.text, each.sql, each.time),
            )
            agree(each.name, len(ours), len(theirs))
            if not each.free:
                agree(each.name, comparable(ours), comparable(theirs))

        def mine() -> float:
            begun = past.cpu()
            for _, question in asked:
                _of_history(past.url, question)
            return (past.cpu() - begun) / len(asked)

        def all_of_them() -> None:
            for each, _ in asked:
                other.answer(each.text, each.sql, each.time)

        yield Pair(mine, timed(all_of_them, len(asked)))


@contextmanager
def written_beside_duckdb(size: int) -> Iterator[Pair]:
    """Statements of so many individuals into a new history, beside one table of DuckDB."""

    def ours() -> float:
        with _past(size) as past:
            return past.written

    yield Pair(ours, timed(lambda: DuckDB(size), size * STATEMENTS))


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
