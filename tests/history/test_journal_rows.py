"""The readers of the journal against a list of its entries."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from sensorstream.errors import HistoryError
from sensorstream.history.journal_rows import (
    JournalEntry,
    change_at,
    content_of,
    entries,
    entry_at,
    journal_changes,
    journal_rows,
    last_messages,
    numbered_rows,
    pass_over,
    record_of,
    row_of,
)
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import Record
from sensorstream.model.events import Message, Status
from tests.databases import execute
from tests.history.test_store import NOW

KINDS = ("message", "message", "ontology", "rules")
STATUSES = (Status.ACCEPTED, Status.REJECTED, None)


@pytest.fixture
def journal(store: PostgresStore) -> list[Record]:
    """Entries of several kinds and sources, most with a status."""
    chance = random.Random(3)
    made = [
        Record(
            n,
            Message(f"m{n}", bytes([n]) * chance.randrange(9), n * 10, chance.choice("ab")),
            NOW,
            chance.choice(STATUSES),
            chance.choice(KINDS),
            chance.random() < 0.2,
            chance.choice(("", f"o{n}")),
        )
        for n in range(1, 41)
    ]
    store.append(made)
    for each in made:
        status = None if each.status is None else each.status.value
        change = "update store.messages set status = %s, degraded = %s where seq = %s"
        execute(store.url, change, values=(status, each.degraded, each.seq))
    return made


def first(found: Sequence[Record], most_bytes: int) -> list[Record]:
    """As many as have no more bytes together."""
    sizes = [len(each.message.content) for each in found]
    return [each for n, each in enumerate(found) if sum(sizes[: n + 1]) <= most_bytes]


def test_each_reader_gives_what_a_list_has(store: PostgresStore, journal: list[Record]) -> None:
    url = store.url
    for after, upto, kinds in ((0, None, ()), (7, 30, ("message", "rules")), (0, 20, ("rules",))):
        assert [*map(record_of, journal_rows(url, after, upto, kinds))] == [
            each
            for each in journal
            if after < each.seq <= (upto or 99) and (not kinds or each.kind in kinds)
        ]
    for source in (None, "a"):
        assert [*map(record_of, journal_changes(url, ["rules", "message"], source))] == [
            each
            for each in journal
            if each.kind == "rules" and source in (None, each.message.source)
        ]
    messages = [each for each in reversed(journal) if each.kind == "message"]
    for most, most_bytes in ((5, 999), (99, 30), (99, 0)):
        found = first(messages[:most], most_bytes)
        assert [*map(record_of, last_messages(url, most, most_bytes))] == found[::-1]
    numbers = [3, 9, 9, 77, 12, 20]
    named = [each for each in reversed(journal) if each.seq in numbers]
    for most_bytes in (999, 9):
        assert [*map(record_of, numbered_rows(url, numbers, most_bytes))] == first(
            named, most_bytes
        )
    put = [each for each in journal if each.kind == "rules" and each.status is Status.ACCEPTED]
    for seq in range(42):
        row = change_at(url, "rules", seq)
        before, later = ([e for e in put if (e.seq <= seq) is past] for past in (True, False))
        assert row is not None
        assert record_of(row) == (before[-1] if before else later[0])
        assert record_of(row_of(record_of(row))) == record_of(row)
    assert change_at(url, "message", 9) is None


def shown(record: Record) -> JournalEntry:
    said = record.message
    about = (record.received_at, said.received, record.status, "", len(said.content))
    return JournalEntry(record.seq, said.id, record.kind, said.source, *about)


def test_operators_see_entries_without_their_content(
    store: PostgresStore, journal: list[Record]
) -> None:
    newest = [*map(shown, reversed(journal))]
    for limit, before, status in ((5, None, None), (99, 20, None), (9, 30, Status.REJECTED)):
        assert (
            entries(store.url, limit, before, status)
            == [
                each
                for each in newest
                if each.seq < (before or 99) and status in (None, each.status)
            ][:limit]
        )
    assert [entry_at(store.url, n) for n in (0, 1, 40)] == [None, newest[-1], newest[0]]
    assert [content_of(store.url, n) for n in (1, 99)] == [journal[0].message.content, b""]


def test_an_entry_is_passed_over_with_a_notice_or_not_at_all(
    store: PostgresStore, journal: list[Record]
) -> None:
    notice = Record(41, Message("m41", b"{}", 410), NOW, kind="skip")
    with pytest.raises(HistoryError, match="the journal has no entry 99"):
        pass_over(store.url, 99, Status.SKIPPED, "bad", notice)
    assert store.last_seq() == 40
    pass_over(store.url, 5, Status.SKIPPED, "bad", notice)
    passed = replace(shown(journal[4]), status=Status.SKIPPED, reason="bad")
    assert (entry_at(store.url, 5), entry_at(store.url, 41)) == (passed, shown(notice))
