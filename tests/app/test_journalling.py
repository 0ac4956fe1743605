"""A server whose engines run on Spark: it takes messages in, and leaves the rest to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event

import httpx
import pytest

from sensorstream.app.application import Application
from sensorstream.app.news import News
from sensorstream.engine.outcome import Status
from sensorstream.errors import HistoryError, MalformedMessage, QueryConflict, RunsOnSpark
from sensorstream.history.journal_rows import journal_rows
from sensorstream.history.store import PostgresStore, Writes
from sensorstream.journal.records import Effects, MessageStatus
from sensorstream.model.timeline import Timeline
from sensorstream.server.main import create_app
from sensorstream.settings import PipelineSettings, ReasoningSettings, Settings
from sensorstream.simulation.tracker import PAPER_MESSAGE

QUERY = """\
PREFIX : <http://sensorstream.example/tracking#>
SELECT ?human WHERE { ?human a :Human }"""
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def application(
    settings: Settings, open_application: Callable[[Settings], Application]
) -> Application:
    # A reasoner that cannot start would not let this server start if it had one.
    reasoning = ReasoningSettings(profile="hermit", java="/nowhere")
    pipeline = PipelineSettings(runner="spark")
    return open_application(replace(settings, reasoning=reasoning, pipeline=pipeline))


def test_a_message_is_journalled_and_not_applied(application: Application) -> None:
    outcome = application.submit(PAPER_MESSAGE, "cam").result(30)
    assert (outcome.status, outcome.message.id) == (Status.JOURNALLED, "m1")
    (row,) = journal_rows(application.url, 0)
    assert row[:3] == (1, "m1", "cam")
    assert row[5] == PAPER_MESSAGE
    assert row[6] is None, "it has no status before Spark has applied it"
    with pytest.raises(MalformedMessage):
        application.submit(b"<no", "cam").result(30)


def test_over_http_the_answer_is_202(application: Application) -> None:
    async def post() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(application))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            xml = {"Content-Type": "application/xml"}
            return await client.post("/messages", content=PAPER_MESSAGE, headers=xml)

    answer = asyncio.run(post())
    assert answer.status_code == 202
    assert answer.json()["status"] == "journalled"


def test_what_needs_the_window_is_refused(application: Application) -> None:
    with pytest.raises(RunsOnSpark, match="the cache: the engines run on Spark"):
        application.query("ASK {}")
    with pytest.raises(RunsOnSpark, match="the window"):
        application.window_view(10)
    with pytest.raises(RunsOnSpark, match="put it into the settings"):
        application.put_ontology(b"", "text/turtle")


def test_queries_are_checked_and_known_after_a_restart(
    application: Application, open_application: Callable[[Settings], Application]
) -> None:
    application.queries.register(QUERY, "people")
    application.close()
    again = open_application(application.settings)
    with pytest.raises(QueryConflict):
        again.queries.register(QUERY, "people")
    again.queries.remove("people")
    kinds = [row[7] for row in journal_rows(again.url, 0)]
    assert kinds == ["query", "query-end"]


def test_the_journal_has_one_writer_and_the_effects_another(application: Application) -> None:
    application.submit(PAPER_MESSAGE, "cam").result(30)
    done = Event()
    news = News(application.url, done.set)
    news.start()
    assert done.wait(60)
    done.clear()
    with PostgresStore.open(application.url, Timeline.INTEGER, Writes.EFFECTS) as store:
        store.commit(Effects(1, (), (), (), (MessageStatus(1, Status.ACCEPTED),), NOW))
        assert done.wait(60), "the server notices what another process has stored"
        with pytest.raises(HistoryError, match="another process writes"):
            PostgresStore.open(application.url, Timeline.INTEGER, Writes.EFFECTS)
    news.stop()


def test_an_engine_of_its_own_needs_both(
    settings: Settings, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensorstream.history.store._LOCK_PATIENCE", 0.2)
    with pytest.raises(HistoryError, match="another process writes"):
        Application.open(settings)
