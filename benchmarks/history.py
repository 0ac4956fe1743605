"""How fast history is written and asked, and its size: ``python -m benchmarks.history``.

Individuals of the paper's scenario (section 5.2) go to history through the store's own writer, as
if they had left the window: eight statements each, one of them inferred, spread over ten days.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import psycopg2
from psycopg2 import extensions

from sensorstream.history import embedded
from sensorstream.history.database import engine
from sensorstream.history.reader_role import reader_url
from sensorstream.history.store import PostgresStore
from sensorstream.history.views import install_views
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Departure, Ended, Individual, Message, Provenance, Status
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.timeline import Timeline

LINE: Final = Timeline.DATETIME
START: Final = datetime(2014, 8, 1, tzinfo=UTC)
DAYS: Final = 10
ROOMS: Final = 1000
STATEMENTS: Final = 8
GROUP: Final = 1000
EX: Final = "http://sensorstream.example/tracking#"
DAY: Final = 86_400_000_000
STAY: Final = 60_000_000

PROPERTIES: Final = ("hasTime", "hasXLocation", "hasYLocation", "hasCertainty", "hasName", "isIn")
SCHEMA: Final = Schema(
    classes=frozenset({IRI(f"{EX}Human"), IRI(f"{EX}Actor")}),
    object_properties=frozenset({IRI(f"{EX}isIn")}),
    datatype_properties=frozenset(IRI(EX + name) for name in PROPERTIES[:-1]),
    ranges_of={
        IRI(f"{EX}hasTime"): frozenset({IRI(xsd.DATE_TIME)}),
        **{IRI(EX + name): frozenset({IRI(xsd.INTEGER)}) for name in PROPERTIES[1:4]},
    },
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and how many ms it may take."""

    name: str
    aim: float
    text: str


def _term(text: str) -> str:
    return f"(select id from store.terms where text = '{text}' and kind = 0)"


