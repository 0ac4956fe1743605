"""What every store of the journal holds to: PostgreSQL, and the lists for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sensorstream.errors import HistoryError
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Effects, MessageStatus, Record, Settled, Store
from sensorstream.model.events import Message, Status
from sensorstream.model.timeline import Timeline
from sensorstream.testing import MemoryStore

NOW = datetime(2014, 8, 1, 8, 5, tzinfo=UTC)


@pytest.fixture(params=["memory", "postgresql"])
def store(request: pytest.FixtureRequest, new_database: Callable[[], str]) -> Iterator[Store]:
    opened: Store = (
        MemoryStore()
        if request.param == "memory"
        else PostgresStore.open(new_database(), Timeline.INTEGER)
    )
    yield opened
    opened.close()


def record(seq: int, kind: str = "message") -> Record:
    message = Message(f"m{seq}", b"<a>\x00%d</a>" % seq, seq * 10, f"source {seq}")
    return Record(seq, message, NOW, kind=kind)


def effects(
    first: int,
    last: int,
    status: Status = Status.ACCEPTED,
    *,
    settled: tuple[Settled, ...] = (),
    degraded: bool = False,
) -> Effects:
    statuses = tuple(
        MessageStatus(seq, status, "because", degraded=degraded) for seq in range(first, last + 1)
    )
    return Effects(last, (), (), (), statuses, NOW, settled)


def test_a_new_store_is_empty(store: Store) -> None:
    assert (store.last_seq(), store.watermark(), store.checkpoints()) == (0, 0, [])
    assert (list(store.replay(0)), store.whole()) == ([], True)


def test_a_journal_knows_the_origins_of_its_messages(store: Store) -> None:
    assert store.origins({"a", "b"}) == frozenset()
    store.append([replace(record(1), origin="a"), record(2), replace(record(3), origin="c")])
    # The packet numbers of a broker come round again.
    store.append([replace(record(4), origin="a")])
    assert store.origins({"a", "b", "c"}) == {"a", "c"}
    assert [each.origin for each in store.replay(0)] == ["a", "", "c", "a"]


def test_a_journal_gives_back_what_it_was_given_above_a_number(store: Store) -> None:
    given = [record(1), record(2, "tick"), record(3, "a kind of another day")]
    store.append(given[:2])
    store.append(given[2:])
    assert (list(store.replay(0)), list(store.replay(1))) == (given, given[1:])
    assert (store.last_seq(), store.whole()) == (3, True)


def test_a_group_with_a_number_that_is_there_is_not_written(store: Store) -> None:
    store.append([record(1)])
    with pytest.raises(HistoryError, match="duplicate key"):
        store.append([record(2), record(1)])
    assert store.last_seq() == 1


def test_effects_give_each_entry_its_status_and_move_the_watermark(store: Store) -> None:
    store.append([record(seq) for seq in (1, 2, 3)])
    store.commit(effects(1, 1, Status.HELD))
    settled = (Settled("m1", Status.REJECTED),)
    store.commit(effects(2, 2, settled=settled, degraded=True))
    assert store.watermark() == 2
    found = [(each.status, each.degraded) for each in store.replay(0)]
    assert found == [(Status.REJECTED, False), (Status.ACCEPTED, True), (None, False)]
    assert store.rejected(["m1", "m2", "m3"]) == {"m1"}


def test_effects_that_are_stored_change_nothing_a_second_time(store: Store) -> None:
    store.append([record(1), record(2)])
    store.commit(effects(1, 2))
    assert store.commit(effects(1, 2, Status.REJECTED)) is False
    assert {each.status for each in store.replay(0)} == {Status.ACCEPTED}


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [(1, 3, "stored already"), (3, 3, "pass message 2"), (2, 4, "not in the journal")],
)
def test_effects_that_would_break_the_count_are_refused(
    store: Store, first: int, last: int, told: str
) -> None:
    store.append([record(seq) for seq in (1, 2, 3)])
    store.commit(effects(1, 1))
    with pytest.raises(HistoryError, match=told):
        store.commit(effects(first, last))
    assert store.watermark() == 1


def test_the_last_accepted_entry_of_a_kind_is_found(store: Store) -> None:
    store.append([record(seq, "ontology") for seq in (1, 2, 3)])
    store.commit(effects(1, 2))
    store.commit(effects(3, 3, Status.REJECTED))
    assert store.last_accepted("ontology", 3) == record(2).message
    assert store.last_accepted("ontology", 1) == record(1).message
    assert store.last_accepted("reasoner", 3) is None


def test_two_checkpoints_are_kept_newest_first(store: Store) -> None:
    store.append([record(seq) for seq in range(1, 6)])
    store.commit(effects(1, 5))
    for seq in (1, 3, 5):
        store.save_checkpoint(seq, b"\x00%d" % seq)
    store.save_checkpoint(5, b"again")
    assert store.checkpoints() == [(5, b"again"), (3, b"\x003")]
    store.drop_checkpoints([5])
    assert store.checkpoints() == [(3, b"\x003")]


def test_a_checkpoint_ahead_of_the_watermark_is_refused(store: Store) -> None:
    store.append([record(1)])
    with pytest.raises(HistoryError, match="ahead of the watermark 0"):
        store.save_checkpoint(1, b"state")
