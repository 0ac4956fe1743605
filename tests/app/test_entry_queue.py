"""What waits for the pipeline: what becomes of it when nobody takes it any more."""

from __future__ import annotations

import pytest

from sensorstream.app.entry_queue import EntryQueue
from sensorstream.app.waiting import Sender
from sensorstream.app.waiting_entry import WaitingEntry
from sensorstream.errors import Unavailable
from sensorstream.journal.message import TakeMessage
from sensorstream.journal.tick import Tick
from sensorstream.settings import LimitSettings


def message(size: int, address: str = "") -> WaitingEntry:
    return WaitingEntry(TakeMessage(b"x" * size, "hall", None), Sender(address))


def test_what_waits_is_refused_at_the_end_whether_it_is_light_heavy_or_a_change() -> None:
    queue = EntryQueue(LimitSettings())
    light, found = message(1), WaitingEntry(Tick(b""), Sender("changes"))
    queue.put(light)
    queue.put(found)
    # The change has been found, and is to be worked on alone.
    assert queue.take(lambda: None) == [light]
    left = [message(1_000_000, "a"), message(1, "b"), message(1_000_000, "b")]
    for each in left:
        queue.put(each)
    reader = queue.read(lambda: 1)
    queue.turn_all_away()
    for each in (found, *left):
        assert isinstance(each.future.exception(0), Unavailable)
    assert isinstance(reader.exception(0), Unavailable)
    assert len(queue) == 0
    assert queue.take(lambda: None) is None


def test_nothing_enters_a_closed_queue_and_what_waits_is_still_taken() -> None:
    queue = EntryQueue(LimitSettings())
    light, heavy = message(1), message(1_000_000, "a")
    queue.put(light)
    queue.put(heavy)
    assert queue.close()
    assert not queue.close()
    with pytest.raises(Unavailable):
        queue.put(message(1))
    with pytest.raises(Unavailable):
        queue.read(lambda: 1)
    taken = queue.take(lambda: None), queue.take(lambda: None)
    assert sorted(map(len, (each for each in taken if each is not None))) == [1, 1]
    assert {id(each) for group in taken for each in group or ()} == {id(light), id(heavy)}
    assert queue.take(lambda: None) is None
