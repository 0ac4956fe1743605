"""A checkpoint that cannot be read costs time and an alert, never the start or the data."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import closing
from typing import Any

import psycopg2
import pytest

from sensorstream.app.application import Application
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.errors import HistoryError
from sensorstream.settings.settings import Settings
from tests.app.conftest import Open

Damage = Callable[[bytes], bytes]


def flipped(state: bytes) -> bytes:
    """One bit in the middle is another one."""
    half = len(state) // 2
    return state[:half] + bytes([state[half] ^ 4]) + state[half + 1 :]


def newer(_: bytes) -> bytes:
    return zlib.compress(b'{"version": 99, "state": {}}')


def other_fields(_: bytes) -> bytes:
    return zlib.compress(b'{"version": 3, "state": {"window": {}}}')


DAMAGES: list[Damage] = [
    flipped,
    newer,
    other_fields,
    lambda state: state[: len(state) // 2],
    lambda _: b"",
    lambda _: zlib.compress(b"[1]"),
    lambda _: b"SSCP",
]


def rows(settings: Settings, query: str, *values: Any) -> list[Any]:
    with (
        closing(psycopg2.connect(settings.history.url)) as connection,
        connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(query, values)
        return cursor.fetchall() if cursor.description else []


def damage(settings: Settings, how: Damage, seqs: list[int]) -> None:
    for seq in seqs:
        ((state,),) = rows(settings, "select state from store.checkpoints where seq = %s", seq)
        changed = psycopg2.Binary(how(bytes(state)))
        rows(settings, "update store.checkpoints set state = %s where seq = %s", changed, seq)


def kept(settings: Settings) -> list[int]:
    return [seq for (seq,) in rows(settings, "select seq from store.checkpoints order by seq")]


def filled(settings: Settings, open_application: Open) -> Any:
    """A deployment that has run and was stopped: its window and its history."""
    application = open_application(settings)
    for content in tracker_messages(25):
        application.submit(content, "test").result(300)
    application.queries.register("SELECT ?s { ?s a ?c }", "all")
    found = everything(application)
    application.close()
    return found


def everything(application: Application) -> Any:
    history = application.asking.sql(
        "select iri, time, message_id from history.individuals order by 1, 2"
    )
    queries = [(view.name, view.entry, view.text) for view in application.queries.views()]
    return application.window_view(1000), history, queries


def told(application: Application) -> list[str]:
    return [
        e.alert.text
        for e in application.reader.alerts_before(100)
        if e.alert.kind == "checkpoint-damaged"
    ]


@pytest.mark.parametrize("how", DAMAGES)
def test_the_checkpoint_before_a_damaged_one_is_used_and_that_is_said(
    settings: Settings, open_application: Open, how: Damage, caplog: pytest.LogCaptureFixture
) -> None:
    before = filled(settings, open_application)
    older, newest = kept(settings)
    damage(settings, how, [newest])
    again = open_application(settings)
    assert everything(again) == before
    (text,) = told(again)
    assert f"the one at entry {newest}:" in text
    assert f"the one at entry {older} was used" in text
    assert f"the checkpoint at entry {newest} is ignored" in caplog.text
    assert again.metrics.get_sample_value("sensorstream_damaged_checkpoints_total") == 1
    # The damaged one does not count among the two that are kept.
    assert kept(settings) == [older, newest + 1]
    again.close()
    assert told(open_application(settings)) == [text]


def test_without_any_checkpoint_that_can_be_read_the_whole_journal_is_processed(
    settings: Settings, open_application: Open
) -> None:
    before = filled(settings, open_application)
    damage(settings, flipped, kept(settings))
    again = open_application(settings)
    assert everything(again) == before
    (text,) = told(again)
    assert "the beginning of the journal was used" in text


def test_a_journal_that_has_lost_its_beginning_is_not_taken_for_a_whole_one(
    settings: Settings, open_application: Open
) -> None:
    filled(settings, open_application)
    older, newest = kept(settings)
    rows(settings, "delete from store.messages where seq <= %s", older)
    damage(settings, flipped, [newest])
    application = open_application(settings)
    assert len(told(application)) == 1
    application.close()
    damage(settings, flipped, kept(settings))
    with pytest.raises(HistoryError, match=r"no checkpoint can be read .*restore the database"):
        open_application(settings)
