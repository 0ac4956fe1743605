"""Rules that ask the history, on a whole server: real answers, restarts, faults."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg2
import pytest

from sensorstream.app.application import Application
from sensorstream.settings import (
    LimitSettings,
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    TimeSettings,
    WindowSettings,
)
from tests.waiting import eventually

Open = Callable[[Settings], Application]

HEAD = """
prefix : <http://example.org/>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping reading on message {/m}
then insert individual :{@id} a :Reading at {@t}
    ; :room {@room} ; :celsius {@c}^^xsd:decimal ; :time {@t}^^xsd:dateTime .
"""
DAILY = """
rule yesterday
every day at "00:00" in "Europe/Vienna"
from history select {
  SELECT ?room (COUNT(?c) AS ?n) (AVG(?c) AS ?mean) (MAX(?c) AS ?most)
  { ?reading :room ?room ; :celsius ?c ; :time ?t FILTER(?t >= ?last) } GROUP BY ?room
}
then alert info "{?room}: {?n} readings, {?mean} on average, at most {?most}" key "{?room}"
"""


def deployed(settings: Settings, folder: Path, rules: str, *, size: str = "2") -> Settings:
    (folder / "o.ttl").write_text("@prefix : <http://example.org/> .")
    (folder / "r.rules").write_text(HEAD + rules)
    return replace(
        settings,
        ontology=OntologySettings((folder / "o.ttl",)),
        rules=RuleSettings((folder / "r.rules",)),
        reasoning=ReasoningSettings(profile="none"),
        window=WindowSettings(size=size),
        time=TimeSettings(line="datetime", silence="queries"),
    )


def send(application: Application, name: str, time: str, room: str, celsius: str) -> None:
    content = f"<m id='{name}' t='{time}' room='{room}' c='{celsius}'/>"
    application.submit(content.encode(), "test").result(60)


def alerts(application: Application) -> list[str]:
    return sorted(each.alert.text for each in application.alerts(100))


def told(application: Application, count: int) -> list[str]:
    eventually(lambda: len(alerts(application)) >= count, 30)
    return alerts(application)


def a_day(application: Application) -> None:
    """Readings of the 28th of March in Vienna, one before and two after it."""
    for name, time, room, celsius in (
        ("r0", "2026-03-27T22:59:59Z", "hall", "99"),
        ("r1", "2026-03-27T23:00:00Z", "hall", "20"),
        ("r2", "2026-03-28T10:00:00Z", "lab", "30"),
        ("r3", "2026-03-28T11:00:00Z", "hall", "23"),
        ("r4", "2026-03-28T22:59:59Z", "hall", "23"),
        ("r5", "2026-03-28T23:00:00Z", "hall", "77"),
        ("r6", "2026-03-28T23:00:01Z", "hall", "78"),
    ):
        send(application, name, time, room, celsius)


YESTERDAY = [
    "hall: 3 readings, 22 on average, at most 23",
    "lab: 1 readings, 30 on average, at most 30",
]


def test_a_rule_tells_what_history_and_window_held_before_its_moment(
    settings: Settings, tmp_path: Path, open_application: Open
) -> None:
    application = open_application(deployed(settings, tmp_path, DAILY))
    a_day(application)
    # The first moment has the one reading before it; what came at the moment and later is not seen.
    before = "hall: 1 readings, 99 on average, at most 99"
    assert told(application, 3) == [before, *YESTERDAY]


def test_no_answer_is_told_twice_and_none_is_lost_over_a_crash(
    settings: Settings, tmp_path: Path, open_application: Open
) -> None:
    ours = deployed(settings, tmp_path, DAILY)
    application = open_application(ours)
    a_day(application)
    first = told(application, 3)
    ids = sorted(each.alert.id for each in application.alerts(100))
    application.close()
    # As after a crash of the machine: the journal is on disk, the effects are not.
    with closing(psycopg2.connect(settings.history.url)) as connection, connection.cursor() as sql:
        for table in (
            *("checkpoints", "deliveries", "alerts", "incidents", "events", "stays"),
            "statements",
        ):
            sql.execute(f"delete from store.{table}")
        sql.execute("update store.messages set status = null, reason = null")
        sql.execute("update store.progress set watermark = 0")
        connection.commit()
    again = open_application(ours)
    assert alerts(again) == first
    assert sorted(each.alert.id for each in again.alerts(100)) == ids


def asking(question: str, then: str = 'alert info "{?n}"') -> str:
    return f'rule r every "PT1H" from history select {{ {question} }} then {then}\n'


def values(*names: str) -> str:
    numbers = " ".join(map(str, range(60)))
    return " ".join(f"VALUES ?{name} {{ {numbers} }}" for name in names)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (f"SELECT ?n {{ {values('n', 'm')} }}", "more than 1,000 solutions, and a rule is tried"),
        (
            f"SELECT (SUM(?n * ?m) AS ?s) {{ {values('n', 'm', 'o', 'p', 'q')} }}",
            "limits.question_seconds",
        ),
        ('SELECT ?n DURING "2030-01-01T00:00:00Z"/?now { ?s :n ?n }', "is not after"),
    ],
)
def test_a_question_that_fails_is_an_alert_of_its_rule(
    settings: Settings, tmp_path: Path, open_application: Open, question: str, said: str
) -> None:
    ours = deployed(settings, tmp_path, asking(question, 'alert info "x"'))
    seconds = 0.5 if "question_seconds" in said else 30.0
    application = open_application(replace(ours, limits=LimitSettings(question_seconds=seconds)))
    send(application, "r1", "2026-03-28T10:59:00Z", "hall", "20")
    send(application, "r2", "2026-03-28T11:01:00Z", "hall", "20")
    (text,) = told(application, 1)
    assert text.startswith("the rule 'r' fails: the history does not answer: ")
    assert said in text
    (raised,) = application.alerts(10)
    assert (raised.alert.kind, raised.alert.key) == ("rule-failed", "r")
    # Messages go on, and so does the rule.
    send(application, "r3", "2026-03-28T12:00:30Z", "hall", "20")
    failed = "sensorstream_rule_questions_total", {"result": "failed"}
    eventually(lambda: application.metrics.get_sample_value(*failed) == 2.0, 30)


def test_a_question_may_be_ended_like_that_of_a_client(
    settings: Settings, tmp_path: Path, open_application: Open
) -> None:
    endless = f"SELECT (SUM(?n * ?m) AS ?s) {{ {values('n', 'm', 'o', 'p', 'q')} }}"
    application = open_application(deployed(settings, tmp_path, asking(endless, 'alert info "x"')))
    send(application, "r1", "2026-03-28T10:59:00Z", "hall", "20")
    send(application, "r2", "2026-03-28T11:01:00Z", "hall", "20")
    eventually(lambda: application.running.runs(), 30)
    (run,) = application.running.runs()
    assert (run.asked.client, run.asked.on) == ("rule r", "all")
    application.running.cancel(run.id)
    assert told(application, 1) == [
        "the rule 'r' fails: the history does not answer: the question was cancelled"
    ]


def test_rules_that_are_put_ask_too_and_an_alert_tells_why(
    settings: Settings, tmp_path: Path, open_application: Open
) -> None:
    application = open_application(deployed(settings, tmp_path, ""))
    send(application, "r1", "2026-03-28T10:59:00Z", "hall", "20")
    application.rulebook.put(
        "more.rules",
        "prefix : <http://example.org/>\n"
        + asking("SELECT (COUNT(?c) AS ?n) { ?s :celsius ?c }", 'alert info "{?n}"'),
        "me",
    )
    send(application, "r2", "2026-03-28T11:01:00Z", "hall", "20")
    assert told(application, 1) == ["1"]
    (raised,) = application.alerts(10)
    why = application.reasons.of_alert(raised.alert.id)
    assert why.rule is not None
    assert "from history select { SELECT (COUNT(?c) AS ?n) { ?s :celsius ?c } }" in why.rule.text
    assert why.because is not None
    assert {name: each.n3.partition("^^")[0] for name, each in why.because.evidence.bindings} == {
        "n": '"1"',
        "now": '"2026-03-28T11:00:00Z"',
        "last": '"2026-03-28T10:00:00Z"',
    }
    assert why.notes == (
        "the history has answered with these values: what it had found is not kept",
    )
