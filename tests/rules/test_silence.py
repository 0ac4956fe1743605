"""``on silence``: against the definition, computed from all that was said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import LanguageError
from sensorstream.language import parse, print_rules
from tests.rules.conftest import E

Play = Callable[..., Any]
RULE = 'rule r on silence of :Sensor as ?x for "5" then alert info "{?x} {?last} {?now}"'


def told(result: Any) -> list[str]:
    return [alert.text.removeprefix(E) for alert in result.alerts]


def silences(spoken: list[int], length: int, end: int) -> list[str]:
    """When somebody who spoke at these times had said nothing for so long, up to ``end``."""
    ends = [*spoken[1:], None][: len(spoken)]
    return [
        f"{said} {said + length}"
        for said, after in zip(spoken, ends, strict=True)
        if said + length <= (end if after is None else min(after, end))
    ]


@settings(max_examples=100)
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 4), st.sets(st.sampled_from("ab"), max_size=2)), max_size=15
    )
)
def test_who_says_nothing_for_so_long_is_told_once(
    play: Play, steps: list[tuple[int, set[str]]]
) -> None:
    stage = play(RULE)
    spoken: dict[str, list[int]] = {"a": [], "b": []}
    found: list[str] = []
    time = 0
    for step, names in steps:
        time += step
        due = stage.memory.due
        while due is not None and due <= time:
            found += told(stage.say(time=due))
            due = stage.memory.due
        # What is said again changes nothing, and is heard.
        found += told(stage.say(*(f"{each} a Sensor" for each in sorted(names)), time=time))
        for each in names:
            spoken[each].append(time)
    expected = [
        f"{name} {each}" for name, times in spoken.items() for each in silences(times, 5, time)
    ]
    assert sorted(found) == sorted(expected)


def test_one_that_has_left_the_window_is_told_of_and_forgotten(play: Play) -> None:
    stage = play(RULE)
    stage.say("a a Sensor", time=1)
    assert told(stage.say(depart={"a": ["a Sensor"]}, time=2)) == []
    assert told(stage.say(time=6)) == ["a 1 6"]
    assert stage.memory.held == {"r": {}}


def test_one_that_is_deleted_is_forgotten(play: Play) -> None:
    stage = play(RULE)
    stage.say("a a Sensor", "b a Sensor", time=1)
    stage.say(remove=["a a Sensor"], time=2)
    assert told(stage.say(time=6)) == ["b 1 6"]


def test_those_who_are_there_when_the_rule_is_new_are_watched(play: Play) -> None:
    stage = play(RULE)
    stage.say("a a Sensor", time=1)
    stage.memory.forget_but(())
    stage.say("x p y", time=4)
    assert told(stage.say(time=9)) == ["a 4 9"]


@pytest.mark.parametrize("name", ["now", "last"])
def test_a_variable_with_another_meaning_is_refused(play: Play, name: str) -> None:
    with pytest.raises(LanguageError, match="expected another name"):
        play(RULE.replace("?x", f"?{name}"))


def test_a_silence_is_printed_as_it_is_read() -> None:
    file = parse(f"prefix : <http://example.org/>\n{RULE}")
    assert parse(print_rules(file)) == file
    short = parse(f"prefix : <http://example.org/>\n{RULE}".replace("as ?x ", ""))
    assert short.semantic_rules[0].trigger.variable.name == "individual"  # type: ignore[union-attr]
