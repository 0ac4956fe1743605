"""Checkpoints: a small one in the engine's turn, a large one by a fork meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.app.control.wiring import Deployment, read_deployment
from sensorstream.app.life import store_writes as checkpoints
from sensorstream.app.life.recovery import find_start
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.engine.checkpoint import dump, load, text_of
from sensorstream.engine.engine import EngineState
from sensorstream.journal.notice import ReportDifferences
from sensorstream.journal.registration import RegisterQuery
from sensorstream.model.events import Status
from sensorstream.settings.settings import ReasoningSettings, WindowSettings
from sensorstream.testing import MemoryStore
from tests.app.pipelines import PEOPLE, WINDOWED, Running, running
from tests.tracking_settings import tracking
from tests.waiting import eventually

MESSAGES = [bytes(each) for each in tracker_messages(40)]


ONE = b"<person id='0' certainty='90'><location2d x='1' y='2'/></person>"
CHANGES: tuple[Callable[[Running], object], ...] = (
    lambda run: run.send(MESSAGES[-1]),
    lambda run: run.change(RegisterQuery("people", PEOPLE)),
    lambda run: run.change(RegisterQuery("windowed", WINDOWED)),
    lambda run: run.change(ReportDifferences("nothing is wrong")),
    lambda run: run.exchange.revive(run.pipeline),
    lambda run: run.send(of_people(3)),
)


def of_people(number: int) -> bytes:
    """One message about so many."""
    message = MESSAGES[0]
    start, end = message.index(b"<person"), message.index(b"</person>") + len(b"</person>")
    people = (ONE.replace(b"'0'", b"'%d'" % each, 1) for each in range(number))
    return message[:start] + b"".join(people) + message[end:]


def seqs(store: MemoryStore) -> list[int]:
    return [seq for seq, _ in store.checkpoints()]


def test_a_large_checkpoint_is_made_while_messages_are_taken(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, (out, into) = os.getpid(), os.pipe()
    states: list[EngineState] = []

    def held(state: EngineState) -> bytes:
        assert os.getpid() != ours
        os.read(out, 1)
        return dump(state)

    # What a fork inherits of open files, it closes: a fork of this test keeps one.
    monkeypatch.setattr("sensorstream.processes.fork_once.os.closerange", lambda *_: None)
    monkeypatch.setattr(checkpoints, "LARGE", 0)
    monkeypatch.setattr(checkpoints, "dump", held)
    store = MemoryStore()
    with running(deployment, store) as run:
        before = seqs(store)
        for content in MESSAGES[:7]:
            assert run.send(content) is Status.ACCEPTED
        states.append(run.engine.state())
        expected = dump(states[0])
        for content in MESSAGES[7:30]:
            assert run.send(content) is Status.ACCEPTED
        assert seqs(store) == before
        os.write(into, b"1")
        eventually(lambda: seqs(store) != before)
        ((seq, content),) = store.checkpoints()
        assert (seq, load(content)) == (7, load(expected))
        monkeypatch.setattr(checkpoints, "dump", dump)
    assert find_start(store).seq == 30
    os.close(out)
    os.close(into)


def test_what_a_fork_cannot_make_is_written_in_the_engines_turn_and_told(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ours = os.getpid()

    def here_only(state: EngineState) -> bytes:
        if os.getpid() != ours:
            raise MemoryError
        return dump(state)

    monkeypatch.setattr(checkpoints, "LARGE", 0)
    monkeypatch.setattr(checkpoints, "dump", here_only)
    store = MemoryStore()
    with running(deployment, store) as run:
        for content in MESSAGES[:7]:
            run.send(content)
        eventually(lambda: "was not made by a fork" in caplog.text)
        for content in MESSAGES[7:12]:
            run.send(content)
        eventually(lambda: len(seqs(store)) == 1)
        assert seqs(store)[0] > 7


def test_what_is_written_in_the_engines_turn_is_what_the_pipeline_is_at(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = Event(), Event()

    def held(state: EngineState) -> bytes:
        begun.set()
        assert go.wait(60)
        return dump(state)

    monkeypatch.setattr(checkpoints, "dump", held)
    with running(deployment, MemoryStore()) as run:
        for content in MESSAGES[:3]:
            run.send(content)
        answer = run.pipeline.change(ReportDifferences("nothing is wrong"))
        for content in MESSAGES[3:6]:
            run.pipeline.submit(content, "hall")
        assert begun.wait(60)
        told = run.in_work.longer_than(-1)
        go.set()
        assert answer.result(60).status is Status.ACCEPTED
    assert told.startswith("the checkpoint at entry 7 has been written for 0 s")


@given(number=st.integers(1, 200), change=st.sampled_from(CHANGES))
@settings(max_examples=20)
def test_after_one_message_of_any_size_and_any_change_checkpoints_grow_as_the_message(
    wide: Deployment, number: int, change: Callable[[Running], object]
) -> None:
    def written(people: int) -> int:
        store = MemoryStore()
        with running(wide, store) as run:
            assert run.send(of_people(people)) is Status.ACCEPTED
            change(run)
        (_, content), *_ = store.checkpoints()
        return len(text_of(content))

    assert written(2 * number) <= 2 * written(number) + 100


@pytest.fixture(scope="module")
def wide() -> Deployment:
    """The tracking deployment with room for all of one message."""
    return read_deployment(
        tracking(
            Path(), reasoning=ReasoningSettings(profile="plain"), window=WindowSettings(size="1000")
        )
    )
