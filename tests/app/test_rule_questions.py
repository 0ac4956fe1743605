"""Rules that ask the history, on a whole server: real answers, restarts, faults."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sensorstream.app.application import Application
from sensorstream.app.why.what_if import what_if
from sensorstream.errors import HistoryError, LanguageError
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import (
    LimitSettings,
    OntologySettings,
    ReasoningSettings,
    RuleSettings,
    Settings,
    TimeSettings,
    WindowSettings,
)
from tests.app.conftest import Open
from tests.conftest import database as database
from tests.databases import forget_effects
from tests.waiting import eventually

LINE = Timeline.DATETIME

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
    return sorted(each.alert.text for each in application.reader.alerts_before(100))


def told(application: Application, count: int) -> list[str]:
    eventually(lambda: len(alerts(application)) >= count)
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
    ids = sorted(each.alert.id for each in application.reader.alerts_before(100))
    application.close()
    forget_effects(settings.history.url, "incidents", "events")
    again = open_application(ours)
    assert alerts(again) == first
    assert sorted(each.alert.id for each in again.reader.alerts_before(100)) == ids


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
    (raised,) = application.reader.alerts_before(10)
    assert (raised.alert.kind, raised.alert.key) == ("rule-failed", "r")
    # Messages go on, and so does the rule.
    send(application, "r3", "2026-03-28T12:00:30Z", "hall", "20")
    failed = "sensorstream_rule_questions_total", {"result": "failed"}
    eventually(lambda: application.metrics.get_sample_value(*failed) == 2.0)


def test_a_question_may_be_ended_like_that_of_a_client(
    settings: Settings, tmp_path: Path, open_application: Open
) -> None:
    endless = f"SELECT (SUM(?n * ?m) AS ?s) {{ {values('n', 'm', 'o', 'p', 'q')} }}"
    application = open_application(deployed(settings, tmp_path, asking(endless, 'alert info "x"')))
    send(application, "r1", "2026-03-28T10:59:00Z", "hall", "20")
    send(application, "r2", "2026-03-28T11:01:00Z", "hall", "20")
    eventually(lambda: application.running.runs())
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
    with pytest.raises(LanguageError, match="SHA1"):
        application.rulebook.put(
            "bad.rules",
            asking("SELECT (SHA1(?s) AS ?n) { ?s ?p ?o }").replace("rule r", "rule s"),
            "me",
        )
    send(application, "r2", "2026-03-28T11:01:00Z", "hall", "20")
    assert told(application, 1) == ["1"]
    (raised,) = application.reader.alerts_before(10)
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


def test_the_journal_gives_the_answers_again_and_none_to_other_questions(
    settings: Settings, tmp_path: Path, open_application: Open
) -> None:
    ours = deployed(settings, tmp_path, DAILY)
    application = open_application(ours)
    a_day(application)
    told(application, 3)
    application.close()
    found = what_if(ours, settings.history.url, [], None, None, lambda done, of: None)
    assert [(each.did, each.would) for each in found.alerts] == [(True, True)] * 3
    assert not found.unanswered
    (tmp_path / "other.rules").write_text(HEAD.split("mapping")[0] + DAILY.replace("?most", "?m"))
    other = [tmp_path / "other.rules"]
    found = what_if(ours, settings.history.url, other, None, None, lambda done, of: None)
    assert found.unanswered == {"yesterday": 2}
    assert not any(each.would for each in found.alerts)


@pytest.mark.parametrize(("faults", "said"), [(2, "1"), (99, "the history is away")])
def test_a_history_that_is_away_is_asked_again_but_not_for_ever(
    settings: Settings,
    tmp_path: Path,
    open_application: Open,
    monkeypatch: pytest.MonkeyPatch,
    faults: int,
    said: str,
) -> None:
    rule = asking("SELECT (COUNT(?c) AS ?n) { ?s :celsius ?c }")
    application = open_application(deployed(settings, tmp_path, rule))
    asked, history = 0, application.asking.history

    def away(*values: Any, **named: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked <= faults:
            raise HistoryError("the history is away")
        return history(*values, **named)

    monkeypatch.setattr(application.asking, "history", away)
    send(application, "r1", "2026-03-28T10:59:00Z", "hall", "20")
    send(application, "r2", "2026-03-28T11:01:00Z", "hall", "20")
    (text,) = told(application, 1)
    assert text.endswith(said)
    assert asked == min(faults + 1, 5)


def test_the_digests_of_a_random_stream_are_those_of_a_list(
    settings: Settings, tmp_path: Path, open_application: Open
) -> None:
    rule = """
rule daily
every day at "02:30" in "Europe/Vienna"
from history select {
  SELECT ?room (COUNT(?c) AS ?n) (SUM(?c) AS ?sum)
  { ?reading :room ?room ; :celsius ?c ; :time ?t FILTER(?t >= ?last) } GROUP BY ?room
}
then alert info "{?now} {?room} {?n} {?sum}"

rule held
every "PT6H"
from history select {
  SELECT (COUNT(DISTINCT ?reading) AS ?n) DURING ?last/?now { ?reading :room "hall" }
}
then alert info "{?now} {?n} in the hall"
"""
    application = open_application(deployed(settings, tmp_path, rule, size="3"))
    chance = random.Random(7)
    # Over a night with 23 hours; some readings come at the very moment of a digest.
    moments = [f"2026-03-{day}T{hour}:30:00Z" for day, hour in ((28, "01"), (29, "01"), (30, "00"))]
    start, end = LINE.instant("2026-03-27T12:00:00Z"), LINE.instant("2026-03-30T12:00:00Z")
    times = sorted(
        [*map(LINE.instant, moments), *(chance.randrange(start, end) for _ in range(40))]
    )
    readings = [(each, chance.choice(("hall", "lab")), chance.randint(1, 30)) for each in times]
    for number, (time, room, celsius) in enumerate(readings):
        send(application, f"r{number}", LINE.format(time), room, str(celsius))
    last, expected = LINE.instant("2026-03-27T01:30:00Z"), []
    for moment in moments:
        now = LINE.instant(moment)
        for name in ("hall", "lab"):
            found = [c for time, room, c in readings if last <= time < now and room == name]
            if found:
                expected.append(f"{moment} {name} {len(found)} {sum(found)}")
        last = now
    # A reading holds until three more have come.
    ends = [*times[3:], *[2**62] * 3]
    span = LINE.duration("PT6H")
    for now in range((start // span + 1) * span, times[-1] + 1, span):
        held = [
            each
            for each, until in zip(readings, ends, strict=True)
            if each[0] < now and until > now - span and each[1] == "hall"
        ]
        if times[0] < now:
            expected.append(f"{LINE.format(now)} {len(held)} in the hall")
    found_texts = told(application, len(expected))
    assert sorted(text.partition(" (late")[0] for text in found_texts) == sorted(expected)
