from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from sensorstream.errors import LanguageError
from sensorstream.model.timeline import Timeline

Play: TypeAlias = Callable[..., Any]


def texts(result: Any) -> list[str]:
    return [alert.text for alert in result.alerts]


def test_on_change_sleeps_while_nothing_changes(play: Play) -> None:
    stage = play('rule r on change then alert info "changed"')
    assert texts(stage.say("a p b")) == ["changed"]
    assert texts(stage.say("a p b")) == []
    assert texts(stage.say(remove=["a p b"])) == ["changed"]


def test_on_message_wakes_at_every_message_once(play: Play) -> None:
    stage = play(
        "rule r on message then insert individual :x a :A ."
        'rule s on message if exists :A then alert info "second round"'
    )
    assert texts(stage.say()) == []
    assert texts(stage.say()) == ["second round"]


def test_on_insert_binds_each_new_member(play: Play) -> None:
    stage = play('rule r on insert :Human as ?h then alert info "{?h}"')
    assert texts(stage.say("ann a Human", "bob a Child", "rex a Dog")) == [
        "http://example.org/ann",
        "http://example.org/bob",
    ]
    assert texts(stage.say("ann a Human", "ann p x")) == []


def test_on_expire_binds_each_member_that_left(play: Play) -> None:
    stage = play('rule r on expire :Human as ?h then alert info "{?h} left"')
    stage.say("ann a Human", "rex a Dog")
    left = {"ann": ["a Human", "p x"], "rex": ["a Dog"]}
    assert texts(stage.say(depart=left)) == ["http://example.org/ann left"]
    assert texts(stage.say()) == []


def test_every_wakes_when_time_passes_a_multiple(play: Play) -> None:
    stage = play('rule r every "10" then alert info "tick"')
    ticks = [time for time in (3, 9, 10, 11, 19, 20, 55, 59, 60) if texts(stage.say(time=time))]
    assert ticks == [10, 20, 55, 60]


def test_every_reads_durations_on_the_date_time_line(play: Play) -> None:
    stage = play('rule r every "PT1M" then alert info "tick"', Timeline.DATETIME)
    second = 1_000_000
    ticks = [t for t in (0, 59, 60, 61, 125) if texts(stage.say(time=t * second))]
    assert ticks == [60, 125]


def test_every_counts_on_though_its_condition_fails(play: Play) -> None:
    stage = play('rule r every "10" if exists :A then alert info "tick"')
    stage.say(time=1)
    assert texts(stage.say(time=11)) == []
    assert texts(stage.say("x a A", time=12)) == []
    assert texts(stage.say(time=21)) == ["tick"]


def test_a_length_of_the_wrong_time_line_is_refused(play: Play) -> None:
    with pytest.raises(LanguageError, match="PT1M") as caught:
        play('rule r every "PT1M" then alert info "tick"')
    assert str(caught.value.position) == "test.rules:3:14"


def test_a_time_of_the_clock_is_told_with_the_one_before(play: Play) -> None:
    stage = play(
        'rule r every day at "07:00" in "Europe/Vienna" then alert info "{?last} {?now}"',
        Timeline.DATETIME,
    )
    at = Timeline.DATETIME.instant
    assert texts(stage.say(time=at("2026-03-28T07:00:00Z"))) == []
    assert texts(stage.say(time=at("2026-03-29T04:59:59Z"))) == []
    assert texts(stage.say(time=at("2026-03-29T05:00:00Z"))) == [
        "2026-03-28T06:00:00Z 2026-03-29T05:00:00Z"
    ]
    assert texts(stage.say(time=at("2026-03-29T05:00:01Z"))) == []


def test_a_time_of_the_clock_is_none_of_the_line_of_integers(play: Play) -> None:
    with pytest.raises(LanguageError, match="integers has no days: expected a number") as caught:
        play('rule r every day at "07:00" in "UTC" then alert info "tick"')
    assert str(caught.value.position) == "test.rules:3:14"
