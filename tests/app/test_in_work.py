"""What was in work when a process died is counted, as long as it is the same each time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from sensorstream.app.life.in_work import Death, InWork
from sensorstream.journal.records import Record
from sensorstream.model.events import Message


def record(seq: int, kind: str = "message") -> Record:
    return Record(seq, Message(f"m{seq}", b"", seq * 10), datetime.now(UTC), kind=kind)


def started(path: Path) -> tuple[InWork, Death | None]:
    """A new process, while the one before has just vanished."""
    in_work = InWork(path)
    return in_work, in_work.open()


def test_a_process_that_ends_between_two_entries_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "data" / "in-work"
    in_work, death = started(path)
    assert death is None
    in_work.begin(record(1))
    in_work.begin(record(2))
    in_work.end()
    assert started(path)[1] is None


def test_deaths_at_the_same_entry_are_counted_until_it_passes(tmp_path: Path) -> None:
    path = tmp_path / "in-work"
    in_work, _ = started(path)
    for times in (1, 2, 3):
        in_work.begin(record(4))
        in_work.begin(record(5))
        in_work, death = started(path)
        assert death == Death(5, 50, 0, times)
        # It may end before it comes there, and that changes nothing.
        in_work, _ = started(path)
    in_work.begin(record(5))
    in_work.begin(record(6))
    in_work.end()
    in_work.begin(record(5))
    assert started(path)[1] == Death(5, 50, 0, 1)


def test_deaths_at_different_entries_are_chance(tmp_path: Path) -> None:
    path = tmp_path / "in-work"
    for seq in (5, 6, 5, 7):
        in_work, _ = started(path)
        in_work.begin(record(seq))
        death = started(path)[1]
        assert death is not None
        assert (death.culprit, death.times) == (seq, 1)


def test_a_message_that_an_entry_releases_is_the_culprit_not_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "in-work"
    in_work, _ = started(path)
    for times in (1, 2):
        in_work.begin(record(3))
        in_work.begin(record(9))
        in_work.turn_to("m2")
        in_work.turn_to("m3")
        in_work, death = started(path)
        assert death == Death(9, 90, 3, times)
        assert death.culprit == 3


def test_what_takes_longer_than_it_may_is_told() -> None:
    in_work = InWork()
    assert in_work.longer_than(0) == ""
    in_work.begin(record(3))
    assert in_work.longer_than(60) == ""
    assert in_work.longer_than(-1).startswith("entry 3 (message) has been in work for 0 s")
    in_work.attend("a query has been checked")
    assert in_work.longer_than(-1).startswith("a query has been checked for 0 s")
    in_work.end()
    assert in_work.longer_than(-1) == ""
