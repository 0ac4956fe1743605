"""A history: individuals of the paper's scenario (section 5.2), written by the store's own writer.

They come as if they had left the window: eight statements each, one of them inferred, spread over
ten days.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from sensorstream.history.database import engine
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


def load(url: str, individuals: int) -> None:
    """Write the individuals to history, a group a transaction."""
    database = engine(url)
    with PostgresStore.open(url, LINE) as store:
        install_views(database, SCHEMA, LINE)
        for seq, start in enumerate(range(0, individuals, GROUP), 1):
            effects = group(seq, range(start, min(start + GROUP, individuals)), individuals)
            store.append([Record(seq, Message(f"m{seq}", b"<a/>", 0), START)])
            store.commit(effects)
    database.dispose()


def group(seq: int, numbers: range, individuals: int) -> Effects:
    """What leaves the window with one message."""
    departures: list[Departure] = []
    ended: list[Ended] = []
    for number in numbers:
        when = LINE.of(START) + number * DAYS * DAY // individuals
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