def questions(individuals: int) -> Iterator[Question]:
    """Typical questions about one of so many individuals, one instant, one day."""
    middle = individuals // 2
    one = f"{EX}human-{middle}"
    instant = _time(middle, individuals) + STAY // 2
    day = LINE.of(START) + DAY * (DAYS // 2)
    written = (
        "select n.text, p.text, o.text from store.statements s "
        "join store.terms n on n.id = s.subject join store.terms p on p.id = s.predicate "
        "join store.terms o on o.id = s.object "
    )
    at = f"s.valid_from <= {instant} and s.valid_to > {instant}"
    span = f"store.span(s.valid_from, s.valid_to) @> {instant}::bigint"
    yield Question(
        "a subject", 5, f"{written} where s.subject = {_term(one)}",
    )  # fmt: skip
    yield Question(
        "a subject as of T", 5, f"{written} where s.subject = {_term(one)} and {at}",
    )  # fmt: skip
    yield Question("all as of T", 5, f"{written} where {at} and {span}")
    yield Question(
        "x > 638", 50,
        f"{written} where s.predicate = {_term(EX + 'hasXLocation')} and s.number > 638",
    )  # fmt: skip
    yield Question(
        "in room 7, certainty > 95", 50,
        "select n.text, c.number from store.statements r "
        "join store.statements c on c.subject = r.subject "
        "join store.terms n on n.id = r.subject "
        f"where r.predicate = {_term(EX + 'isIn')} and r.object = {_term(EX + 'room-7')} "
        f"and c.predicate = {_term(EX + 'hasCertainty')} and c.number > 95",
    )  # fmt: skip
    yield Question(
        "in room 7, x > 600, and when", 50,
        "select n.text, t.moment from store.statements r "
        "join store.statements x on x.subject = r.subject "
        "join store.statements w on w.subject = r.subject "
        "join store.terms n on n.id = r.subject join store.terms t on t.id = w.object "
        f"where r.predicate = {_term(EX + 'isIn')} and r.object = {_term(EX + 'room-7')} "
        f"and x.predicate = {_term(EX + 'hasXLocation')} and x.number > 600 "
        f"and w.predicate = {_term(EX + 'hasTime')}",
    )  # fmt: skip
    during = f"s.valid_from >= {day} and s.valid_from < {day + DAY}"
    yield Question(
        "mean certainty of a day", 500,
        "select count(*), avg(s.number) from store.statements s "
        f"where s.predicate = {_term(EX + 'hasCertainty')} and {during}",
    )  # fmt: skip


def view_questions(individuals: int) -> Iterator[Question]:
    """The same through the views, as people ask."""
    middle = individuals // 2
    one = f"{EX}human-{middle}"
    instant = Timeline.format(LINE, _time(middle, individuals) + STAY // 2)
    day = (START + timedelta(days=DAYS // 2)).isoformat()
    following = (START + timedelta(days=DAYS // 2 + 1)).isoformat()
    for name, aim, text in (
        ("view: a subject", 5, f"select * from history.statements where subject = '{one}'"),
        (
            "view: all as of T", 5,
            "select subject, predicate, object from history.statements "
            f"where valid_from <= '{instant}' and valid_to > '{instant}'",
        ),
        ("view: x > 638", 50, "select iri, value from history.has_x_location where number > 638"),
        ("view: latest ten", 5, "select * from history.human order by time desc limit 10"),
        ("view: latest time", 5, "select time from history.human order by time desc limit 1"),
        ("view: max(time)", 5, "select max(time) from history.human"),
        (
            "view: humans of an hour", 50,
            f"select * from history.human where time >= '{day}' "
            f"and time < timestamptz '{day}' + interval '1 hour'",
        ),
        (
            "view: humans of a day, joined", 5,
            "select count(*) from history.human a join history.actor b on a.iri = b.iri "
            f"where a.time >= '{day}' and a.time < '{following}' "
            f"and b.time >= '{day}' and b.time < '{following}'",
        ),
        (
            "view: mean certainty of a day", 500,
            "select count(*), avg(value) from history.has_certainty "
            f"where valid_from >= '{day}' and valid_from < '{following}'",
        ),
        (
            "view: classes of a day", 500,
            "select class, count(*) from history.individuals "
            f"where time >= '{day}' and time < '{following}' group by class",
        ),
    ):  # fmt: skip
        yield Question(name, aim, text)


def main(arguments: Sequence[str]) -> int:
    """Load, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--individuals", type=int, default=100_000)
    parser.add_argument("--plans", action="store_true", help="PostgreSQL's plan of each question")
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="sensorstream-bench-") as folder,
        embedded.start(Path(folder)) as server,
    ):
        load(server.url, options.individuals)
        connection = psycopg2.connect(server.url)
        connection.autocommit = True
        # Questions are asked as users ask them, with the settings of the role that reads.
        reader = psycopg2.connect(reader_url(server.url))
        reader.autocommit = True
        with connection.cursor() as cursor, reader.cursor() as asking:
            cursor.execute("vacuum analyze")
            sizes(cursor, options.individuals * STATEMENTS)
            print(f"{'question':40}{'rows':>10}{'ms':>10}{'aim':>8}")
            for each in (*questions(options.individuals), *view_questions(options.individuals)):
                rows, took = ask(asking, each.text)
                print(f"{each.name:40}{rows:10}{took:10.2f}{each.aim:8.0f}", flush=True)
                if options.plans:
                    asking.execute(f"explain (analyze, buffers) {each.text}")
                    print("\n".join(f"    {line}" for (line,) in asking))
        reader.close()
        connection.close()
    return 0


def load(url: str, individuals: int) -> None:
    """Write the individuals to history, a group a transaction."""
    database = engine(url)
    with PostgresStore.open(url, LINE) as store:
        install_views(database, SCHEMA, LINE)
        spent = 0.0
        for seq, start in enumerate(range(0, individuals, GROUP), 1):
            effects = group(seq, range(start, min(start + GROUP, individuals)), individuals)
            store.append([Record(seq, Message(f"m{seq}", b"<a/>", 0), START)])
            begun = time.perf_counter()
            store.commit(effects)
            spent += time.perf_counter() - begun
    database.dispose()
    print(f"{'statements a second':40}{individuals * STATEMENTS / spent:10.0f}")


def group(seq: int, numbers: range, individuals: int) -> Effects:
    """What leaves the window with one message."""
    departures: list[Departure] = []
    ended: list[Ended] = []
    for number in numbers:
        when = _time(number, individuals)
        name = IRI(f"{EX}human-{number}")
        said = Provenance(f"m{seq}", when)
        one = Individual(name, number + 1, when, when, number, said.message)
        one.statements = dict.fromkeys(_statements(number, name, when), said)
        gone = Departure(one, when + STAY)
        departures.append(gone)
        ended += gone.ended()
        actor: Triple = (name, rdf.TYPE, IRI(f"{EX}Actor"))
        ended.append(Ended(number + 1, name, actor, said, when + STAY, inferred=True))
    statuses = (MessageStatus(seq, Status.ACCEPTED),)
    return Effects(seq, tuple(departures), tuple(ended), (), statuses, START)


def _statements(number: int, name: IRI, when: int) -> Iterator[Triple]:
    yield name, rdf.TYPE, IRI(f"{EX}Human")
    yield name, IRI(f"{EX}hasTime"), LINE.literal(when)
    yield name, IRI(f"{EX}hasXLocation"), Literal(str(number * 7919 % 640), xsd.INTEGER)
    yield name, IRI(f"{EX}hasYLocation"), Literal(str(number * 104729 % 480), xsd.INTEGER)
    yield name, IRI(f"{EX}hasCertainty"), Literal(str(number * 15485863 % 101), xsd.INTEGER)
    yield name, IRI(f"{EX}hasName"), Literal(str(number))
    yield name, IRI(f"{EX}isIn"), IRI(f"{EX}room-{number * 31 % ROOMS}")


def _time(number: int, individuals: int) -> int:
    return LINE.of(START) + number * DAYS * DAY // individuals


def sizes(cursor: extensions.cursor, statements: int) -> None:
    """Print the bytes a statement."""
    parts = [
        ("statements", "pg_relation_size", "statements"),
        ("their indexes", "pg_indexes_size", "statements"),
        ("terms", "pg_total_relation_size", "terms"),
        ("stays", "pg_total_relation_size", "stays"),
    ]
    total = 0.0
    for name, function, prefix in parts:
        size = _bytes(cursor, function, "store", prefix) / statements
        total += size
        print(f"{f'bytes a statement: {name}':40}{size:10.1f}")
    print(f"{'bytes a statement: all':40}{total:10.1f}{'':10}{250:8}")
    cursor.execute(
        "select regexp_replace(i.relname, 'statements_m?[0-9]+_m?[0-9]+_', ''), "
        "sum(pg_relation_size(i.oid)), count(*) from pg_class i join pg_index x "
        "on x.indexrelid = i.oid join pg_class t on t.oid = x.indrelid "
        "join pg_namespace n on n.oid = t.relnamespace where n.nspname = 'store' "
        "and i.relkind = 'i' and t.relname ~ '^(statements|terms|stays)' group by 1 order by 2"
    )
    for name, size, count in cursor.fetchall():
        print(f"    {name:36}{float(size) / statements:10.1f}{count:10}")


def _bytes(cursor: extensions.cursor, function: str, schema: str, prefix: str = "") -> int:
    cursor.execute(
        f"select coalesce(sum({function}(c.oid)), 0)::bigint from pg_class c "
        "join pg_namespace n on n.oid = c.relnamespace "
        "where n.nspname = %s and c.relkind = 'r' and starts_with(c.relname, %s)",
        (schema, prefix),
    )
    row = cursor.fetchone()
    assert row is not None
    size: int = row[0]
    return size


def ask(cursor: extensions.cursor, text: str) -> tuple[int, float]:
    """Rows, and the milliseconds of the quickest of five runs; of two that take seconds."""
    took = []
    for _ in range(5):
        begun = time.perf_counter()
        cursor.execute(text)
        rows = len(cursor.fetchall())
        took.append((time.perf_counter() - begun) * 1000)
        if len(took) > 1 and took[0] > 1000:
            break
    return rows, min(took)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
