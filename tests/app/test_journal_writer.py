"""The journal as the pipeline writes it: what it has already, and what it can never hold."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event

import pytest

from sensorstream.app.control.wiring import Deployment
from sensorstream.app.life import entry_queue
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.errors import HistoryError, RepeatedMessage, Unstorable
from sensorstream.journal.records import Record
from sensorstream.model.events import Status
from sensorstream.testing import MemoryStore
from tests.app.pipelines import running, without_checkpoints


def test_a_message_that_an_input_delivers_again_is_taken_once(deployment: Deployment) -> None:
    first, second, third = (bytes(each) for each in tracker_messages(3))
    with running(deployment, MemoryStore()) as run:
        taken = [
            run.pipeline.take(content, "hall", origin)
            for content, origin in [(first, "1"), (second, "2"), (first, "1"), (second, "2")]
        ]
        assert [each.result(300).status for each in taken[:2]] == [Status.ACCEPTED] * 2
        for again in taken[2:]:
            with pytest.raises(RepeatedMessage):
                again.result(300)
    store = without_checkpoints(run.store)
    with running(deployment, store) as run:
        with pytest.raises(RepeatedMessage):
            run.pipeline.take(second, "hall", "2").result(300)
        # Packet numbers of MQTT come round again: only what says that it may be a repeat is one.
        new = run.pipeline.take(third, "hall", "2", repeated=False).result(300)
        assert new.status is Status.ACCEPTED
        assert run.pipeline.take(second, "hall").result(300).status is Status.ACCEPTED
    assert [each.message.content for each in store.records] == [first, second, third, second]


class Picky(MemoryStore):
    """It can never hold what contains "bad", nor the first checkpoints."""

    checkpoints_refused = 0

    def append(self, records: Sequence[Record]) -> None:
        if any(b"bad" in each.message.content for each in records):
            raise Unstorable("cannot write the journal: what a text")
        super().append(records)

    def save_checkpoint(self, seq: int, state: bytes) -> None:
        if self.checkpoints_refused < 2:
            self.checkpoints_refused += 1
            raise HistoryError("too long")
        super().save_checkpoint(seq, state)


@pytest.mark.parametrize("size", [2, 100])
def test_one_message_that_the_journal_can_never_hold_is_refused_and_no_other(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    # With small groups it is journalled while the engine is at others.
    monkeypatch.setattr(entry_queue, "_GROUP", size)
    messages = [bytes(each) for each in tracker_messages(8)]
    gate = Event()
    with running(deployment, Picky()) as run:
        run.pipeline.settled(lambda: gate.wait(300))
        sent = [
            run.pipeline.submit(each, "hall") for each in (*messages[:4], b"<bad/>", *messages[4:])
        ]
        early = run.pipeline.submit(b"<bad/>", "hall", early=True)
        gate.set()
        refused = [each for each in (*sent, early) if isinstance(each.exception(300), Unstorable)]
        assert refused == [sent[4], early]
        others = [each for each in sent if each not in refused]
        assert {each.result(300).status for each in others} == {Status.ACCEPTED}
        told = [each for each in run.store.records if each.kind == "refused"]
        # One entry tells of all that a group has refused; a slow machine may make two groups.
        assert len(told) in (1, 2)
        assert [each.seq for each in run.store.records] == list(range(1, 9 + len(told)))
        for each in told:
            assert b"a message of 6 bytes from 'hall': cannot write" in each.message.content
        assert run.pipeline.trouble is None
        state = run.engine.state()
    assert isinstance(run.store, Picky)
    run.store.checkpoints_refused = 1
    run.store.drop_checkpoints([seq for seq, _ in run.store.checkpoints()])
    with running(deployment, run.store) as again:
        assert again.engine.state() == state
        assert run.store.checkpoints_refused == 2
