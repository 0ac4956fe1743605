"""Each stay has the set of classes that statements give it, whoever wrote them and when."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import psycopg2
import pytest

from sensorstream.engine.outcome import Status
from sensorstream.history.database import engine
from sensorstream.history.reader_role import reader_url
from sensorstream.history.store import PostgresStore
from sensorstream.history.views import install_views
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model.events import Departure, Ended, Individual, Message, Provenance
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.model.xsd import XSD_INTEGER
from tests.history.classes import stays_told_wrong

NOW = datetime(2014, 8, 1, tzinfo=UTC)
EX = "http://example.org/"
CLASSES: list[Term] = [IRI(EX + name) for name in ("Human", "Actor", "Guide")]
SCHEMA = Schema(
    classes=frozenset({IRI(f"{EX}Human"), IRI(f"{EX}Actor"), IRI(f"{EX}Guide")}),
    datatype_properties=frozenset({IRI(f"{EX}x"), IRI(f"{EX}room")}),
    ranges_of={IRI(f"{EX}x"): frozenset({IRI(XSD_INTEGER)})},
)


def commit(
    store: PostgresStore,
    seq: int,
    departures: list[Departure],
    ended: list[Ended],
    revoked: list[Ended],
) -> None:
    store.append([Record(seq, Message(f"m{seq}", b"<a/>", seq), NOW)])
    statuses = (MessageStatus(seq, Status.ACCEPTED),)
    store.commit(
        Effects(seq, tuple(departures), tuple(ended), (), statuses, NOW, revoked=tuple(revoked))
    )


def typed(stay: int, kind: Term, start: int, end: int, *, inferred: bool = False) -> Ended:
    name = IRI(f"{EX}{stay % 3}")
    return Ended(
        stay, name, (name, RDF_TYPE, kind), Provenance("m1", start), end, inferred=inferred
    )


def left(stay: int, time: int, kinds: list[Term]) -> Departure:
    """A stay that ends, with the classes said of it, and one said of a blank node that it owns."""
    one = Individual(IRI(f"{EX}{stay % 3}"), stay, 1, 1, stay, "m1")
    for kind in kinds:
        one.statements[(one.name, RDF_TYPE, kind)] = Provenance("m1", 1)
    one.statements[(BlankNode("_:b"), RDF_TYPE, CLASSES[0])] = Provenance("m1", 1)
    return Departure(one, time)


@pytest.mark.parametrize("seed", range(2))
def test_sets_follow_statements_that_come_before_with_and_after_a_stay(
    store: PostgresStore, seed: int
) -> None:
    chance = random.Random(seed)
    staying: list[int] = []
    gone: dict[int, int] = {}
    stored: list[Ended] = []
    for seq in range(1, 80):
        time = 10 + seq // 4
        staying.append(seq)
        departures, ended, revoked = [], [], []
        for _ in range(chance.randint(0, 3)):
            stay, kind = chance.choice([*staying, *gone, 0]), chance.choice(CLASSES)
            # What ended in the instant in which its stay ends is what it had at its end.
            end = chance.choice((time, gone.get(stay, time)))
            ended.append(typed(stay, kind, seq % 9, end, inferred=chance.random() < 0.5))
        if stored and chance.random() < 0.5:
            revoked.append(stored.pop(chance.randrange(len(stored))))
        if len(staying) > 4 or chance.random() < 0.3:
            stay = staying.pop(chance.randrange(len(staying)))
            gone[stay] = time
            departures.append(left(stay, time, chance.sample(CLASSES, chance.randint(0, 2))))
            ended += departures[0].ended()
            if chance.random() < 0.5:
                ended.append(typed(stay, chance.choice(CLASSES), 2, time, inferred=True))
        commit(store, seq, departures, ended, revoked)
        stored += [each for each in ended if each.triple[1] == RDF_TYPE]
        having, wrong = stays_told_wrong(store.url)
        assert wrong == [], seq
    assert having > 20


def asked(url: str, query: str) -> list[tuple[Any, ...]]:
    with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


@pytest.mark.parametrize("number", [200, 2000])
def test_a_join_of_class_views_pivots_each_of_them_once(store: PostgresStore, number: int) -> None:
    departures = []
    for stay in range(1, number + 1):
        gone = left(stay, stay, CLASSES[:2])
        said = gone.individual
        said.name = IRI(f"{EX}human-{stay}")
        said.statements = {
            (said.name, RDF_TYPE, CLASSES[0]): Provenance("m1", 1),
            (said.name, IRI(f"{EX}x"), Literal(str(stay % 64), XSD_INTEGER)): Provenance("m1", 1),
            (said.name, IRI(f"{EX}room"), Literal(str(stay % 10))): Provenance("m1", 1),
        }
        departures.append(gone)
    commit(store, 1, departures, [each for gone in departures for each in gone.ended()], [])
    database = engine(store.url)
    install_views(database, SCHEMA, Timeline.INTEGER)
    database.dispose()
    # As the planner sees it before, and after, it has statistics.
    for statement in ("select 1", "analyze"):
        with closing(psycopg2.connect(store.url)) as connection, connection.cursor() as cursor:
            connection.autocommit = True
            cursor.execute(statement)
        (((found,),),) = asked(
            reader_url(store.url),
            "explain (format json) select count(*) from history.human a join history.human b "
            "on a.room = b.room and a.x = b.x and a.iri < b.iri",
        )
        text = json.dumps(found)
        assert text.count('"Aggregate"') >= 3
        assert [each for each in _inner(found["Plan"]) if _pivots(each)] == []


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for each in plan.get("Plans", ()):
        yield from _nodes(each)


def _inner(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The plans that a nested loop runs again for each row."""
    for each in _nodes(plan):
        if each["Node Type"] == "Nested Loop":
            inner = each["Plans"][1]
            if inner["Node Type"] != "Materialize":
                yield inner


def _pivots(plan: dict[str, Any]) -> bool:
    """Whether a plan reads stays and pivots the statements of each."""
    nodes = list(_nodes(plan))
    reads_stays = any(each.get("Relation Name") == "stays" for each in nodes)
    return reads_stays and any(each["Node Type"] == "Aggregate" for each in nodes)
