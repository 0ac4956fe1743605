"""A PostgreSQL of our own killed under a running application: it comes back by itself."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from sensorstream.app.application import Application
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.errors import HistoryError
from sensorstream.settings.settings import HistorySettings, Settings, WindowSettings
from tests.tracking_settings import tracking


def rows_of(application: Application) -> Sequence[Sequence[object]]:
    """Who is in history; PostgreSQL may still be on its way up."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return application.asking.sql("select distinct iri from history.human").rows
        except HistoryError:
            assert time.monotonic() < deadline, "PostgreSQL does not come back"
            time.sleep(0.2)


def deployment(folder: Path) -> Settings:
    return tracking(
        folder, window=WindowSettings(size="5"), history=HistorySettings(folder=folder / "data")
    )


def kill_postgres(folder: Path) -> None:
    pid = int((folder / "data/cluster/postmaster.pid").read_text().splitlines()[0])
    others = psutil.Process(pid).children()
    os.kill(pid, signal.SIGKILL)
    # One of them might take all messages before it notices.
    psutil.wait_procs(others, 60)


def test_nothing_is_lost_when_the_embedded_postgresql_is_killed(folder: Path) -> None:
    messages = list(tracker_messages(20))
    with Application.open(deployment(folder)) as application:
        # The last effects before the kill need not be on disk yet.
        for content in messages[:10]:
            application.submit(content, "").result(300)
        kill_postgres(folder)
        for content in messages[10:]:
            application.submit(content, "").result(60)
        window = [each.name for each in application.window_view(100).individuals]
        rows = rows_of(application)
        assert not application.health.ailment()
    names = sorted([name for name in window if "human-" in name] + [str(row[0]) for row in rows])
    assert names == sorted(
        f"http://sensorstream.example/tracking#human-{number}" for number in range(1, 21)
    )


def test_a_server_to_which_nothing_is_written_starts_a_killed_postgresql_anew(folder: Path) -> None:
    with Application.open(deployment(folder)) as application:
        for content in tracker_messages(10):
            application.submit(content, "").result(300)
        before = {str(row[0]) for row in rows_of(application)}
        kill_postgres(folder)
        assert {str(row[0]) for row in rows_of(application)} == before
        # The engine has waited for nothing.
        assert application.pipeline.trouble is None
