"""The functions about time against their definitions, on both time lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg2 import extensions

from sensorstream.history.database import connect
from sensorstream.history.reader_role import reader_url
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Effects, MessageStatus, Record
from sensorstream.model import xsd
from sensorstream.model.events import Ended, Message, Provenance, Status
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal
from sensorstream.model.timeline import Timeline
from tests.databases import execute, make_history, make_views

EX = "http://example.org/"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Interval = tuple[str, int, int]

intervals = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.integers(-50, 50), st.integers(1, 12)).map(
        lambda each: (each[0], each[1], each[1] + each[2])
    ),
    max_size=12,
)


@pytest.fixture(params=[Timeline.INTEGER, Timeline.DATETIME])
def timeline(request: pytest.FixtureRequest) -> Timeline:
    return Timeline(request.param)


@pytest.fixture
def history(url: str, timeline: Timeline) -> Iterator[extensions.cursor]:
    """Asks as the role that reads."""
    make_history(url, timeline=timeline)
    connection = connect(reader_url(url))
    connection.autocommit = True
    yield connection.cursor()
    connection.close()


def fill(url: str, timeline: Timeline, said: Sequence[Interval]) -> None:
    execute(url, "delete from store.statements")
    unit = 1 if timeline is Timeline.INTEGER else 1_000_000
    ended = [
        Ended(
            1,
            IRI(EX + name),
            (IRI(EX + name), IRI(f"{EX}p"), Literal(str(number))),
            Provenance("m1", begin * unit),
            end * unit,
        )
        for number, (name, begin, end) in enumerate(said)
    ]
    with PostgresStore.open(url, timeline) as store:
        seq = store.last_seq() + 1
        store.append([Record(seq, Message(f"m{seq}", b"", seq, "rest"), EPOCH)])
        statuses = (MessageStatus(seq, Status.ACCEPTED),)
        store.commit(Effects(seq, (), tuple(ended), (), statuses, EPOCH))


def islands(said: Sequence[Interval], name: str, longest: int) -> list[tuple[int, int, int]]:
    """Beginning, end and number of values: what one after the other says, by definition."""
    found: list[tuple[int, int, int]] = []
    for begin, end in sorted((b, e) for n, b, e in said if n == name):
        if found and begin - max(e for _, e, _ in found) <= longest:
            first, last, count = found.pop()
            found.append((first, max(last, end), count + 1))
        else:
            found.append((begin, end, 1))
    return found


def seconds(value: Any) -> Any:
    return (value - EPOCH) // timedelta(seconds=1) if isinstance(value, datetime) else value


def asked(cursor: extensions.cursor, query: str, timeline: Timeline, width: int) -> Any:
    length = width if timeline is Timeline.INTEGER else timedelta(seconds=width)
    cursor.execute(query, {"length": length})
    return [tuple(map(seconds, row)) for row in cursor.fetchall()]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(said=intervals, longest=st.integers(0, 10))
def test_sessions_end_where_a_gap_is_too_long(
    url: str, timeline: Timeline, history: extensions.cursor, said: list[Interval], longest: int
) -> None:
    fill(url, timeline, said)
    expected = {name: islands(said, name, longest) for name in ("a", "b")}
    query = f"select * from sessions('{EX}p', %(length)s)"
    assert asked(history, query, timeline, longest) == [
        (EX + name, *island) for name, found in expected.items() for island in found
    ]
    query = f"select * from gaps('{EX}p', %(length)s)"
    assert asked(history, query, timeline, longest) == [
        (EX + name, before[1], after[0])
        for name, found in expected.items()
        for before, after in pairwise(found)
    ]


def test_buckets_begin_at_multiples_of_their_width(
    timeline: Timeline, history: extensions.cursor
) -> None:
    time = "n" if timeline is Timeline.INTEGER else "to_timestamp(n)"
    query = f"select n, time_bucket(%(length)s, {time}) from generate_series(-25::bigint, 25) n"
    assert asked(history, query, timeline, 7) == [(n, n // 7 * 7) for n in range(-25, 26)]


def test_a_users_own_function_stays(url: str) -> None:
    own = "create function history.time_bucket(bigint, bigint) returns text language sql as "
    execute(url, "create schema if not exists history", own + "$$ select 'mine' $$")
    make_history(url)
    make_views(url)
    query = "select history.time_bucket(1, 2), count(*) from history.gaps('p', 1)"
    assert execute(url, query) == [("mine", 0)]


def test_the_examples_of_the_guide_can_be_run(url: str) -> None:
    guide = Path(__file__).parents[2] / "docs" / "use" / "history.md"
    section = guide.read_text().partition("## Questions about time")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```sql\n(.*?)```", section, re.DOTALL)
    tracking = "http://sensorstream.example/tracking#"
    schema = Schema(
        classes=frozenset({IRI(f"{tracking}Human")}),
        datatype_properties=frozenset({IRI(f"{tracking}hasCertainty")}),
        ranges_of={IRI(f"{tracking}hasCertainty"): frozenset({IRI(xsd.INTEGER)})},
    )
    make_history(url, schema)
    for statement in filter(str.strip, block.split(";")):
        assert execute(reader_url(url), statement) == []
