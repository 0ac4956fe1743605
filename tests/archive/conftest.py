"""Histories of random stays, to archive."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Departure, Ended, Individual, Message, Provenance, Status
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.timeline import Timeline
from tests.databases import make_views

EX = "http://example.org/tracking#"
LINE = Timeline.DATETIME
START = datetime(2014, 8, 1, 8, 0, tzinfo=UTC)
DAY = timedelta(days=1) // timedelta(microseconds=1)
DAYS = 4
STAYS = 160
ODD = ("", 'say "hi", ok', "two\nlines\\N", "Åsa 😀", "\\.", "_:b1", "NULL", "http://example.org/x")


def _iri(name: str) -> IRI:
    return IRI(EX + name)


SCHEMA = Schema(
    classes=frozenset(map(_iri, ("Human", "Room", "Actor"))),
    object_properties=frozenset({_iri("hasLocation")}),
    datatype_properties=frozenset(map(_iri, ("x", "speed", "size", "awake", "seen", "hasName"))),
    ranges_of={
        _iri("x"): frozenset({IRI(xsd.INTEGER)}),
        _iri("speed"): frozenset({IRI(xsd.DOUBLE)}),
        _iri("size"): frozenset({IRI(xsd.DECIMAL)}),
        _iri("awake"): frozenset({IRI(xsd.BOOLEAN)}),
        _iri("seen"): frozenset({IRI(xsd.DATE_TIME)}),
    },
)


@pytest.fixture(scope="session")
def schema() -> Schema:
    return SCHEMA


def stay(number: int) -> tuple[Departure, tuple[Ended, ...]]:
    """One stay, on one of some days; with a value replaced and a class inferred during it."""
    name = _iri(f"human-{number % 40}")
    time = LINE.of(START) + number // 40 % DAYS * DAY + number * 1_000_001
    message = f"m{number % 20 + 1}"
    one = Individual(name, number, time - 1_000_000, time, number, message)
    said: dict[IRI, Term] = {
        rdf.TYPE: _iri("Human"),
        _iri("x"): Literal(("-7", "12", "1.5", "9007199254740993")[number % 4], xsd.INTEGER),
        _iri("hasLocation"): _iri(f"room-{number % 3}"),
        _iri("hasName"): Literal(ODD[number % len(ODD)], language="en" if number % 2 else None),
        _iri("speed"): Literal(("INF", "1e-3", "NaN", "x", "2.5E300")[number % 5], xsd.DOUBLE),
        _iri("size"): Literal("0." + "3" * (number % 30 + 1), xsd.DECIMAL),
        _iri("awake"): Literal("true" if number % 4 == 1 else "0", xsd.BOOLEAN),
        _iri("seen"): Literal(f"2014-08-01T{number % 24:02}:30:00.5+02:00", xsd.DATE_TIME),
    }
    one.statements.update({(name, p, o): Provenance(message, time) for p, o in said.items()})
    owned = (BlankNode(f"_:b{number}"), _iri("hasLocation"), BlankNode("_:room"))
    one.statements[owned] = Provenance(message, time)
    before = (name, _iri("x"), Literal(str(number), xsd.INTEGER))
    actor = (name, rdf.TYPE, _iri("Actor"))
    left = time + 60_000_000
    departure = Departure(one, left, (actor,))
    return departure, (
        *departure.ended(),
        Ended(number, name, before, Provenance(message, time - 1_000_000), time),
        Ended(number, name, actor, Provenance(message, time), left, inferred=True),
    )


@pytest.fixture
def history(new_database: Callable[[], str]) -> str:
    """The URL of a history of some days, which a server of before has left."""
    url = new_database()
    make(url)
    return url


def make(url: str) -> None:
    """Write a history of some days into an empty database."""
    with PostgresStore.open(url, LINE) as store:
        fill(store, range(1, STAYS + 1), 1)
    make_views(url, SCHEMA, LINE)


def fill(store: PostgresStore, numbers: range, first: int, messages: int = 20) -> None:
    """Store some stays, as effects of messages from number ``first`` on."""
    seqs = range(first, first + messages)
    store.append([Record(n, Message(f"m{n}", b"<a/>", n, "rest"), START) for n in seqs])
    stays = [stay(number) for number in numbers]
    store.commit(
        Effects(
            seqs[-1],
            tuple(each for each, _ in stays),
            tuple(each for _, several in stays for each in several),
            (),
            tuple(MessageStatus(n, Status.ACCEPTED) for n in seqs),
            START,
        )
    )


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    """An archive's folder, not made yet."""
    return tmp_path / "archive"
