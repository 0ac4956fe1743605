from __future__ import annotations

import signal
from collections.abc import Callable

import psutil

from tests.server.conftest import Served

Eventually = Callable[[Callable[[], object]], None]


def of_pages() -> list[psutil.Process]:
    """The processes that serve pages for this one."""
    found = psutil.Process().children(recursive=True)
    return [each for each in found if "sensorstream.console" in command(each)]


def command(process: psutil.Process) -> list[str]:
    """What it was started with; nothing of one that has ended, as those of other tests may have."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_no_process_runs_until_somebody_looks_and_one_from_then_on(served: Served) -> None:
    before = len(of_pages())
    first = served.client.get("/console/")
    assert first.status_code == 200
    assert "SensorStream" in first.text
    assert served.client.get("/console/").status_code == 200
    assert len(of_pages()) == before + 1


def test_a_process_that_ended_costs_its_pages_only(served: Served, eventually: Eventually) -> None:
    assert served.client.get("/console/").status_code == 200
    for process in of_pages():
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    answer = served.client.get("/console/")
    assert answer.status_code == 503
    assert served.client.get("/readyz").status_code == 200
    eventually(lambda: served.client.get("/console/").status_code == 200)
