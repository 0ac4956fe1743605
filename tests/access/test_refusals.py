"""What is kept of refused requests, against what a flood of them would write."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.access.audit import AuditedChange, Refusals
from sensorstream.app.life.access_control import Access
from sensorstream.testing import ManualClock
from tests.server.resources import MemoryAuditLog, MemoryKeys

NOW = datetime(2026, 1, 1, 8, 5, tzinfo=UTC)


def refused(who: str, at: datetime = NOW, status: int = 403) -> AuditedChange:
    return AuditedChange(at, "key", who, "127.0.0.1", "DELETE", "/webhooks/none", status)


def test_the_audit_log_has_the_first_refusals_of_a_minute_and_how_many_more_there_were(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log, clock = MemoryAuditLog(), ManualClock(NOW)
    access = Access(MemoryKeys(), log, clock, needed=True, audit_days=30)
    access.start()
    with caplog.at_level(logging.INFO):
        for _ in range(500):
            access.record(refused("bob"))
            access.note(refused("eve", status=401))
        access.record(refused("ada"))
        for _ in range(100):
            access.record(refused("bob", status=201))
        access.stop()
    kept = [(each.who, each.method, each.path, each.status) for each in log.kept]
    assert kept == [
        *[("bob", "DELETE", "/webhooks/none", 403)] * 60,
        ("ada", "DELETE", "/webhooks/none", 403),
        *[("bob", "DELETE", "/webhooks/none", 201)] * 100,
        ("bob", "refused", "440 more since 08:05:00", 0),
    ]
    lines = [each.getMessage() for each in caplog.records if each.name == "sensorstream.audit"]
    assert len(lines) == len(kept) + 61
    assert "'key eve' 127.0.0.1 refused '440 more since 08:05:00' 0" in lines


@given(st.lists(st.tuples(st.integers(0, 150), st.integers(0, 40), st.integers(1, 70))))
def test_each_refusal_is_kept_or_counted(floods: list[tuple[int, int, int]]) -> None:
    refusals, now, sent, kept, counted = Refusals(), NOW, 0, 0, 0
    for client, seconds, count in floods:
        now += timedelta(seconds=seconds)
        counted += sum(int(each.path.split()[0]) for each in refusals.left_out(now))
        for _ in range(count):
            sent += 1
            kept += refusals.admits(refused(str(client), now))
    counted += sum(int(each.path.split()[0]) for each in refusals.left_out(now, last=True))
    assert kept + counted == sent


def test_clients_beyond_some_count_as_one() -> None:
    refusals = Refusals()
    kept = sum(refusals.admits(refused(str(client))) for client in range(300))
    assert kept == 160
    [others] = refusals.left_out(NOW + timedelta(minutes=1))
    assert (others.who, others.path) == ("others", "140 more since 08:05:00")
    assert refusals.admits(refused("299", NOW + timedelta(minutes=1)))
