"""What an input hands over, whatever it has read."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from sensorstream.inputs.intake import InputMetrics, Intake
from sensorstream.settings import endpoints
from tests.inputs.conftest import LIMIT, Journal


def test_of_a_message_that_no_journal_could_store_the_beginning_is_kept(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(endpoints, "_MOST_KEPT", 2 * LIMIT)
    journal = Journal()

    async def hand_over() -> None:
        intake = Intake("in", journal, LIMIT, InputMetrics(CollectorRegistry()))
        for size in (LIMIT, 2 * LIMIT, 2 * LIMIT + 1, 50 * LIMIT):
            await (await intake.take(b"x" * size, "cam"))

    asyncio.run(hand_over())
    # All above the limit are refused, as they are above it still.
    assert [len(each) for each in journal.contents] == [LIMIT, 2 * LIMIT, 2 * LIMIT, 2 * LIMIT]
    assert "in: of a message of 500000 bytes the first 20000 are kept" in caplog.text
