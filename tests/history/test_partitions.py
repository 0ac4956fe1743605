"""Partitions cover every instant once, at whole units, and stay few."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

import psycopg2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.history.partitions import (
    END,
    FIRST,
    Partitions,
    StatementPartition,
    new_partition,
    partitions,
)
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model.events import Ended, Message, Provenance, Status
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline
from tests.history.analysed import analysed

UNITS = {Timeline.INTEGER: 65_536, Timeline.DATETIME: 86_400_000_000}
NOW = datetime(2014, 8, 1, tzinfo=UTC)
DAY = UNITS[Timeline.DATETIME]


def made(
    instants: Sequence[int], timeline: Timeline, full: frozenset[str] = frozenset()
) -> list[StatementPartition]:
    """The partitions after each instant has asked for its own."""
    there: list[StatementPartition] = []
    for instant in instants:
        if not any(each.low <= instant < each.high for each in there):
            there.append(new_partition(instant, there, full, timeline))
            there.sort(key=lambda each: each.low)
    return there


@given(
    st.sampled_from(list(UNITS)),
    st.lists(
        st.integers(FIRST, END - 1) | st.integers(-(10**12), 10**12) | st.just(FIRST), max_size=60
    ),
    st.integers(0, 3),
)
def test_every_instant_has_one_partition(
    timeline: Timeline, instants: list[int], dense: int
) -> None:
    there: list[StatementPartition] = []
    for number, instant in enumerate(instants):
        if not any(each.low <= instant < each.high for each in there):
            full = frozenset(each.name for each in there if hash(each.low) % 4 < dense)
            there.append(new_partition(instant, there, full, timeline))
            there.sort(key=lambda each: each.low)
        holding = [each for each in there if each.low <= instant < each.high]
        assert len(holding) == 1, number
    assert all(one.high <= other.low for one, other in pairwise(there))
    unit = UNITS[timeline]
    for each in there:
        assert each.low % unit == 0 or each.low == FIRST
        assert each.high % unit == 0 or each.high == END


def test_a_day_of_much_traffic_has_a_partition_of_its_own() -> None:
    there: list[StatementPartition] = []
    for day in range(10):
        full = frozenset(each.name for each in there)
        there.append(new_partition(day * DAY + 5, there, full, Timeline.DATETIME))
    assert there == [StatementPartition(day * DAY, (day + 1) * DAY) for day in range(10)]


def test_slow_traffic_shares_a_partition_of_a_month_at_most() -> None:
    there = made([day * DAY for day in range(365)], Timeline.DATETIME)
    assert len(there) < 20
    assert max(each.high - each.low for each in there) == 32 * DAY


@pytest.mark.parametrize("timeline", UNITS)
@pytest.mark.parametrize("order", ["forwards", "backwards", "scattered"])
def test_ten_thousand_different_days_make_few_partitions(timeline: Timeline, order: str) -> None:
    unit = UNITS[timeline]
    days = [number * 365 for number in range(-5_000, 5_000)]
    if order == "backwards":
        days.reverse()
    if order == "scattered":
        days = [days[number * 7919 % 10_000] for number in range(10_000)]
    there = made([day * unit for day in days], timeline)
    assert len(there) < 400


def test_what_the_catalog_says_is_what_was_made(store: PostgresStore, url: str) -> None:
    instants = [FIRST, -70_000, 0, 5, 65_536, 10**15, END - 1]
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        known = Partitions(Timeline.INTEGER)
        known.make(cursor, instants)
        known.make(cursor, instants)
        there = partitions(cursor)
        for number, instant in enumerate(instants):
            cursor.execute(
                "insert into store.statements values (1, 2, 3, 0, %s, %s, 1, null, false)",
                (instant, number),
            )
    connection.close()
    assert all(sum(each.low <= x < each.high for each in there) == 1 for x in instants)


def test_a_new_partition_waits_for_no_query(store: PostgresStore, url: str) -> None:
    reader, writer = psycopg2.connect(url), psycopg2.connect(url)
    with reader.cursor() as reading, writer.cursor() as writing:
        Partitions(Timeline.INTEGER).make(writing, [5])
        writer.commit()
        reading.execute("select count(*) from store.statements")
        writing.execute("set lock_timeout = '1s'")
        Partitions(Timeline.INTEGER).make(writing, [10**9])
        writer.commit()
        assert len(partitions(reading)) == 2
    reader.close()
    writer.close()


def test_a_new_partition_is_analysed_once_it_has_rows(store: PostgresStore, url: str) -> None:
    for seq in (1, 2):
        store.append([Record(seq, Message(f"m{seq}", b"<a/>", 0), NOW)])
        # Half of them are of another partition, which has too few.
        ended = tuple(said(number, 5 if number % 3 else 10**9) for number in range(900))
        status = MessageStatus(seq, Status.ACCEPTED)
        store.commit(Effects(seq, (), tuple(ended), (), (status,), NOW))
        assert ("statements_0_65536" in analysed(url)) is (seq == 2)
    assert {"statements", "terms"} <= analysed(url)
    assert "statements_999948288_1000013824" not in analysed(url)


def test_the_planner_knows_how_many_triples_differ(store: PostgresStore, url: str) -> None:
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        Partitions(Timeline.INTEGER).make(cursor, [5])
        # Each twice, as of two stays.
        cursor.execute(
            "insert into store.statements select n / 8, n % 8, n % 100, 1, 5, stay, 1, null, false "
            "from generate_series(1, 16000) n, generate_series(1, 2) stay"
        )
        cursor.execute("analyze store.statements")
        cursor.execute(
            "explain (format json) select distinct subject, predicate, object from store.statements"
        )
        [([plan],)] = cursor.fetchall()
    connection.close()
    assert 12_000 < plan["Plan"]["Plan Rows"] < 20_000


def said(number: int, until: int) -> Ended:
    name = IRI(f"http://example.org/{number}")
    triple = (name, IRI("http://example.org/x"), IRI("http://example.org/room"))
    return Ended(0, name, triple, Provenance("m1", 1), until)
