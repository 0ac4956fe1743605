"""Rules with times: ?now, and alerts on the dateTime line as people write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from sensorstream.errors import LanguageError
from sensorstream.model.timeline import Timeline
from tests.rules.test_triggers import texts

Play: TypeAlias = Callable[..., Any]
XSD = "http://www.w3.org/2001/XMLSchema#"
NOON = Timeline.DATETIME.instant("2026-03-01T12:00:00Z")
MINUTE = 60_000_000


def literal(lexical: str, datatype: str) -> str:
    return f'"{lexical}"^^<{XSD}{datatype}>'


@pytest.mark.parametrize(
    ("trigger", "message"),
    [
        ("on change", {}),
        ("on message", {}),
        ("on insert :Human as ?x", {}),
        ("on expire :Human as ?x", {"depart": {"eve": ["a Human"]}}),
    ],
)
@pytest.mark.parametrize(
    ("line", "time", "text"),
    [(Timeline.INTEGER, 7, "7"), (Timeline.DATETIME, NOON, "2026-03-01T12:00:00Z")],
)
def test_now_is_the_time_of_the_event(
    play: Play, trigger: str, message: dict[str, Any], line: Timeline, time: int, text: str
) -> None:
    rule = f"rule r {trigger} if select {{ SELECT ?now {{ BIND(?now AS ?same) }} }} "
    stage = play(f'{rule}then alert info "{{?now}}"', line)
    assert texts(stage.say("ann a Human", time=time, **message)) == [text]


@pytest.mark.parametrize(
    ("line", "length", "times", "text"),
    [
        (Timeline.INTEGER, "10", (3, 12), "12"),
        (Timeline.DATETIME, "PT1M", (NOON, NOON + 2 * MINUTE), "2026-03-01T12:02:00Z"),
    ],
)
def test_now_is_the_time_of_a_tick(
    play: Play, line: Timeline, length: str, times: tuple[int, int], text: str
) -> None:
    stage = play(f'rule r every "{length}" then alert info "{{?now}}"', line)
    assert [texts(stage.say(time=time)) for time in times] == [[], [text]]


def test_a_trigger_cannot_give_now_another_meaning(play: Play) -> None:
    with pytest.raises(LanguageError, match=r"\?now is the time of the event") as caught:
        play('rule r on insert :A as ?now then alert info "x"')
    assert str(caught.value.position).startswith("test.rules:3:")


ALERTS = {
    "older than a minute": (
        "on message if select { SELECT ?x { ?x :at ?t "
        'FILTER(?now - ?t > "PT1M"^^xsd:dayTimeDuration) } }',
        [("s at", "2026-03-01T11:58:59Z", "dateTime")],
        [("s at", "2026-03-01T11:59:00Z", "dateTime")],
    ),
    "no message for an hour": (
        "on message if select { SELECT ?x (MAX(?t) AS ?last) { ?x :at ?t } GROUP BY ?x "
        'HAVING (MAX(?t) + "PT1H"^^xsd:dayTimeDuration < "2026-03-01T12:00:00Z"^^xsd:dateTime) }',
        [
            ("s at", "2026-03-01T10:30:00Z", "dateTime"),
            ("s at", "2026-03-01T10:59:59Z", "dateTime"),
        ],
        [
            ("s at", "2026-03-01T10:30:00Z", "dateTime"),
            ("s at", "2026-03-01T11:00:00Z", "dateTime"),
        ],
    ),
    "two within a minute": (
        "on message if select { SELECT ?x { ?x :at ?t ; :before ?u "
        'FILTER(?t - ?u <= "PT1M"^^xsd:dayTimeDuration && ?u <= ?t) } }',
        [
            ("s at", "2026-03-01T11:59:30+01:00", "dateTime"),
            ("s before", "2026-03-01T10:59:00Z", "dateTime"),
        ],
        [
            ("s at", "2026-03-01T11:59:30Z", "dateTime"),
            ("s before", "2026-03-01T10:59:00Z", "dateTime"),
        ],
    ),
    "older than a day": (
        "on message if select { SELECT ?x { ?x :at ?t "
        'FILTER(?t < ?now - "P1D"^^xsd:dayTimeDuration) } }',
        [("s at", "2026-02-28T11:59:59Z", "dateTime")],
        [("s at", "2026-02-28T12:00:00Z", "dateTime")],
    ),
    "the same day": (
        "on message if select { SELECT ?x { ?x :at ?t FILTER(xsd:date(?t) = xsd:date(?now)) } }",
        [("s at", "2026-03-01T00:00:00Z", "dateTime")],
        [("s at", "2026-02-28T23:59:59Z", "dateTime")],
    ),
    "at night": (
        "on message if select { SELECT ?x { ?x :at ?t FILTER(HOURS(?t) >= 22 || HOURS(?t) < 6) } }",
        [("s at", "2026-02-28T23:59:59Z", "dateTime")],
        [("s at", "2026-03-01T12:00:00Z", "dateTime")],
    ),
    "an expiry date has passed": (
        "on message if select { SELECT ?x { ?x :until ?d FILTER(?d < xsd:date(?now)) } }",
        [("s until", "2026-02-28Z", "date")],
        [("s until", "2026-03-01Z", "date")],
    ),
    "due within two months": (
        "on message if select { SELECT ?x { ?x :until ?d "
        'FILTER(?d <= xsd:date(?now) + "P2M"^^xsd:yearMonthDuration) } }',
        [("s until", "2026-05-01Z", "date")],
        [("s until", "2026-05-02Z", "date")],
    ),
    "a delay above its limit": (
        "on message if select { SELECT ?x { ?x :delay ?d ; :limit ?l FILTER(?d > ?l) } }",
        [("s delay", "PT90S", "dayTimeDuration"), ("s limit", "PT1M", "duration")],
        [("s delay", "PT60S", "dayTimeDuration"), ("s limit", "PT1M", "duration")],
    ),
    "after closing time": (
        "on message if select { SELECT ?x { ?x :closes ?c FILTER(xsd:time(?now) > ?c) } }",
        [("s closes", "11:59:59Z", "time")],
        [("s closes", "12:00:00Z", "time")],
    ),
    "late against the plan": (
        "on message if select { SELECT ?x { ?x :planned ?p ; :at ?t ; :limit ?l "
        "FILTER(?t > ?p + ?l) } }",
        [
            ("s planned", "2026-03-01T10:00:00Z", "dateTime"),
            ("s at", "2026-03-01T10:05:01Z", "dateTime"),
            ("s limit", "PT5M", "dayTimeDuration"),
        ],
        [
            ("s planned", "2026-03-01T10:00:00Z", "dateTime"),
            ("s at", "2026-03-01T10:05:00Z", "dateTime"),
            ("s limit", "PT5M", "dayTimeDuration"),
        ],
    ),
}


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_fires_when_its_time_has_come(play: Play, name: str) -> None:
    condition, fires, rests = ALERTS[name]
    for told, expected in ((fires, [name]), (rests, [])):
        stage = play(f'rule r {condition} then alert info "{name}"', Timeline.DATETIME)
        said = [f"{subject} {literal(text, datatype)}" for subject, text, datatype in told]
        assert texts(stage.say(*said, time=NOON)) == expected
