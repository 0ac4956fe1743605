"""What takes more than its budget is stopped, and stays so in each replay; all else goes on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import pytest

from sensorstream.app.application import Application
from sensorstream.app.life.metrics import Metrics
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Busy, Overrun, UnknownQuery, UnsupportedQuery
from sensorstream.history.asking.query_answer import Row, Solutions
from sensorstream.journal.entry import Target
from sensorstream.journal.registration import QueryStopped, RegisterQuery
from sensorstream.model.events import Message, Status
from sensorstream.settings.settings import (
    LimitSettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    WindowSettings,
)
from tests.app.conftest import Open
from tests.databases import execute
from tests.waiting import eventually

PRODUCT = "SELECT ?a ?b ?c WHERE { ?a a ?x . ?b a ?y . ?c a ?z }"
GREEDY = """prefix : <http://sensorstream.example/tracking#>
rule greedy
on change
if select { SELECT (COUNT(*) AS ?n) { ?a a ?x . ?b a ?y . ?c a ?z } }
then
  alert info "{?n} combinations" key "greedy"
"""
ANEW = "SELECT (COUNT(*) AS ?n) WHERE { ?a a ?x . ?b a ?y . ?c a ?z FILTER(RAND() < 2) }"
PLAIN = "SELECT ?a ?x WHERE { ?a a ?x }"


def rows_of(application: Application, query: str) -> list[Row]:
    found = application.queries.results(query)
    assert isinstance(found, Solutions)
    return list(found.rows)


def send(application: Application, start: int, count: int) -> None:
    for content in tracker_messages(count, start=start):
        application.submit(content, "test").result(300)


def stops(application: Application) -> list[str]:
    told = "select text from store.alerts where kind = 'query-stopped' order by id"
    return [str(row[0]) for row in application.asking.sql(told).rows]


def overruns(application: Application, kind: str, name: str) -> float | None:
    labels = {"kind": kind, "name": name}
    return application.metrics.get_sample_value("sensorstream_overruns_total", labels)


def test_few_names_have_a_count_of_their_own() -> None:
    metrics = Metrics()
    stops = [QueryStopped(f"q{n}", "m1", 1, "") for n in [*range(150), 7]]
    message = Message("m1", b"", 0)
    metrics.observe_entries(stops, [Outcome(message, Status.ACCEPTED) for _ in stops])
    (counts,) = (each for each in metrics.registry.collect() if each.name.endswith("overruns"))
    found = {each.labels["name"]: each.value for each in counts.samples if "_total" in each.name}
    assert len(found) == 101
    assert (found["q7"], found["q8"], found["(other)"]) == (2, 1, 50)


@pytest.fixture
def limited(settings: Settings) -> Settings:
    """Few rows for a query, however slow the machine, and a window that keeps all."""
    return replace(
        settings,
        window=WindowSettings(size="1000"),
        limits=LimitSettings(query_rows=20_000, query_seconds_together=60.0),
    )


def test_a_query_over_its_budget_stops_for_good_and_a_replay_obeys(
    limited: Settings, open_application: Open
) -> None:
    application = open_application(limited)
    plain = application.queries.register(PLAIN, "plain")
    application.queries.register(PRODUCT, "product")
    sent = 0
    while not application.queries.view("product").stopped:
        sent += 1
        assert sent < 200, "the query is never stopped"
        send(application, sent, 1)
    stopped = application.queries.view("product")
    assert "more than 20,000 rows in one instant" in stopped.stopped
    # An entry of its own tells so, after the message that was too much has been answered.
    eventually(lambda: overruns(application, "query", "product") == 1)
    (told,) = stops(application)
    assert "'product' was stopped" in told
    before = application.queries.view("plain").reports
    send(application, sent + 1, 3)
    rows = rows_of(application, "plain")
    assert application.queries.view("plain").reports > before
    application.close()
    # All is done again from the beginning, with limits that would not have stopped it.
    execute(limited.history.url, "delete from store.checkpoints")
    wider = replace(limited, limits=LimitSettings(query_rows=10_000_000))
    again = open_application(wider)
    assert again.queries.view("product") == stopped
    assert again.queries.view("plain").entry == plain.entry
    assert sorted(rows_of(again, "plain")) == sorted(rows)
    assert len(stops(again)) == 1
    with pytest.raises(UnknownQuery, match="it was stopped: more than"):
        again.queries.results("product")
    # From the checkpoint, with limits that would have stopped it before.
    again.close()
    narrow = open_application(replace(limited, limits=LimitSettings(query_rows=1)))
    assert [each.name for each in narrow.queries.views()] == ["plain", "product"]
    narrow.queries.remove("product")
    assert [each.name for each in narrow.queries.views()] == ["plain"]


def test_a_registration_over_its_budget_leaves_nothing(
    limited: Settings, open_application: Open
) -> None:
    application = open_application(limited)
    send(application, 1, 30)
    with pytest.raises(Overrun, match=r"limits\.query_rows"):
        application.queries.register(f"SELECT (COUNT(*) AS ?n) {PRODUCT[16:]}", "counted")
    assert application.queries.views() == []
    assert overruns(application, "registration", "counted") == 1
    application.queries.register(PLAIN, "counted")
    assert rows_of(application, "counted")


def test_what_is_evaluated_anew_needs_a_word_of_the_settings(
    limited: Settings, open_application: Open
) -> None:
    text = "SELECT ?a WHERE { ?a a ?x FILTER(NOW() > ?x) }"
    application = open_application(limited)
    with pytest.raises(UnsupportedQuery, match=r"NOW.*limits\.evaluate_anew = true allows"):
        application.queries.register(text, "anew")
    application.close()
    allowing = replace(limited, limits=LimitSettings(evaluate_anew=True))
    application = open_application(allowing)
    assert application.queries.register(text, "anew").reason
    application.close()
    # One that was registered goes on.
    application = open_application(limited)
    assert application.queries.view("anew").reason


def test_a_query_that_is_evaluated_anew_is_stopped_when_it_takes_too_long(
    limited: Settings, open_application: Open
) -> None:
    limits = LimitSettings(evaluate_anew=True, query_seconds=0.2, query_seconds_together=60.0)
    application = open_application(replace(limited, limits=limits))
    application.queries.register(PLAIN, "plain")
    application.queries.register(ANEW, "anew")
    sent = 0
    while not (stopped := application.queries.view("anew").stopped):
        sent += 1
        assert sent < 100, "the query is never stopped"
        send(application, sent, 1)
    assert "a query that is evaluated anew took longer than 0.2 s (limits.query_seconds)" in stopped
    assert rows_of(application, "plain")
    with pytest.raises(Overrun, match=r"limits\.query_seconds"):
        application.queries.register(ANEW.replace("?c a ?z", "?c a ?z . ?d a ?u"), "more")


@pytest.mark.parametrize(
    ("rule", "limits", "setting"),
    [
        (GREEDY, LimitSettings(message_rows=20_000), "limits.message_rows"),
        # Evaluated anew by Oxigraph, in a fork; with a product of four soon too much.
        (
            GREEDY.replace("?c a ?z", "?c a ?z . ?d a ?w FILTER(RAND() < 2)"),
            LimitSettings(message_seconds=0.1),
            "limits.message_seconds",
        ),
    ],
    ids=["in step", "anew"],
)
def test_a_message_whose_rules_take_too_much_is_quarantined_and_stays_so(
    limited: Settings, open_application: Open, rule: str, limits: LimitSettings, setting: str
) -> None:
    limited.path.with_name("greedy.rules").write_text(rule)
    limited = replace(
        limited,
        rules=RuleSettings((*limited.rules.files, limited.path.with_name("greedy.rules"))),
        limits=limits,
    )
    application = open_application(limited)
    refused: Overrun | None = None
    sent = 0
    while refused is None:
        sent += 1
        assert sent < 200, "no message is ever refused"
        window = application.window_view(1000)
        try:
            send(application, sent, 1)
        except Overrun as error:
            refused = error
    assert setting in str(refused)
    assert overruns(application, "message", "rules") == 1
    assert application.window_view(1000) == window
    (kept,) = application.reader.quarantined(10)
    assert setting in str(kept.reason)
    application.close()
    execute(limited.history.url, "delete from store.checkpoints")
    wider = replace(limited, limits=LimitSettings())
    again = open_application(wider)
    assert again.window_view(1000) == window
    send(again, sent + 1, 1)
    assert again.window_view(1000) != window
    window = again.window_view(1000)
    again.close()
    # What was accepted then is accepted in a replay, whatever the limits are now.
    execute(limited.history.url, "delete from store.checkpoints")
    narrow = open_application(replace(limited, limits=LimitSettings(message_rows=1)))
    assert narrow.window_view(1000) == window


def test_a_restart_takes_the_window_in_whatever_one_message_may_take(
    limited: Settings, open_application: Open
) -> None:
    limited = replace(limited, reasoning=ReasoningSettings(profile="owl2rl"))
    application = open_application(limited)
    send(application, 1, 8)
    window = application.window_view(1000)
    application.close()
    narrow = replace(limited, limits=LimitSettings(message_rows=1))
    again = open_application(narrow)
    assert again.window_view(1000) == window


@pytest.mark.parametrize(
    "condition",
    ["SELECT (COUNT(*) AS ?n) { ?a a ?x . ?b a ?y . ?c a ?z }", "SELECT ?a { ?a a ?x . ?b a ?y }"],
    ids=["counted", "found"],
)
def test_rules_that_are_too_much_to_begin_are_refused_and_leave_nothing(
    limited: Settings, open_application: Open, condition: str
) -> None:
    limits = LimitSettings(message_rows=2_000)
    application = open_application(replace(limited, limits=limits))
    send(application, 1, 60)
    before = application.rulebook.files().files
    text = GREEDY.split("if select")[0] + f"if select {{ {condition} }}\nthen alert info 'x'\n"
    text = text.replace("'", '"')
    with pytest.raises(Overrun, match=r"limits\.message_rows"):
        application.rulebook.put("greedy.rules", text, "")
    assert application.rulebook.files().files == before
    modest = text.replace(condition, "SELECT ?a { ?a a ?x FILTER(?a = ?x) }")
    application.rulebook.put("greedy.rules", modest, "")
    send(application, 61, 1)
    assert [each.name for each in application.rulebook.files().files][-1] == "greedy.rules"


def test_after_a_slow_read_of_results_messages_are_taken_first(
    settings: Settings, open_application: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensorstream.app.control.query_control._PAUSE", 1e9)
    application = open_application(settings)
    application.queries.register(PLAIN, "quick")
    application.queries.register(PLAIN, "slow")
    application.queries.results("quick")
    with monkeypatch.context() as patch:
        patch.setattr("sensorstream.app.control.query_control._HARMLESS", -1.0)
        application.queries.results("slow")
    with pytest.raises(Busy, match="messages are taken first"):
        application.queries.results("slow")
    application.queries.results("quick")
    send(application, 1, 1)


def test_few_registrations_wait_so_that_threads_are_left_for_others(
    settings: Settings, open_application: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sensorstream.app.control.query_control._MOST_WAITING", 1)
    application = open_application(settings)
    checked, go_on = Event(), Event()
    check = RegisterQuery.check

    def wait(entry: RegisterQuery, target: Target) -> None:
        checked.set()
        assert go_on.wait(300)
        check(entry, target)

    monkeypatch.setattr(RegisterQuery, "check", wait)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(application.queries.register, PLAIN, "first")
        assert checked.wait(300)
        with pytest.raises(Busy, match="wait to be registered already"):
            application.queries.register(PLAIN, "second")
        go_on.set()
        assert first.result(300).name == "first"
    assert application.queries.register(PLAIN, "second").name == "second"
