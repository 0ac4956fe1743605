"""Effects that are stored while the engine goes on, and who is told of them, and when."""

from __future__ import annotations

from threading import Event

import pytest

from sensorstream.app.control.wiring import Deployment
from sensorstream.app.life import entry_queue
from sensorstream.app.life.entry_queue import MessageSender
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.errors import HistoryError, Unavailable
from sensorstream.journal.notice import ReportDifferences
from sensorstream.journal.records import Effects
from sensorstream.model.events import Status
from sensorstream.testing import MemoryStore
from tests.app.pipelines import Held, running
from tests.waiting import eventually


class WithReceiver(MemoryStore):
    """A history with a webhook: each alert is put into the outbox."""

    def commit(self, effects: Effects) -> bool:
        super().commit(effects)
        return bool(effects.alerts)


@pytest.mark.parametrize(("store", "expected"), [(MemoryStore, False), (WithReceiver, True)])
def test_an_alert_is_announced_and_said_to_be_in_the_outbox_only_if_it_is(
    deployment: Deployment, store: type[MemoryStore], expected: bool
) -> None:
    with running(deployment, store()) as run:
        assert run.send(b"<unknown/>") is Status.UNMATCHED
    ((raised, *_),) = (each.alerts for each in run.store.committed)
    assert raised.kind == "unmatched-message"
    assert run.told == [expected]


def test_the_engine_goes_on_while_effects_are_stored_and_nobody_is_answered_before(
    deployment: Deployment,
) -> None:
    class Slow(Held):
        def __init__(self) -> None:
            super().__init__()
            self.stored = Event()

        def commit(self, effects: Effects) -> bool:
            assert self.stored.wait(180)
            return super().commit(effects)

    store = Slow()
    with running(deployment, store) as run:
        first, second = (run.pipeline.submit(each, "hall") for each in tracker_messages(2))
        assert store.tried.wait(300)
        store.let.set()
        eventually(lambda: run.engine.now == 2)
        assert not first.done()
        assert not second.done()
        store.stored.set()
        assert first.result(300).status is second.result(300).status is Status.ACCEPTED


def test_the_next_group_is_journalled_while_the_engine_is_at_the_one_before(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_queue, "_GROUP", 2)
    store = Held()
    contents = [bytes(each) for each in tracker_messages(7)]
    with running(deployment, store) as run:
        with run.pipeline.lock:
            taken = [run.pipeline.submit(each, "hall") for each in contents]
            store.let.set()
            eventually(lambda: len(store.records) > 2)
            assert run.engine.now is None
            assert not any(each.done() for each in taken)
        assert {each.result(300).status for each in taken} == {Status.ACCEPTED}
    assert [each.message.content for each in store.records] == contents
    assert [each.seq for each in store.records] == [*range(1, 8)]


@pytest.mark.parametrize("kind", ["heavy", "change"])
def test_what_waits_for_effects_that_are_never_stored_is_told_at_the_end(
    deployment: Deployment, kind: str
) -> None:
    class Away(Held):
        def commit(self, effects: Effects) -> bool:
            away.set()
            raise HistoryError("away")

    away = Event()
    store = Away()
    small, large, last = (bytes(each) for each in tracker_messages(3))
    with running(deployment, store) as run:
        first = run.pipeline.submit(small, "hall")
        assert store.tried.wait(300)
        if kind == "heavy":
            waiting = run.pipeline.submit(large.ljust(40_000), "hall", MessageSender("10.0.0.1"))
            run.pipeline.submit(last, "hall")
        else:
            waiting = run.pipeline.change(ReportDifferences("nothing is wrong"))
        store.let.set()
        assert away.wait(300)
        assert not first.done()
    for each in (first, waiting):
        assert isinstance(each.exception(1), Unavailable)
