"""``on update``: a value that came in place of another."""

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
VALUE = 'rule r on update :v as ?x old ?o new ?n then alert info "{?x} {?o} {?n}"'
MEMBER = 'rule r on update :Sensor as ?x then alert info "{?x}"'


def told(result: Any) -> list[str]:
    return sorted(alert.text.replace(E, "") for alert in result.alerts)


@settings(max_examples=60)
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from("ab"), st.sampled_from("vw"), st.sampled_from("xyz")),
            max_size=4,
        ),
        max_size=8,
    )
)
def test_each_pair_of_what_went_and_what_came_is_an_update(
    play: Play, steps: list[list[tuple[str, str, str]]]
) -> None:
    stage = play(VALUE)
    known: set[tuple[str, str, str]] = set()
    for step in steps:
        # Each message says all values of whom and what it mentions.
        of = {each[:2] for each in step}
        new = {each for each in known if each[:2] not in of} | set(step)
        gone = [" ".join(each) for each in sorted(known - new)]
        result = stage.say(*(" ".join(each) for each in step), remove=gone)
        assert told(result) == sorted(
            f"{x} {old} {value}"
            for x, p, value in new - known
            for y, q, old in known - new
            if (x, p) == (y, q) and p == "v"
        )
        known = new


def test_a_member_of_a_class_that_is_new_is_no_update(play: Play) -> None:
    stage = play(MEMBER)
    assert told(stage.say("a a Sensor", "a v x", "b v x")) == []
    assert told(stage.say("a v y", "b v y", remove=["a v x", "b v x"])) == ["a"]
    assert told(stage.say("b a Sensor", "b v x", remove=["b v y"])) == []
    assert told(stage.say("a w x", "a v y")) == []


def test_a_rule_whose_updates_wake_it_again_ends(play: Play) -> None:
    rule = """
    rule r on update :v as ?x new ?n
    if not ask { ASK { ?x :seen ?n } }
    then update individual ?x ; :seen ?n .
    """
    stage = play(rule)
    stage.say("a v x")
    stage.say("a v y", remove=["a v x"])
    assert "a seen y" in stage.window()


@pytest.mark.parametrize("fault", [("old ?o", "old ?x"), ("new ?n", "new ?now")])
def test_a_variable_with_another_meaning_is_refused(play: Play, fault: tuple[str, str]) -> None:
    with pytest.raises(LanguageError, match="expected another name"):
        play(VALUE.replace(*fault))


def test_an_update_is_printed_as_it_is_read() -> None:
    for rule in (VALUE, MEMBER):
        file = parse(f"prefix : <http://example.org/>\n{rule}")
        assert parse(print_rules(file)) == file
