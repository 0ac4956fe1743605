"""What waits for the pipeline: whose turn it is, and what becomes of it at the end."""

from __future__ import annotations

from collections.abc import Sequence
from time import sleep

import pytest

from sensorstream.app.control.wiring import Deployment
from sensorstream.app.life.entry_queue import EntryQueue, MessageSender, WaitingEntry
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.errors import Busy, Unavailable
from sensorstream.journal.message import TakeMessage, Tick
from sensorstream.journal.notice import ReportDifferences
from sensorstream.journal.records import Record
from sensorstream.journal.registration import RegisterQuery, RemoveQuery
from sensorstream.model.events import Status
from sensorstream.settings.settings import LimitSettings
from tests.app.pipelines import PEOPLE, Held, running


def test_a_lone_sender_does_not_wait_for_the_crowds_that_came_before(
    deployment: Deployment,
) -> None:
    contents = [bytes(each) for each in tracker_messages(901)]
    store = Held()
    with running(deployment, store) as run:
        taken = [run.pipeline.submit(contents[0], "hall")]
        assert store.tried.wait(300)
        for place, content in enumerate(contents[1:900]):
            sender = MessageSender("10.0.0.1", str(place % 3))
            taken.append(run.pipeline.submit(content, "hall", sender))
        lone = run.pipeline.submit(contents[900], "hall", MessageSender("10.0.0.2", "1"))
        change = run.pipeline.change(ReportDifferences("nothing is wrong"))
        store.let.set()
        for each in (*taken, lone, change):
            each.result(60)
    places = {each.message.content: each.seq for each in store.records}
    assert places[contents[900]] == 3
    # The entry goes alone: those before it have been a group.
    assert next(each.seq for each in store.records if each.kind == "audit") == 4
    for connection in range(3):
        mine = [places[each] for each in contents[1 + connection : 900 : 3]]
        assert mine == sorted(mine)


def test_large_messages_pause_for_others_and_a_server_that_stops_takes_those_that_wait(
    deployment: Deployment,
) -> None:
    class Slow(Held):
        def append(self, records: Sequence[Record]) -> None:
            super().append(records)
            if len(records[0].message.content) > 32 * 1024:
                sleep(0.3)

    small = [bytes(each) for each in tracker_messages(3)]
    large = [bytes(each).ljust(40_000) for each in tracker_messages(3, start=10)]
    store = Slow()
    with running(deployment, store) as run:
        taken = [run.pipeline.submit(small[0], "hall")]
        assert store.tried.wait(300)
        for place, content in enumerate(large):
            taken.append(
                run.pipeline.submit(content, "hall", MessageSender("10.0.0.1", str(place)))
            )
        # One sender's messages keep their order, whatever they are.
        taken.append(run.pipeline.submit(small[1], "hall", MessageSender("10.0.0.1", "2")))
        taken.append(run.pipeline.submit(small[2], "hall", MessageSender("10.0.0.2")))
        store.let.set()
        taken[-1].result(300)
    assert all(each.done() for each in taken)
    contents = [small[0], large[0], small[2], large[1], large[2], small[1]]
    assert [each.message.content for each in store.records] == contents


def test_a_change_that_took_long_makes_the_next_of_its_kind_pause(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The pause ends with the pipeline: what it lets pass may take as long as it likes.
    monkeypatch.setattr("sensorstream.app.life.entry_queue._PAUSE", 100.0)

    class Slow(Held):
        def append(self, records: Sequence[Record]) -> None:
            super().append(records)
            if records[0].kind == RegisterQuery.kind:
                sleep(0.6)

    store = Slow()
    with running(deployment, store) as run:
        content = bytes(next(iter(tracker_messages(1))))
        taken = [run.pipeline.change(RegisterQuery("q0", PEOPLE))]
        assert store.tried.wait(300)
        # The first was not expected to take long, nor was the second when it came.
        taken += [run.pipeline.change(RegisterQuery(f"q{n}", PEOPLE)) for n in (1, 2)]
        message = run.pipeline.submit(content, "hall")
        removal = run.pipeline.change(RemoveQuery("q0"))
        store.let.set()
        message.result(300)
        removal.result(300)
    assert all(each.done() for each in taken)
    kinds = [each.kind for each in store.records]
    assert kinds == ["query", "query", "message", "query-end", "query"]


def test_who_sends_too_much_is_refused_and_the_others_are_not(deployment: Deployment) -> None:
    content = bytes(next(iter(tracker_messages(1))))
    store = Held()
    with running(deployment, store, limits=LimitSettings(waiting_messages=10)) as run:
        first = run.pipeline.submit(content, "hall")
        assert store.tried.wait(300)
        many = [run.pipeline.submit(content, "hall", MessageSender("10.0.0.1")) for _ in range(7)]
        few = run.pipeline.submit(content, "hall", MessageSender("10.0.0.2"))
        store.let.set()
        assert sum(isinstance(each.exception(300), Busy) for each in many) == 2
        assert first.result(300).status is few.result(300).status is Status.ACCEPTED


def message(size: int, address: str = "") -> WaitingEntry:
    return WaitingEntry(TakeMessage(b"x" * size, "hall", None), MessageSender(address))


def test_what_waits_is_refused_at_the_end_whether_it_is_light_heavy_or_a_change() -> None:
    queue = EntryQueue(LimitSettings())
    light, found = message(1), WaitingEntry(Tick(b""), MessageSender("changes"))
    queue.put(light)
    queue.put(found)
    # The change has been found, and is to be worked on alone.
    assert queue.take(lambda: None) == [light]
    left = [message(1_000_000, "a"), message(1, "b"), message(1_000_000, "b")]
    for each in left:
        queue.put(each)
    reader = queue.read(lambda: 1)
    queue.turn_all_away(RuntimeError("broken"))
    for each in (light, found, *left):
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
