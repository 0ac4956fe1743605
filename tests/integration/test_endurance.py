"""A server under load whose parts fail: nothing acknowledged is lost, nothing is twice."""

from __future__ import annotations

from pathlib import Path

from tests.integration.endurance.faults import kill_postgres
from tests.integration.endurance.run import Course, endure


def test_all_that_a_server_says_after_faults_is_what_an_undisturbed_run_says(folder: Path) -> None:
    counted = endure(folder, rounds=2, seed=3, faults=[kill_postgres], courses=[Course.FAULT_FIRST])
    assert counted["acknowledged"] > 0
    assert counted["events received"] > 0
