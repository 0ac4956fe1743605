"""A whole application over a real PostgreSQL: what is answered, kept and found again."""

from __future__ import annotations

import re
from dataclasses import replace

import psycopg2
import pytest

from sensorstream.app.application import Application
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import (
    HistoryError,
    MalformedMessage,
    MappingError,
    SettingsError,
    Unavailable,
    WebhookError,
)
from sensorstream.history.asked_records import QuarantineChoice
from sensorstream.model.webhook_definition import WebhookDefinition
from sensorstream.settings.settings import ServerSettings, Settings, WindowSettings
from tests.app.conftest import AskCache, Open
from tests.databases import execute, forget_effects
from tests.waiting import eventually


def send(application: Application, *contents: bytes) -> list[Outcome]:
    futures = [application.submit(content, "test") for content in contents]
    return [future.result(300) for future in futures]


def in_window(application: Application) -> list[str]:
    return [each.name for each in application.window_view(1000).individuals]


def in_history(application: Application) -> list[str]:
    rows = application.asking.sql("select distinct iri from history.individuals order by iri").rows
    return [str(row[0]) for row in rows]


def test_every_individual_is_in_the_window_or_in_history_once(application: Application) -> None:
    outcomes = send(application, *tracker_messages(40))
    named = [name for outcome in outcomes for name in outcome.individuals]
    kept = [
        name for name in [*in_window(application), *in_history(application)] if "human-" in name
    ]
    assert sorted(kept) == sorted(named)
    assert len(in_window(application)) == 10
    (count,) = application.asking.sql("select count(*) from history.human").rows[0]
    assert count == sum("human-" in name for name in in_history(application))


def test_a_restart_finds_everything_as_it_was(settings: Settings, open_application: Open) -> None:
    application = open_application(settings)
    send(application, *tracker_messages(25))
    window, history = application.window_view(100), in_history(application)
    application.close()
    again = open_application(settings)
    assert again.window_view(100) == window
    assert in_history(again) == history
    send(again, *tracker_messages(5, start=26))
    assert len(in_history(again)) == len(history) + 5


def test_the_metrics_tell_of_the_window_before_the_first_message_after_a_restart(
    settings: Settings, open_application: Open
) -> None:
    names = ("sensorstream_individuals", "sensorstream_triples")
    application = open_application(settings)
    send(application, *tracker_messages(5))
    before = [application.metrics.get_sample_value(name) for name in names]
    application.close()
    again = open_application(settings)
    assert [again.metrics.get_sample_value(name) for name in names] == before
    assert before[0] == len(in_window(again)) > 0


def test_the_metrics_tell_statements_of_the_window_from_those_of_the_ontology(
    application: Application,
) -> None:
    def sizes() -> dict[str, float]:
        value = application.metrics.get_sample_value
        return {
            kind: value("sensorstream_statements", {"kind": kind}) or 0
            for kind in ("asserted", "inferred", "static", "static_inferred")
        }

    empty = sizes()
    assert empty["static"] > 0
    assert (empty["asserted"], empty["inferred"]) == (0, 0)
    send(application, *tracker_messages(5))
    view = application.window_view(0)
    assert sizes() == {**empty, "asserted": view.statements, "inferred": view.inferred}
    assert view.statements > 0


@pytest.mark.parametrize("all_effects", [False, True])
def test_a_checkpoint_and_effects_that_are_lost_are_made_again_from_the_journal(
    settings: Settings, open_application: Open, all_effects: bool
) -> None:
    """All: as after a crash of the machine, the journal is on disk, the last effects are not."""
    application = open_application(settings)
    send(application, *tracker_messages(25))
    window, history = application.window_view(100), in_history(application)
    alerts = [each.alert for each in application.reader.alerts_before(100)]
    application.close()
    if all_effects:
        forget_effects(settings.history.url, "incidents")
    else:
        execute(settings.history.url, "delete from store.checkpoints")
    again = open_application(settings)
    assert again.window_view(100) == window
    assert in_history(again) == history
    assert [each.alert for each in again.reader.alerts_before(100)] == alerts


def test_a_recovery_ends_with_a_checkpoint_so_that_the_next_is_short(
    settings: Settings, open_application: Open
) -> None:
    rare = replace(settings, history=replace(settings.history, checkpoint_every=1000))
    application = open_application(rare)
    send(application, *tracker_messages(5))
    application.close()
    with psycopg2.connect(settings.history.url) as connection, connection.cursor() as cursor:
        cursor.execute("delete from store.checkpoints")
        connection.commit()
        open_application(rare)
        cursor.execute("select seq from store.checkpoints")
        assert cursor.fetchall() == [(5,)]
    connection.close()


