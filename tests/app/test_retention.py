from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg2
import pytest

from sensorstream.app.control.wiring import read_deployment
from sensorstream.app.life.upkeep import forget
from sensorstream.errors import SettingsError
from sensorstream.settings.settings import Settings, TimeSettings
from tests.app.conftest import Open
from tests.waiting import eventually


def seen(time: int) -> bytes:
    return (
        f"<Message><Event id='1'><Tracker type='FaceTracker'><TimeStamp value='{time}'/>"
        f"<person id='{time}' certainty='40'><location2d x='1' y='8'/></person>"
        "</Tracker></Event></Message>"
    ).encode()


def found(settings: Settings, query: str) -> int:
    with (
        closing(psycopg2.connect(settings.history.url)) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(query)
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])


ENDED = "select count(*) from store.statements"
MESSAGES = "select count(*) from store.messages where kind = 'message'"


def keeping(settings: Settings, keep: str, messages: str = "") -> Settings:
    return replace(settings, history=replace(settings.history, keep=keep, keep_messages=messages))


def test_a_server_forgets_what_is_older_than_its_settings_keep(
    settings: Settings, open_application: Open
) -> None:
    application = open_application(settings)
    for time in range(100, 140):
        application.submit(seen(time), "cam").result(60)
    application.close()
    before, sent = found(settings, ENDED), found(settings, MESSAGES)
    # 30 ended, at 101 to 130 or so: the latest 5 of them stay.
    application = open_application(keeping(settings, "5"))
    eventually(lambda: 0 < found(settings, ENDED) < before / 3)
    assert found(settings, MESSAGES) == sent
    # It goes on as before.
    application.submit(seen(140), "cam").result(60)
    application.close()
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    left = found(settings, ENDED)
    forget(settings.history.url, keeping(settings, "", "PT25H"), tomorrow)
    assert (found(settings, ENDED), found(settings, MESSAGES)) == (left, sent + 1)
    forget(settings.history.url, keeping(settings, "", "PT1H"), tomorrow)
    assert found(settings, ENDED) == left
    assert 0 < found(settings, MESSAGES) < sent
    assert open_application(settings).window_view(100).now == 140


@pytest.mark.parametrize(
    ("line", "keep", "messages", "told"),
    [
        ("integer", "P1D", "", "history.keep: "),
        ("datetime", "90", "", "history.keep: "),
        ("datetime", "PT0S", "", "history.keep: "),
        ("integer", "5", "30", "history.keep_messages: "),
        ("integer", "5", "-P1D", "history.keep_messages: "),
    ],
)
def test_a_length_that_is_none_is_a_fault_of_the_settings(
    settings: Settings, line: str, keep: str, messages: str, told: str
) -> None:
    settings = replace(keeping(settings, keep, messages), time=TimeSettings(line=line))
    with pytest.raises(SettingsError, match=told):
        read_deployment(settings)
