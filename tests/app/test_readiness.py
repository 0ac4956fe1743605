from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

import psycopg2
import pytest
from prometheus_client import generate_latest

from sensorstream.app.application import Application
from sensorstream.app.life.health import HealthPart, HistoryProbe, Readiness
from sensorstream.errors import HistoryError
from sensorstream.history.store import PostgresStore
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import Settings
from tests.app.conftest import Open
from tests.databases import execute
from tests.waiting import eventually


def test_a_trial_tells_what_it_found_and_how_long_ago_that_was() -> None:
    now = 100.0
    readiness = Readiness(["door"], lambda enter: enter("door"), lambda: now)
    readiness.start()
    assert readiness.parts() == [HealthPart("door", ready=True)]
    now = 103.0
    assert readiness.parts() == [HealthPart("door", ready=True, age=3.0)]
    readiness.stop()


def test_nothing_is_tried_while_nobody_asks() -> None:
    tried: list[str] = []
    readiness = Readiness(["door"], lambda _: tried.append("x"), time.monotonic)
    readiness.start()
    readiness.stop()
    assert not tried


def test_a_part_that_fails_says_why_and_those_after_it_stay_as_they_were_found() -> None:
    faults = [RuntimeError("shut")]

    def trial(enter: Callable[[str], None]) -> None:
        enter("gate")
        enter("door")
        if faults:
            raise faults.pop()
        enter("room")

    readiness = Readiness(["gate", "door", "room"], trial, lambda: 0.0)
    readiness.start()
    assert [(each.ready, each.detail) for each in readiness.parts()] == [
        (True, ""),
        (False, "shut"),
        (False, "not tried yet"),
    ]
    readiness.stop()


def test_a_part_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sensorstream.app.life.health.LATE", 0.1)
    there, hanging = Event(), Event()
    now = 100.0

    def trial(enter: Callable[[str], None]) -> None:
        enter("gate")
        enter("door")
        there.set()
        hanging.wait()

    readiness = Readiness(["gate", "door"], trial, lambda: now)
    readiness.start()
    try:
        readiness.parts()
        assert there.wait(60)
        now = 107.0
        # It returns, though the trial does not.
        gate, door = readiness.parts()
        assert gate.ready
        assert (door.ready, door.detail) == (False, "no answer for 7 seconds")
    finally:
        hanging.set()
        readiness.stop()


def test_a_trial_leaves_nothing_in_window_journal_history_or_metrics(
    application: Application,
) -> None:
    before = _left(application)
    eventually(lambda: all(each.ready for each in application.health.parts()))
    assert {"history", "pipeline", "mapping", "reasoner", "cache"} <= {
        each.name for each in application.health.parts()
    }
    assert _left(application) == before


def test_processes_that_hang_are_named_replaced_and_ready_again(
    open_application: Open, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("LATE", 0.3), ("_EVERY", 0.1), ("_FRESH", 0.2)):
        monkeypatch.setattr(f"sensorstream.app.life.health.{name}", seconds)
    monkeypatch.setattr("sensorstream.app.life.health.LATE", 0.3)
    monkeypatch.setattr("sensorstream.processes.forks._BEGIN_SECONDS", 3.0)
    hermit = replace(settings.reasoning, profile="hermit", timeout=3.0, explain=0)
    application = open_application(replace(settings, reasoning=hermit))

    def away() -> set[str]:
        return {each.name for each in application.health.parts() if not each.ready}

    def back(pattern: str, hanging: set[int]) -> bool:
        return not away() and not set(_children(pattern)) <= hanging

    eventually(lambda: not away())
    for name, pattern in (
        ("reasoner", "sensorstream.reasoning.dl.reasoner_worker"),
        ("cache", "sensorstream.app.cache.cache_process"),
    ):
        hanging = _children(pattern)  # HermiT has another process, for contradictions.
        for pid in hanging:
            os.kill(pid, signal.SIGSTOP)
        eventually(partial(lambda name: name in away(), name))
        # It may have been away before it was stopped, and be ready until it is tried again.
        eventually(partial(back, pattern, set(hanging)))
        assert set(_children(pattern)) - set(hanging), "another process has taken its place"


def _left(application: Application) -> tuple[object, ...]:
    connection = psycopg2.connect(application.url)
    with connection, connection.cursor() as cursor:
        rows = []
        for table in ("messages", "statements", "alerts", "checkpoints", "deliveries"):
            cursor.execute(f"select count(*) from store.{table}")
            rows.append(cursor.fetchone())
    connection.close()
    told = generate_latest(application.metrics).decode().splitlines()
    counters = [line for line in told if line.startswith("sensorstream_messages")]
    return rows, counters, application.window_view(10)


def _children(pattern: str) -> list[int]:
    found = []
    for each in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
        for pid in map(int, each.read_text().split()):
            with suppress(OSError):
                if pattern in Path(f"/proc/{pid}/cmdline").read_text():
                    found.append(pid)
    return found


def test_a_database_that_comes_back_is_asked_on_a_new_connection(
    new_database: Callable[[], str],
) -> None:
    url = new_database()
    PostgresStore.open(url, Timeline.INTEGER).close()
    probe = HistoryProbe(lambda: url)
    probe()
    execute(
        url,
        "select pg_terminate_backend(pid, 10000) from pg_stat_activity "
        "where application_name = 'sensorstream readiness' and datname = current_database()",
    )
    with pytest.raises(HistoryError, match="does not answer"):
        probe()
    probe()
    probe.close()


def test_a_database_that_is_busy_is_not_waited_for(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensorstream.app.life.health._SOON", 0.1)
    url = new_database()
    PostgresStore.open(url, Timeline.INTEGER).close()
    probe = HistoryProbe(lambda: url)
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute("lock table store.alerts in access exclusive mode")
        begun = time.monotonic()
        with pytest.raises(HistoryError, match="statement timeout"):
            probe()
        assert time.monotonic() - begun < 60
    connection.close()
    probe()
    probe.close()
