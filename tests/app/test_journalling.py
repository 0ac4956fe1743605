"""A server whose engines run on Spark: it takes messages in, and leaves the rest to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event

import pytest
from prometheus_client import CollectorRegistry

from sensorstream.app.application import Application
from sensorstream.app.life.health import WatermarkNews
from sensorstream.cli.simulation.tracker_messages import PAPER_MESSAGE
from sensorstream.errors import (
    Busy,
    HistoryError,
    LanguageError,
    MalformedMessage,
    OntologyError,
    QueryConflict,
    RulesError,
)
from sensorstream.history.effects_writer import (
    BatchProgress,
    EngineStanding,
    Standings,
    Writes,
    store_progress,
)
from sensorstream.history.journal_rows import journal_rows
from sensorstream.history.store import PostgresStore
from sensorstream.journal.message import PassTime
from sensorstream.journal.records import Effects, MessageStatus
from sensorstream.model.events import Status
from sensorstream.model.timeline import Timeline
from sensorstream.model.waits import Waits
from sensorstream.settings.settings import PipelineSettings, ReasoningSettings, Settings
from tests.asking import Ask, asking
from tests.waiting import eventually

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


@pytest.fixture
def client(application: Application) -> Ask:
    """Asks the server of the application."""
    return asking(application)


def test_a_message_is_journalled_and_not_applied(application: Application) -> None:
    outcome = application.submit(PAPER_MESSAGE, "cam").result(300)
    assert (outcome.status, outcome.message.id) == (Status.JOURNALLED, "m1")
    (row,) = journal_rows(application.url, 0)
    assert row[:3] == (1, "m1", "cam")
    assert row[5] == PAPER_MESSAGE
    assert row[6] is None, "it has no status before Spark has applied it"
    with pytest.raises(MalformedMessage):
        application.submit(b"<no", "cam").result(300)


def test_over_http_the_answer_is_202(client: Ask) -> None:
    xml = {"Content-Type": "application/xml"}
    answer = client("/messages", "POST", content=PAPER_MESSAGE, headers=xml)
    assert answer.status_code == 202
    assert answer.json()["status"] == "journalled"


def test_each_resource_answers_or_says_that_the_engines_are_elsewhere(
    application: Application, client: Ask
) -> None:
    application.queries.register(QUERY, "people")
    for path in (
        "/sparql?query=ASK{}",
        "/sparql?query=ASK{}&on=all",
        "/window",
        "/latest?class=http://example.org/C",
    ):
        answer = client(path)
        assert answer.status_code == 200, answer.text
        assert answer.headers["SensorStream-Batch"] == "0", path
    for path in (
        "/queries/people/results",
        "/queries/people/graph",
        "/queries/people/step",
        "/why?statement=<http://example.org/a> a <http://example.org/b>",
        "/why-not?rule=people&individual=http://example.org/a",
    ):
        answer = client(path)
        assert answer.status_code == 503, path
        assert "no pipeline runs that could answer" in answer.text, path
    for path in (
        "/sparql?query=ASK{}&on=history",
        "/queries/people",
        "/quarantine",
        "/ontology",
        "/readyz",
    ):
        assert client(path).status_code == 200, path


def test_queries_webhooks_and_rules_are_put_and_restored(
    application: Application, client: Ask
) -> None:
    (file,) = client("/rules").json()["files"]
    sent = {"content-type": "application/sparql-query"}
    other = QUERY.replace("?human", "?who")
    for text in (QUERY, other):
        put = client("/queries/people", "PUT", content=text.encode(), headers=sent)
        assert (put.status_code, put.json()["query"]) == (200, text)
    rules = {"content-type": "text/plain"}
    broken = client(f"/rules/{file['name']}", "PUT", content=b"rule", headers=rules)
    assert broken.status_code == 422, broken.text
    before = client(f"/rules/{file['name']}").content
    for each in (before + b"# other", before + b"# more"):
        put = client(f"/rules/{file['name']}", "PUT", content=each, headers=rules)
        assert put.status_code == 200, put.text
    url = "http://127.0.0.1:9/"
    assert client("/webhooks/ops", "PUT", json={"url": url}).status_code == 201
    assert application.health.ailment() == ""
    assert application._in_work.seconds == 0, "the watchdog would end the process later"
    assert client("/webhooks/ops", "PUT", json={"url": f"{url}b"}).status_code == 200
    for kind, name, read in (
        ("queries", "people", "query"),
        ("webhooks", "ops", "url"),
        ("rules", file["name"], ""),
    ):
        first, *_ = client(f"/{kind}/{name}/versions").json()["versions"]
        old = client(f"/{kind}/{name}/versions/{first['change']}")
        headers = {"content-type": old.headers["content-type"]}
        back = client(f"/{kind}/{name}", "PUT", content=old.content, headers=headers)
        assert back.status_code == 200, back.text
        if read:
            assert client(f"/{kind}/{name}").json()[read] in (QUERY, url)
        else:
            assert client(f"/{kind}/{name}").content == before
        assert len(client(f"/{kind}/{name}/versions").json()["versions"]) == 4 - bool(read)


def test_an_ontology_is_checked_by_a_reasoner_and_in_force_before_the_engines_have_met_it(
    settings: Settings, open_application: Callable[[Settings], Application]
) -> None:
    spark = replace(settings, pipeline=PipelineSettings(runner="spark"))
    application = open_application(spark)
    ontology = application.ontologies.in_force()
    other = ontology.content + b"<urn:x:Owl> a <http://www.w3.org/2002/07/owl#Class> .\n"
    change = application.ontologies.put(other, "text/turtle", "me")
    with pytest.raises(LanguageError, match="Human"):
        application.ontologies.put(
            b"<urn:x:Owl> a <http://www.w3.org/2002/07/owl#Class> .", "text/turtle"
        )
    rules = application.rulebook.put("more.rules", "# nothing\n", "me")
    # What was in force before is in the journal, too: files may change.
    kept = [(row[7], row[2].rpartition(" ")[2]) for row in journal_rows(application.url, 0)]
    assert kept == [
        ("ontology", "settings"),
        ("ontology", "me"),
        ("rules", "settings"),
        ("rules", "me"),
    ]
    application.close()
    again = open_application(spark)
    assert again.ontologies.in_force().origin == change
    assert again.ontologies.in_force().content == other
    assert again.rulebook.files().origin == rules
    versions = list(again.ontologies.versions.all())
    assert [each.change for each in versions] == ["m1", change]
    assert versions[0].text is not None
    again.ontologies.put(versions[0].text, versions[0].media_type, "me")
    assert again.deployment.ontology.triples == application.deployment.ontology.triples[:-1]
    again.close()
    hermit = ReasoningSettings(profile="hermit", java="/nowhere")
    without = open_application(replace(spark, reasoning=hermit))
    with pytest.raises(OntologyError, match="/nowhere: no Java"):
        without.ontologies.put(other, "text/turtle")


def test_the_prefixes_of_the_key_stay(
    settings: Settings, open_application: Callable[[Settings], Application]
) -> None:
    key = PipelineSettings(runner="spark", key="string(/t:seen/attribute::by)")
    application = open_application(replace(settings, pipeline=key))
    book = application.rulebook
    (name,) = (each.name for each in book.files().files)
    text = book.file(name).text
    for changed in ("prefix t: <urn:other>\n" + text, "prefix t: <urn:t#>\n" + text):
        with pytest.raises(RulesError, match="the prefix 't' would stand for urn:"):
            book.put(name, changed, "me")
    assert book.put(name, "prefix u: <urn:u#>\n" + text, "me") == "m2"


def test_a_journal_too_far_ahead_takes_no_messages_until_the_pipeline_has_stored_some(
    settings: Settings, open_application: Callable[[Settings], Application]
) -> None:
    limits = replace(settings.limits, waiting_entries=3)
    pipeline = PipelineSettings(runner="spark")
    application = open_application(replace(settings, pipeline=pipeline, limits=limits))
    eventually(lambda: application.pipeline.stored_elsewhere() == 0)
    for _ in range(3):
        application.submit(PAPER_MESSAGE, "cam").result(300)
    with pytest.raises(Busy, match="3 entries of the journal wait for the pipeline") as refused:
        application.submit(PAPER_MESSAGE, "cam").result(300)
    assert refused.value.retry_after > 1
    # An input tries again.
    assert isinstance(application.pipeline.take(PAPER_MESSAGE, "cam").exception(), Busy)
    application.queries.register(QUERY, "people")

    def told() -> str:
        return next(each.detail for each in application.health.parts() if each.name == "spark")

    eventually(lambda: told().endswith("; messages are refused (limits.waiting_entries)"))
    with PostgresStore.open(application.url, Timeline.INTEGER, Writes.EFFECTS) as store:
        statuses = tuple(MessageStatus(n, Status.ACCEPTED) for n in (1, 2))
        store.commit(Effects(2, (), (), (), statuses, NOW))
    eventually(lambda: application.pipeline.stored_elsewhere() == 2)
    application.submit(PAPER_MESSAGE, "cam").result(300)


def test_that_no_pipeline_runs_is_told(application: Application) -> None:
    application.submit(PAPER_MESSAGE, "cam").result(300)

    def told() -> str:
        return next(each.detail for each in application.health.parts() if each.name == "spark")

    eventually(lambda: told() == "no pipeline runs, 1 entries wait: start sensorstream stream")
    with PostgresStore.open(application.url, Timeline.INTEGER, Writes.EFFECTS) as store:
        eventually(lambda: told() == "1 entries wait")
        status = (MessageStatus(1, Status.ACCEPTED),)
        standings = Standings(1, [EngineStanding("=cam", 1, Waits(), 50, 1)])
        store.commit(Effects(1, (), (), (), status, NOW), standings)
        eventually(lambda: not told())
        value = application.metrics.get_sample_value
        # The last of them that is set, after the detail.
        eventually(lambda: (value("sensorstream_pipeline_stored_seconds") or 0) > 1.7e9)
        assert value("sensorstream_pipeline_keys") == 1
        assert value("sensorstream_pipeline_waiting_entries") == 0
        hot = BatchProgress(900, 3, {"store": 0.5}, 9, 8_000, "cam", 0.8, 2)
        with store._transaction("test") as cursor:
            store_progress(cursor, hot)
        eventually(lambda: told().startswith("hot key 'cam': 80% of the messages, all in one task"))
        eventually(lambda: value("sensorstream_pipeline_hot_key_share", {"key": "cam"}) == 0.8)
        assert value("sensorstream_pipeline_batch_seconds", {"phase": "store"}) == 0.5
        assert value("sensorstream_pipeline_key_skew") == 1.6
        with store._transaction("test") as cursor:
            store_progress(cursor, replace(hot, share=0.5))
        eventually(lambda: not told())
        eventually(lambda: value("sensorstream_pipeline_key_skew") == 1)
        assert value("sensorstream_pipeline_hot_key_share", {"key": "cam"}) is None


def test_time_is_told_once_to_engines_that_wait_for_it(application: Application) -> None:
    application.submit(PAPER_MESSAGE, "cam").result(300)

    def times() -> list[PassTime]:
        rows = journal_rows(application.url, 0, None, (PassTime.kind,))
        return [PassTime.decode(row[5], "") for row in rows]

    with PostgresStore.open(application.url, Timeline.INTEGER, Writes.EFFECTS) as store:
        one = EngineStanding("=north", 1, Waits(moved=60), 50, 1)
        store.commit(
            Effects(1, (), (), (), (MessageStatus(1, Status.ACCEPTED),), NOW),
            Standings(1, [one, EngineStanding("=south", 1, Waits(), 70, 1)]),
        )
        eventually(lambda: bool(times()))
        (time,) = times()
        assert (time.moved, time.present >= 70) == (70, True)
        seq = store.last_seq()
        still = Standings(seq, [replace(one, now=70)])
        store.commit(Effects(seq, (), (), (), (MessageStatus(seq, Status.ACCEPTED),), NOW), still)
        eventually(lambda: len(times()) == 2)


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
    application.submit(PAPER_MESSAGE, "cam").result(300)
    done = Event()
    news = WatermarkNews(application.url, done.set, CollectorRegistry())
    news.start()
    assert done.wait(60)
    done.clear()
    with PostgresStore.open(application.url, Timeline.INTEGER, Writes.EFFECTS) as store:
        store.commit(Effects(1, (), (), (), (MessageStatus(1, Status.ACCEPTED),), NOW))
        assert done.wait(60), "the server notices what another process has stored"
        with pytest.raises(HistoryError, match="another process writes"):
            PostgresStore.open(application.url, Timeline.INTEGER, Writes.EFFECTS)
    news.stop()


def test_an_engine_of_its_own_needs_both_and_a_history_of_its_own(
    settings: Settings, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensorstream.history.effects_writer._PATIENCE", 0.2)
    with pytest.raises(HistoryError, match="another process writes"):
        Application.open(settings)
    application.submit(PAPER_MESSAGE, "cam").result(300)
    application.close()
    with pytest.raises(
        HistoryError, match=r"belongs to engines on Spark .* and this is one engine"
    ):
        Application.open(settings)
