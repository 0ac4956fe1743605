"""A store that breaks down: what the pipeline writes arrives, once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from random import Random
from threading import Lock

import pytest

from sensorstream.app.control.wiring import Deployment
from sensorstream.app.life import entry_queue
from sensorstream.app.life import store_writes as durable
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import HistoryError
from sensorstream.journal.records import Effects, Record
from sensorstream.model.events import Status
from sensorstream.testing import MemoryStore
from tests.app.pipelines import left_behind, running


class LosesAnswers(MemoryStore):
    """Each write arrives, but of the first of each kind the answer is lost."""

    def __init__(self) -> None:
        super().__init__()
        self.lost = {"append", "commit", "save_checkpoint"}

    def _lose(self, what: str) -> None:
        if what in self.lost:
            self.lost.remove(what)
            raise HistoryError(f"the connection was lost in {what}")

    def append(self, records: Sequence[Record]) -> None:
        super().append(records)
        self._lose("append")

    def commit(self, effects: Effects) -> bool:
        queued = super().commit(effects)
        self._lose("commit")
        return queued

    def save_checkpoint(self, seq: int, state: bytes) -> None:
        super().save_checkpoint(seq, state)
        self._lose("save_checkpoint")


def test_a_write_whose_answer_was_lost_is_not_made_twice(deployment: Deployment) -> None:
    messages = [bytes(each) for each in tracker_messages(12)]
    with running(deployment, MemoryStore()) as whole, running(deployment, LosesAnswers()) as run:
        for content in messages:
            assert whole.send(content) is run.send(content) is Status.ACCEPTED
        assert run.pipeline.trouble is None
        assert left_behind(run.store) == left_behind(whole.store)
        assert run.engine.state() == whole.engine.state()
    assert isinstance(run.store, LosesAnswers)
    assert not run.store.lost


class Crashes(MemoryStore):
    """Breaks down now and then; what it stored since a journal write had begun may be lost then.

    The end of a journal write makes all safe that was stored when it began, and nothing else: so
    does PostgreSQL for effects that are not waited for.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._dice = Random(seed)
        self._turn = Lock()
        self._safe = 0
        self._down = False
        self.crashes = 0

    def _strike(self) -> None:
        if not self._down and self._dice.random() < 0.08:
            self._down = True
            self.crashes += 1
        if self._down:
            raise HistoryError("it broke down")

    def append(self, records: Sequence[Record]) -> None:
        stored = len(self.committed)
        with self._turn:
            self._strike()
            super().append(records)
            self._safe = stored
            self._strike()

    def commit(self, effects: Effects) -> bool:
        with self._turn:
            self._strike()
            queued = super().commit(effects)
            self._strike()
            return queued

    def reopened(self) -> Crashes:
        kept = self.committed[: self._dice.randint(self._safe, len(self.committed))]
        self.committed, self._statuses, self._watermark = [], {}, 0
        for each in kept:
            super().commit(each)
        self._down = False
        return self


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_crash_of_the_history_takes_is_stored_again_exactly_once(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(durable, "_PATIENCE", 0.001)
    monkeypatch.setattr(entry_queue, "_GROUP", 3)
    contents = [bytes(each) for each in tracker_messages(120)]
    store = Crashes(seed)
    early: list[str] = []

    def answered(future: Future[Outcome]) -> None:
        name = future.result().message.id
        if int(name.removeprefix("m")) > store.watermark():
            early.append(name)

    with running(deployment, MemoryStore()) as whole:
        for each in [whole.pipeline.submit(content, "hall") for content in contents]:
            assert each.result(300).status is Status.ACCEPTED
    with running(deployment, store, store.reopened) as run:
        taken = [run.pipeline.submit(content, "hall") for content in contents]
        for each in taken:
            each.add_done_callback(answered)
        for each in taken:
            assert each.result(300).status is Status.ACCEPTED
        assert left_behind(store) == left_behind(whole.store)
        assert run.engine.state() == whole.engine.state()
    assert store.crashes
    assert not early
