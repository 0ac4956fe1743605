"""Questions that PostgreSQL does not stop by itself, and the end of their processes."""

from __future__ import annotations

import signal
import subprocess

import psutil
import pytest

from sensorstream.errors import Overrun
from sensorstream.history import backends
from sensorstream.history.backends import end_in_time
from tests.history.test_read_only_sql import ask
from tests.waiting import eventually


def test_a_query_that_postgresql_does_not_stop_is_left(
    history: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "GRACE", 0.5)
    seen: list[int] = []
    monkeypatch.setattr(backends, "end_in_time", lambda process: seen.append(process.pid))
    # Each with each, without a look at the limit: on a quiet machine some eight seconds.
    # Its arrays are made within the limit, or PostgreSQL would look at it.
    series = "(select array_agg({}x) from generate_series(1, 60000) x)"
    with pytest.raises(Overrun, match=r"longer than limits\.question_seconds"):
        ask(history, f"select {series.format('')} && {series.format('-')}", timeout=1)
    eventually(lambda: seen)
    assert "postgres" in psutil.Process(seen[0]).name()


def test_a_process_that_does_not_end_in_time_is_killed() -> None:
    with subprocess.Popen(["sleep", "100"]) as hung:
        process = psutil.Process(hung.pid)
        end_in_time(process, 0.1, 0.1)
        assert hung.wait(60) == -signal.SIGKILL
    with subprocess.Popen(["sleep", "0"]) as ended:
        end_in_time(psutil.Process(ended.pid), 60, 60)
        assert ended.wait(60) == 0
