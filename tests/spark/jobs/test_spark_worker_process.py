"""The process of a job ends with its server, whatever Spark does meanwhile."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.waiting import eventually

_SERVER = """
import sys
from pathlib import Path
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import SparkSettings
from sensorstream.spark.jobs.spark_messages import Task
from sensorstream.spark.jobs.spark_worker_process import WorkerProcess
from sensorstream.spark.history_snapshot import HistoryPlace

place = HistoryPlace("postgresql://", Path("archive"))
task = Task(place, Timeline.INTEGER, SparkSettings("local[1]"), 5.0)
worker = WorkerProcess(task, Path(sys.argv[1]))
print("started", flush=True)
if sys.stdin.readline():
    worker.kill()
    print("killed", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def hanging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A server, and the processes of its job: a Spark that never starts, and looks at nothing."""
    submit = tmp_path / "spark" / "bin" / "spark-submit"
    submit.parent.mkdir(parents=True)
    submit.write_text("#!/bin/sh\nexec sleep 1000\n")
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(submit.parent.parent))
    command = [sys.executable, "-c", _SERVER, str(tmp_path / "work")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "started\n"
        below: list[psutil.Process] = []

        def started() -> bool:
            below[:] = psutil.Process(server.pid).children(recursive=True)
            return any(each.name() == "sleep" for each in below)

        eventually(started)
        try:
            yield server, below
        finally:
            server.kill()
            for each in below:
                if each.is_running():
                    each.kill()


def _over(process: psutil.Process) -> bool:
    # One whose parent does not wait for it stays as a zombie in a container without an init.
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_a_job_whose_spark_hangs_ends_with_a_killed_server(
    hanging: tuple[subprocess.Popen[str], list[psutil.Process]], tmp_path: Path
) -> None:
    server, below = hanging
    server.kill()
    eventually(lambda: all(map(_over, below)))
    assert not (tmp_path / "work").exists()


def test_who_ends_a_job_ends_the_spark_that_hangs(
    hanging: tuple[subprocess.Popen[str], list[psutil.Process]],
) -> None:
    server, below = hanging
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("kill\n")
    server.stdin.flush()
    assert server.stdout.readline() == "killed\n"
    eventually(lambda: all(map(_over, below)))