def test_a_start_says_what_it_does(settings: Settings, application: Application) -> None:
    send(application, *tracker_messages(5))
    application.close()
    execute(settings.history.url, "delete from store.checkpoints")
    told: list[tuple[str, str]] = []
    Application.open(settings, progress=lambda what, done="": told.append((what, done))).close()
    assert list(dict.fromkeys(what for what, _ in told)) == [
        "reading the ontology and the rules",
        "opening the history",
        f"starting the reasoner (profile {settings.reasoning.profile})",
        "rebuilding the window from the journal",
        "starting the deliveries",
    ]
    first, last = [done for what, done in told if done]
    assert first == "recovering 0 %, 0 of 5 entries"
    assert re.fullmatch(r"recovering 100 %, 5 of 5 entries, \d+ a second, 0 s left", last)


def test_narrower_limits_do_not_keep_a_deployment_from_starting(
    settings: Settings, open_application: Open
) -> None:
    application = open_application(settings)
    send(application, *tracker_messages(3))
    application.close()
    execute(settings.history.url, "delete from store.checkpoints")
    again = open_application(replace(settings, server=ServerSettings(max_depth=2)))
    assert not again.health.ailment()
    assert again.window_view(10).total == 0


def test_rejected_and_unmatched_messages_are_kept_with_their_reason(
    application: Application,
) -> None:
    bad = next(tracker_messages(1)).replace(b"certainty='", b"certainty='very ")
    with pytest.raises(MappingError):
        send(application, bad)
    (outcome,) = send(application, b"<Other/>")
    assert outcome.matched == ()
    unmatched, rejected = application.reader.quarantined(10)
    assert (unmatched.status, unmatched.content) == ("unmatched", b"<Other/>")
    assert (rejected.status, rejected.content) == ("rejected", bad)
    assert "very " in rejected.reason
    earlier = application.reader.quarantined(10, QuarantineChoice(before=unmatched.seq))
    assert [each.seq for each in earlier] == [rejected.seq]


def test_malformed_messages_are_not_journalled(application: Application) -> None:
    with pytest.raises(MalformedMessage):
        send(application, b"<Message>")
    assert application.reader.quarantined(10) == []
    assert send(application, next(tracker_messages(1)))[0].message.id == "m1"


def test_sparql_sees_the_window_with_its_inferences(
    application: Application, ask_cache: AskCache
) -> None:
    send(application, *tracker_messages(3))
    answer = ask_cache(
        application, "PREFIX : <http://sensorstream.example/tracking#> SELECT ?x { ?x a :Actor }"
    )
    assert len(answer) == 3


def test_two_applications_cannot_write_one_history(
    settings: Settings, open_application: Open
) -> None:
    open_application(settings)
    with pytest.raises(HistoryError, match="another process writes"):
        open_application(settings)


def test_a_closed_application_says_so(application: Application) -> None:
    application.close()
    with pytest.raises(Unavailable):
        send(application, next(tracker_messages(1)))


def test_a_window_that_cannot_be_is_refused_before_anything_starts(settings: Settings) -> None:
    with pytest.raises(SettingsError, match=r"window\.size"):
        Application.open(replace(settings, window=WindowSettings(size="PT1M")))


def test_webhooks_are_checked_when_they_are_registered(application: Application) -> None:
    with pytest.raises(WebhookError):
        application.webhooks.register(WebhookDefinition("ftp://example.org/"))
    webhook = application.webhooks.register(WebhookDefinition("http://127.0.0.1:1/"))
    assert [each.webhook for each in application.webhooks.all()] == [webhook]
    application.webhooks.delete(webhook.id)
    assert application.webhooks.all() == []


def test_every_part_says_whether_it_is_ready(application: Application) -> None:
    assert not application.health.ailment()
    names = {"history", "pipeline", "mapping", "reasoner", "cache", "deliveries"}
    assert {part.name for part in application.health.parts()} == names
    # What a part's first trial takes, such as to start a process, may take long.
    eventually(lambda: all(part.ready for part in application.health.parts()))


def test_a_history_that_was_lost_is_found_again_and_messages_wait_for_it(
    settings: Settings, application: Application
) -> None:
    send(application, *tracker_messages(15))
    execute(
        settings.history.url,
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where datname = current_database() and pid <> pg_backend_pid()",
    )
    outcomes = send(application, *tracker_messages(15, start=16))
    assert len(outcomes) == 15
    assert not application.health.ailment()
    names = [*in_window(application), *in_history(application)]
    assert sorted(n for n in names if "human-" in n) == sorted(
        f"http://sensorstream.example/tracking#human-{n}" for n in range(1, 31)
    )
