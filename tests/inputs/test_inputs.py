"""What is told of an input that does not read."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from sensorstream.inputs import inputs as inputs_module
from sensorstream.inputs.inputs import Inputs, RunningInput
from sensorstream.inputs.intake import InputMetrics, Intake
from tests.inputs.conftest import LIMIT, Journal
from tests.waiting import eventually


class Faulty:
    """Connects, and meets a fault until it is mended; then it hands over a message."""

    def __init__(self) -> None:
        self.runs = 0
        self.mended = False

    async def run(self, intake: Intake) -> None:
        self.runs += 1
        intake.connected()
        if not self.mended:
            raise KeyError("mistake")
        await (await intake.take(b"<a/>", "cam"))
        await intake.pause()


def test_an_input_that_a_fault_stops_is_not_ready_until_it_takes_a_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inputs_module, "_FIRST_WAIT", 0.01)
    metrics = InputMetrics(CollectorRegistry())
    reader = Faulty()
    running = RunningInput("in", reader, lambda name: Intake(name, Journal(), LIMIT, metrics))
    inputs = object.__new__(Inputs)
    inputs._running = [running]
    with inputs:
        eventually(lambda: reader.runs > 3)
        (part,) = inputs.parts()
        assert (part.ready, part.detail) == (False, "a fault: KeyError: 'mistake'")
        reader.mended = True
        eventually(lambda: inputs.parts()[0].ready)
        assert inputs.parts()[0].detail == ""
