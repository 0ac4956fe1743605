"""``when``: against the definition, computed from the whole of what was known."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.engine.codec import decode, encode
from sensorstream.errors import LanguageError
from sensorstream.language import parse, print_rules
from sensorstream.model.timeline import Timeline
from sensorstream.rules.rule_memory import RuleMemory
from sensorstream.rules.rule_rounds import RuleIndex
from tests.rules.test_triggers import texts

Play: TypeAlias = Callable[..., Any]
State: TypeAlias = dict[str, int]
HOT = "select { SELECT ?x { ?x :v ?v FILTER(?v > 30) } }"
COLD = "ask { ASK { ?x :v ?v FILTER(?v < 28) } }"
XSD_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


def said(name: str, value: int) -> str:
    return f'{name} v "{value}"^^<{XSD_INTEGER}>'


def rule(lasting: int = 0, until: bool = False, more: str = "") -> str:
    held = f' for "{lasting}"' if lasting else ""
    end = f" until {COLD}" if until else ""
    return f'rule r when {HOT} becomes true{held}{end} {more} then alert info "{{?x}} {{?now}}"'


def fires(
    times: Sequence[int], values: Sequence[int | None], lasting: int, until: bool
) -> set[int]:
    """The messages at which one individual's solution fires, by the definition."""
    found = set()
    place = 0
    while place < len(times):
        value = values[place]
        if value is None or value <= 30:
            place += 1
            continue
        later = range(place + 1, len(times))
        breaks = [n for n in later if (v := values[n]) is None or v <= 30]
        due = [n for n in (later if lasting else [place]) if times[n] >= times[place] + lasting]
        if lasting and breaks and (not due or due[0] > breaks[0]):
            place = breaks[0]
            continue
        if not due:
            break
        found.add(due[0])
        if until:
            breaks = [n for n in range(max(due[0], place), len(times)) if (values[n] or 99) < 28]
        if not breaks:
            break
        place = breaks[0] if until else max(breaks[0], place + 1)
    return found


@settings(max_examples=150)
@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 6),
            st.dictionaries(st.sampled_from("ab"), st.sampled_from((20, 29, 31, 40)), max_size=2),
        ),
        max_size=12,
    ),
    lasting=st.sampled_from((0, 5, 9)),
    until=st.booleans(),
)
def test_a_rule_fires_at_the_edges_of_its_condition(
    play: Play, steps: list[tuple[int, State]], lasting: int, until: bool
) -> None:
    stage = play(rule(lasting, until))
    known: State = {}
    times: list[int] = []
    history: dict[str, list[int | None]] = {"a": [], "b": []}
    told: dict[str, set[int]] = {"a": set(), "b": set()}
    for number, (step, news) in enumerate(steps):
        times.append((times[-1] if times else 0) + step)
        changed = {n: v for n, v in news.items() if known.get(n) != v}
        gone = [said(n, known[n]) for n in changed if n in known]
        known |= changed
        result = stage.say(*(said(*each) for each in changed.items()), remove=gone, time=times[-1])
        for text in texts(result):
            name, now = text.removeprefix("http://example.org/").split()
            assert int(now) == times[-1]
            assert number not in told[name]
            told[name].add(number)
        for name, values in history.items():
            values.append(known.get(name))
        # What is remembered survives a checkpoint.
        stored = json.loads(json.dumps(encode(stage.memory, RuleMemory)))
        assert decode(stored, RuleMemory) == stage.memory
    for name, values in history.items():
        assert told[name] == fires(times, values, lasting, until)


def test_time_alone_makes_it_fire(play: Play) -> None:
    stage = play(rule(lasting=10))
    assert texts(stage.say(said("a", 31), time=5)) == []
    assert RuleIndex(stage.rules).due(stage.memory) == 15
    assert texts(stage.say(time=15)) == ["http://example.org/a 15"]
    assert RuleIndex(stage.rules).due(stage.memory) is None


def test_what_ends_when_its_time_is_over_has_held(play: Play) -> None:
    stage = play(rule(lasting=10))
    stage.say(said("a", 31), time=5)
    result = stage.say(said("a", 20), remove=[said("a", 31)], time=99)
    assert texts(result) == ["http://example.org/a 99"]
    assert texts(stage.say(time=200)) == []


def test_an_individual_that_leaves_the_window_is_forgotten(play: Play) -> None:
    stage = play(rule(until=True))
    assert texts(stage.say(said("a", 31), time=1)) == ["http://example.org/a 1"]
    leaving = {"a": [said("a", 31).removeprefix("a ")]}
    assert texts(stage.say(depart=leaving, time=2)) == []
    assert stage.memory.held["r"] == {}
    assert texts(stage.say(said("a", 31), time=3)) == ["http://example.org/a 3"]


def test_further_conditions_are_tried_at_the_edge_only(play: Play) -> None:
    stage = play(rule(more="if exists :Watched"))
    assert texts(stage.say(said("a", 31))) == []
    assert texts(stage.say("a a Watched")) == []
    assert texts(stage.say(said("b", 31))) == ["http://example.org/b 0"]


@pytest.mark.parametrize(
    ("condition", "begins", "ends"),
    [
        ("exists :Human", {"triples": ("ann a Human",)}, {"remove": ["ann a Human"]}),
        ("count :Human >= 1", {"triples": ("ann a Child",)}, {"remove": ["ann a Child"]}),
        ("not exists :Child", {"remove": ["eve a Child"]}, {"triples": ("eve a Child",)}),
        ("ask { ASK { ?x :v 5 } }", {"triples": (said("a", 5),)}, {"remove": [said("a", 5)]}),
    ],
)
def test_each_condition_may_become_true(
    play: Play, condition: str, begins: dict[str, Any], ends: dict[str, Any]
) -> None:
    stage = play(f'rule r when {condition} becomes true then alert info "now"')
    stage.say(*(["eve a Child"] if "not" in condition else []))
    found = []
    for change in (begins, {}, ends, begins):
        triples = change.get("triples", ())
        found.append(texts(stage.say(*triples, remove=change.get("remove", []))))
    assert found == [["now"], [], [], ["now"]]


def test_a_time_that_is_none_is_refused_with_its_place(play: Play) -> None:
    with pytest.raises(LanguageError) as caught:
        play(rule().replace("becomes true", 'becomes true for "0"'))
    assert caught.value.position is not None
    with pytest.raises(LanguageError, match="PT1M30S"):
        play(rule().replace("becomes true", 'becomes true for "10"'), Timeline.DATETIME)


def test_a_rule_is_printed_as_it_is_read() -> None:
    file = parse(f"prefix : <http://example.org/>\n{rule(5, until=True)}")
    assert parse(print_rules(file)) == file
