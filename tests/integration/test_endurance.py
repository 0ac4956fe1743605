"""A server under load whose parts fail: nothing acknowledged is lost, nothing is twice."""

from __future__ import annotations

from pathlib import Path

from tests.integration.endurance import endure, kill_postgres, kill_server, stop_reasoner


def test_what_eight_clients_were_told_holds_after_each_fault(folder: Path) -> None:
    faults = [kill_server, kill_postgres, stop_reasoner]
    counted = endure(folder, rounds=4, seed=3, faults=faults)
    assert counted["acknowledged"] > 0
    assert counted["events received"] >= counted["alerts"]
