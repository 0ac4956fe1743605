"""The pipeline over a store in lists: what is journalled, answered, and done again in a replay."""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import pytest

from sensorstream.app.control.wiring import Deployment
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.errors import (
    HistoryError,
    InternalFault,
    MalformedMessage,
    MessageTooLarge,
    QueryConflict,
    QueryError,
    SensorStreamError,
    Unavailable,
    UnknownQuery,
)
from sensorstream.journal.entry import Entry
from sensorstream.journal.records import Effects
from sensorstream.journal.registration import RegisterQuery, RemoveQuery
from sensorstream.model.events import Status
from sensorstream.settings.settings import ServerSettings
from sensorstream.testing import MemoryStore
from tests.app.pipelines import PEOPLE, WINDOWED, running, without_checkpoints


def test_what_is_refused_before_it_is_journalled_leaves_no_entry(deployment: Deployment) -> None:
    with running(deployment, MemoryStore()) as run:
        run.change(RegisterQuery("people", PEOPLE))
        refused: list[tuple[Entry, type[SensorStreamError]]] = [
            (RegisterQuery("people", WINDOWED), QueryConflict),
            (RegisterQuery("", PEOPLE), QueryError),
            (RegisterQuery("bad", "SELECT nothing"), QueryError),
            (RemoveQuery("nobody"), UnknownQuery),
        ]
        for entry, kind in refused:
            with pytest.raises(kind):
                run.change(entry)
        assert run.store.last_seq() == 1


def test_a_fault_of_ours_in_a_check_refuses_the_entry_and_nothing_else(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(deployment, MemoryStore()) as run:
        with monkeypatch.context() as patch:
            patch.setattr(run.engine.queries, "check", lambda *_, **__: 1 // 0)
            with pytest.raises(InternalFault, match="ZeroDivisionError"):
                run.change(RegisterQuery("people", PEOPLE))
        assert run.pipeline.running
        assert run.change(RegisterQuery("people", PEOPLE)) is Status.ACCEPTED


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"<open>", MalformedMessage), (b"\x00\xff", MalformedMessage), (b"", MalformedMessage)],
)
def test_what_an_input_delivers_is_quarantined_where_a_sender_would_be_told(
    deployment: Deployment, content: bytes, reason: type[SensorStreamError]
) -> None:
    with running(deployment, MemoryStore()) as run:
        with pytest.raises(reason):
            run.pipeline.submit(content, "hall").result(300)
        assert run.store.records == []
        with pytest.raises(reason) as caught:
            run.pipeline.take(content, "hall", "1").result(300)
        assert caught.value.message_id == "m1"
        assert run.store.statuses() == {"m1": Status.REJECTED}
        state = run.engine.state()
    with running(deployment, without_checkpoints(run.store)) as again:
        assert again.engine.state() == state


def test_a_message_over_the_limit_is_refused_whatever_way_it_came(deployment: Deployment) -> None:
    narrow = ServerSettings(max_message_bytes=1000)
    deployment = replace(deployment, settings=replace(deployment.settings, server=narrow))
    with running(deployment, MemoryStore()) as run:
        for way in (run.pipeline.submit, run.pipeline.take):
            assert way(b"<a>" + b"x" * 993 + b"</a>", "hall").result(300).status is Status.UNMATCHED
            with pytest.raises(MessageTooLarge, match="holds 1001 bytes, the limit is 1000"):
                way(b"<a>" + b"x" * 994 + b"</a>", "hall").result(300)
        assert [each.value for each in run.store.statuses().values()] == [
            "unmatched",
            "unmatched",
            "rejected",
        ]


def test_a_pipeline_that_has_been_stopped_takes_nothing(deployment: Deployment) -> None:
    with running(deployment, MemoryStore()) as run:
        run.pipeline.stop()
        with pytest.raises(Unavailable):
            run.send(b"<a/>")
        with pytest.raises(Unavailable):
            run.change(RemoveQuery("x"))


def test_a_reader_sees_no_group_by_half(deployment: Deployment) -> None:
    store = MemoryStore()
    with running(deployment, store) as run:

        def read() -> tuple[int, int, int]:
            left = sum(len(each.departures) for each in store.committed)
            assert store.watermark() == store.last_seq()
            return store.watermark(), left, len(run.engine.window)

        assert run.pipeline.settled(read).result(300) == (0, 0, 0)
        taken, seen = [], []
        for content in tracker_messages(120):
            taken.append(run.pipeline.submit(bytes(content), "hall"))
            seen.append(run.pipeline.settled(read))
        for each in taken:
            assert each.result(300).status is Status.ACCEPTED
        marks = [each.result(300) for each in seen]
        assert marks == sorted(marks)
        watermark, left, _ = run.pipeline.settled(read).result(300)
        assert watermark == 120
        assert left > 0


def test_a_reader_is_told_its_own_fault_and_harms_nobody(deployment: Deployment) -> None:
    with running(deployment, MemoryStore()) as run:
        failed = run.pipeline.settled(lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            failed.result(300)
        assert run.send(bytes(next(iter(tracker_messages(1))))) is Status.ACCEPTED


def test_a_reader_waits_while_effects_wait_for_the_store_and_is_told_at_the_end(
    deployment: Deployment,
) -> None:
    class Away(MemoryStore):
        def commit(self, effects: Effects) -> bool:
            tried.set()
            raise HistoryError("away")

    tried = Event()
    store = Away()
    with running(deployment, store) as run:
        run.pipeline.submit(bytes(next(iter(tracker_messages(1)))), "hall")
        assert tried.wait(300)
        waiting = run.pipeline.settled(lambda: True)
        assert not waiting.done()
    with pytest.raises(Unavailable, match="ask again later"):
        waiting.result(300)
    with pytest.raises(Unavailable):
        run.pipeline.settled(lambda: True).result(300)
