"""What a large message took goes back to the system."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sensorstream.app.application import Application
from sensorstream.app.life import pipeline
from sensorstream.settings.settings import ServerSettings, Settings
from tests.waiting import eventually


def test_memory_is_given_back_when_much_was_taken_and_nobody_waits(
    settings: Settings,
    open_application: Callable[[Settings], Application],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[bool] = []
    monkeypatch.setattr(pipeline, "give_back", lambda: given.append(True))
    large = replace(settings, server=ServerSettings(max_message_bytes=8 << 20))
    application = open_application(large)
    for _ in range(3):
        application.submit(b"<small/>", "cam").result(60)
    assert given == []
    application.submit(b"<large>" + b" " * (5 << 20) + b"</large>", "cam").result(60)
    eventually(lambda: given == [True])
