"""A process of Java for the reasoners of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sensorstream.clock import SystemClock
from sensorstream.reasoning.dl.reasoner_process import JavaProcess


@pytest.fixture(scope="module")
def java() -> Iterator[JavaProcess]:
    process = JavaProcess("reasoner", clock=SystemClock())
    process.launch()
    yield process
    process.close()
