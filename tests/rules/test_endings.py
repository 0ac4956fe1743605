"""What a rule told of is cleared at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.rules.conftest import E
from tests.rules.test_condition_edges import COLD, HOT, said

Play = Callable[..., Any]


def cleared(result: Any) -> list[tuple[str, int]]:
    return [(each.key.removeprefix(E), each.place) for each in result.cleared]


@pytest.mark.parametrize("until", ["", f"until {COLD}"])
def test_the_end_of_a_condition_clears_its_alert(play: Play, until: str) -> None:
    stage = play(f'rule r when {HOT} becomes true {until} then alert info "hot" key "{{?x}}"')
    stage.say(said("a", 31), said("b", 31), time=1)
    result = stage.say(said("a", 20), remove=[said("a", 31)], time=2)
    assert cleared(result) == [("a", 0)]
    assert [(each.rule, each.time, each.message) for each in result.cleared] == [("r", 2, "m2")]
    assert cleared(stage.say("x p y", time=3)) == []


def test_what_never_fired_is_not_cleared(play: Play) -> None:
    stage = play(f'rule r when {HOT} becomes true for "10" then alert info "hot" key "{{?x}}"')
    stage.say(said("a", 31), time=1)
    assert cleared(stage.say(said("a", 20), remove=[said("a", 31)], time=2)) == []


def test_what_ends_as_it_fires_is_cleared_after_its_alert(play: Play) -> None:
    stage = play(f'rule r when {HOT} becomes true for "10" then alert info "hot" key "{{?x}}"')
    stage.say(said("a", 31), time=1)
    result = stage.say(said("a", 20), remove=[said("a", 31)], time=11)
    assert len(result.alerts) == 1
    assert cleared(result) == [("a", 1)]


def test_another_solution_with_the_same_key_keeps_the_alert(play: Play) -> None:
    each = "select { SELECT ?x ?v { ?x :v ?v FILTER(?v > 30) } }"
    stage = play(f'rule r when {each} becomes true then alert info "{{?v}}" key "{{?x}}"')
    stage.say(said("a", 31), time=1)
    assert cleared(stage.say(said("a", 32), remove=[said("a", 31)], time=2)) == []
    assert cleared(stage.say(remove=[said("a", 32)], time=3)) == [("a", 0)]


def test_a_key_that_cannot_be_made_again_is_left(play: Play) -> None:
    stage = play(f'rule r when {HOT} becomes true then alert info "{{?x}} {{?now}}"')
    stage.say(said("a", 31), time=1)
    assert cleared(stage.say(remove=[said("a", 31)], time=2)) == []


def test_one_that_speaks_again_clears_its_silence(play: Play) -> None:
    stage = play('rule r on silence of :Sensor for "5" then alert info "?" key "{?individual}"')
    stage.say("a a Sensor", time=1)
    assert cleared(stage.say(time=6)) == []
    assert cleared(stage.say("a a Sensor", time=8)) == [("a", 0)]
    assert cleared(stage.say("a a Sensor", time=9)) == []
