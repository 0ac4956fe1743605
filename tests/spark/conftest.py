"""A small history and one Spark for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model import rdf, xsd
from sensorstream.model.events import (
    Alert,
    Departure,
    Ended,
    Individual,
    Message,
    Provenance,
    Status,
)
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.history_snapshot import HistoryPlace
from sensorstream.spark.launch import spark_session
from tests.databases import make_views

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EX = "http://example.org/tracking#"
START = datetime(2014, 8, 1, 8, 0, tzinfo=UTC)
LINE = Timeline.DATETIME
UNCOMPILED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
ODD_NAMES = ("", 'say "hi", ok', "two\nlines\\N", "Åsa 😀", "\\.")


def _iri(name: str) -> IRI:
    return IRI(EX + name)


SCHEMA = Schema(
    classes=frozenset(map(_iri, ("Human", "Room", "Group", "Actor"))),
    object_properties=frozenset({_iri("hasLocation")}),
    datatype_properties=frozenset(map(_iri, ("x", "speed", "awake", "seen", "hasName"))),
    ranges_of={
        _iri("x"): frozenset({IRI(xsd.INTEGER)}),
        _iri("speed"): frozenset({IRI(xsd.DOUBLE)}),
        _iri("awake"): frozenset({IRI(xsd.BOOLEAN)}),
        _iri("seen"): frozenset({IRI(xsd.DATE_TIME)}),
    },
)


@pytest.fixture(scope="session")
def schema() -> Schema:
    return SCHEMA


def _departure(number: int) -> Departure:
    name = _iri(f"human-{number % 40}")
    time = LINE.of(START + timedelta(seconds=number, microseconds=number))
    message = f"m{number % 20 + 1}"
    one = Individual(name, number, time - 1_000_000, time, number, message)
    said: dict[IRI, Term] = {
        rdf.TYPE: _iri("Human"),
        _iri("x"): Literal(str(number * 3 % 101 - 20), xsd.INTEGER),
        _iri("hasLocation"): _iri(f"room-{number % 3}"),
        _iri("hasName"): Literal(ODD_NAMES[number % len(ODD_NAMES)]),
    }
    if number % 2:
        speed = "INF" if number % 50 == 7 else str(number / 8)
        said[_iri("speed")] = Literal(speed, xsd.DOUBLE)
        said[_iri("awake")] = Literal("true" if number % 4 == 1 else "0", xsd.BOOLEAN)
    if number % 3 == 0:
        said[_iri("seen")] = Literal(f"2014-08-01T{number % 24:02}:30:00.5+02:00", xsd.DATE_TIME)
    one.statements.update({(name, p, o): Provenance(message, time) for p, o in said.items()})
    owned = (BlankNode(f"_:b{number}"), _iri("x"), Literal("1", xsd.INTEGER))
    one.statements[owned] = Provenance(message, time)
    inferred = ((name, rdf.TYPE, _iri("Actor")),)
    return Departure(one, time + 60_000_000, inferred)


def _ended(departures: Sequence[Departure]) -> Iterator[Ended]:
    for gone in departures:
        one = gone.individual
        yield from gone.ended()
        for triple in gone.inferred:
            since = Provenance(one.message, one.time)
            yield Ended(one.stay, one.name, triple, since, gone.expired_at, inferred=True)


@pytest.fixture(scope="session")
def url(new_database: Callable[[], str]) -> str:
    history = new_database()
    make(history)
    return history


def make(url: str) -> None:
    """Write a history of 200 stays of 40 individuals into an empty database."""
    with PostgresStore.open(url, LINE) as store:
        content = bytes(range(256))
        store.append(
            [Record(n, Message(f"m{n}", content * n, n, "rest"), START) for n in range(1, 21)]
        )
        alerts = tuple(
            Alert(f"m{n}-1", "crowded", "rule", "warning", "many, 'very'", "k", n, f"m{n}")
            for n in range(1, 6)
        )
        room = _iri("room-1")
        instant = LINE.of(START)
        old = Ended(
            1, room, (room, _iri("hasName"), Literal("old", language="en")),
            Provenance("m1", instant), instant + 5,
        )  # fmt: skip
        statuses = tuple(
            MessageStatus(n, Status.UNMATCHED if n % 7 == 0 else Status.ACCEPTED, None)
            for n in range(1, 21)
        )
        gone = tuple(_departure(number) for number in range(1, 201))
        store.commit(Effects(20, gone, (old, *_ended(gone)), alerts, statuses, START))
    make_views(url, SCHEMA, LINE)


@pytest.fixture(scope="session")
def place(url: str, tmp_path_factory: pytest.TempPathFactory) -> HistoryPlace:
    """The same history; its archive is empty."""
    return HistoryPlace(url, tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark for small data: to compile a query would cost more than to run it, and so would the
    text of its plan that nobody reads without a user interface.
    """
    small = {"spark.sql.shuffle.partitions": "1", "spark.sql.ui.explainMode": "simple"}
    with spark_session(SparkSettings("local[2]"), small | UNCOMPILED) as session:
        yield session
