from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event

import psycopg2
import pytest

from sensorstream.app.readiness import Check, HistoryProbe
from sensorstream.errors import HistoryError
from sensorstream.history.store import PostgresStore
from sensorstream.model.timeline import Timeline


def test_a_check_tells_what_was_found_and_how_long_ago_that_was() -> None:
    now = 100.0
    check = Check("door", lambda: None, lambda: now)
    assert not check.latest().ready
    check.start()
    now = 103.0
    assert (check.latest().ready, check.latest().age) == (True, 3.0)
    check.stop()


def test_a_probe_that_fails_says_why_and_one_that_hangs_is_not_waited_for() -> None:
    answers, hanging, now = [RuntimeError("shut")], Event(), 0.0

    def probe() -> None:
        if answers:
            raise answers.pop()
        hanging.wait(60)

    check = Check("door", probe, lambda: now)
    check.start()
    assert (check.latest().ready, check.latest().detail) == (False, "shut")
    now = 12.0
    assert check.latest().detail == "no answer for 12 seconds"
    hanging.set()
    check.stop()


def test_a_database_that_comes_back_is_asked_on_a_new_connection(
    new_database: Callable[[], str],
) -> None:
    url = new_database()
    PostgresStore.open(url, Timeline.INTEGER).close()
    probe = HistoryProbe(lambda: url)
    probe()
    connection = psycopg2.connect(url)
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "select pg_terminate_backend(pid, 10000) from pg_stat_activity "
            "where application_name = 'sensorstream readiness' and datname = current_database()"
        )
    connection.close()
    with pytest.raises(HistoryError, match="does not answer"):
        probe()
    probe()
    probe.close()


def test_a_database_that_is_busy_is_not_waited_for(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensorstream.app.readiness._SOON", 0.1)
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
