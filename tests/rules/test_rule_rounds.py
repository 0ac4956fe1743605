from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import RuleCycle
from sensorstream.model.terms import Term
from sensorstream.rules.conditions import ConditionQuery, Solution
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.rules.rule_memory import RuleMemoryChange

Play: TypeAlias = Callable[..., Any]


def test_the_papers_rule_acts_once_while_its_action_is_there(play: Play) -> None:
    stage = play(
        "rule lamp on change if exists :Human and not exists :Action "
        "then insert individual :action-{new} a :Action ."
    )
    assert stage.say("ann a Human").fired == ("lamp",)
    assert stage.window() == {"ann a Human", "action-m1-1 a Action"}
    assert stage.say("bob a Human").fired == ()
    stage.say(remove=["action-m1-1 a Action"])
    assert "action-m3-1 a Action" in stage.window()


def test_a_rule_reacts_to_what_another_changed(play: Play) -> None:
    stage = play(
        "rule second on insert :B as ?x if exists :A then insert individual ?x a :C ."
        "rule first on insert :A as ?x then insert individual ?x a :B ."
        'rule third on insert :C as ?x then reply "<done/>"'
    )
    result = stage.say("x a A")
    assert result.fired == ("first", "second", "third")
    assert result.replies == ("<done/>",)


def test_rules_see_what_is_inferred(play: Play) -> None:
    stage = play('rule r on insert :Human as ?x then alert info "{?x}"')
    assert [a.text for a in stage.say("tom a Child").alerts] == ["http://example.org/tom"]


def test_all_rules_of_a_round_see_its_beginning(play: Play) -> None:
    stage = play(
        "rule one on message if not exists :Token then insert individual :t a :Token ; :of :one ."
        "rule two on message if not exists :Token then insert individual :t a :Token ; :of :two ."
    )
    result = stage.say("x p y")
    assert result.fired == ("one", "two")
    assert {"t of one", "t of two"} <= stage.window()
    assert len(stage.host.applied) == 1


def test_a_rule_fires_once_for_each_distinct_solution(play: Play) -> None:
    stage = play(
        "rule flip on change if select { SELECT ?x { ?x :is :on } } "
        "then delete { ?x :is :on } insert individual ?x ; :was :on ."
        "rule flop on change if select { SELECT ?x { ?x :was :on } } "
        "then delete { ?x :was :on } insert individual ?x ; :is :on ."
    )
    result = stage.say("a is on", "b is on")
    assert result.fired == ("flip", "flop")
    assert stage.window() == {"a is on", "b is on"}
    assert len(stage.host.applied) == 2


def test_rules_that_never_rest_are_named(play: Play) -> None:
    stage = play(
        "rule start on insert :Egg as ?x then insert individual :hen-{new} a :Hen .\n"
        "rule lay on insert :Hen as ?x then insert individual :chick-{new} a :Chick .\n"
        "rule hatch on insert :Chick as ?x then insert individual :hen-{new} a :Hen .",
        rounds=6,
    )
    with pytest.raises(RuleCycle) as caught:
        stage.say("e a Egg")
    assert "6 rounds" in caught.value.message
    assert "lay (test.rules:4:6), hatch (test.rules:5:6)" in caught.value.message
    assert "start" not in caught.value.message
    assert caught.value.position is not None
    assert len(stage.host.applied) == 6


def test_the_last_allowed_round_is_no_cycle(play: Play) -> None:
    chain = "".join(
        f"rule r{n} on insert :C{n} as ?x then insert individual ?x a :C{n + 1} ." for n in range(5)
    )
    assert len(play(chain, rounds=5).say("x a C0").fired) == 5
    with pytest.raises(RuleCycle):
        play(chain, rounds=4).say("x a C0")


def test_inserting_what_is_there_wakes_nobody(play: Play) -> None:
    stage = play(
        "rule r on change then insert individual :x a :A ."
        'rule s on insert :A as ?x then reply "<a/>"'
    )
    assert stage.say("y p z").replies == ("<a/>",)
    assert stage.say("y q z").replies == ()


def test_solutions_are_taken_in_the_order_of_their_text(play: Play) -> None:
    stage = play('rule r on message if select { SELECT ?x { ?x a :A } } then alert info "{?x}"')
    result = stage.say(*(f"x{n} a A" for n in (5, 3, 9, 1, 7, 2)))
    assert [a.text[-2:] for a in result.alerts] == ["x1", "x2", "x3", "x5", "x7", "x9"]
    assert [a.id for a in result.alerts] == [f"m1-{n}" for n in range(1, 7)]


def test_nothing_is_remembered_of_a_message_without_news(play: Play) -> None:
    stage = play('rule r on insert :A as ?x then alert info "x" for "10"')
    assert stage.say("x p y").news == RuleMemoryChange()


facts = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=8
)


@given(messages=st.lists(facts, min_size=1, max_size=5))
@settings(max_examples=40)
def test_a_recursive_rule_reaches_the_closure(
    play: Play, messages: list[list[tuple[str, str]]]
) -> None:
    stage = play(
        "rule reach on change if select { SELECT ?x ?z { ?x :next ?y . ?y :next ?z } } "
        "then insert individual ?x ; :next ?z ."
    )
    edges: set[tuple[str, str]] = set()
    for facts in messages:
        stage.say(*(f"{a} next {b}" for a, b in facts))
        edges |= set(facts)
        while wider := {(a, d) for a, b in edges for c, d in edges if b == c} - edges:
            edges |= wider
        assert stage.window() == {f"{a} next {b}" for a, b in edges}


class Shuffled:
    """An evaluator that answers in another order each time."""

    def __init__(self, evaluator: ConditionEvaluator, random: Random) -> None:
        self._evaluator = evaluator
        self._random = random

    def begin(self) -> None:
        self._evaluator.begin()

    def prepare(self, rules: Iterable[Sequence[ConditionQuery]]) -> None:
        self._evaluator.prepare(rules)

    def settle(self) -> None:
        self._evaluator.settle()

    def select(self, query: ConditionQuery, bindings: Solution) -> list[dict[str, Term]]:
        found = self._evaluator.select(query, bindings)
        self._random.shuffle(found)
        return found

    def ask(self, query: ConditionQuery, bindings: Solution) -> bool:
        return self._evaluator.ask(query, bindings)


@given(random=st.randoms(use_true_random=False), messages=st.lists(facts, min_size=1, max_size=3))
@settings(max_examples=30)
def test_the_order_of_answers_changes_nothing(
    play: Play, random: Random, messages: list[list[tuple[str, str]]]
) -> None:
    rules = (
        "rule seen on change if select { SELECT ?x ?y { ?x :next ?y } } "
        'then alert info "{new} {?x} {?y}" insert individual :edge-{new} a :Edge ; :of ?x, ?y . '
        "rule known on insert :Edge as ?e if select { SELECT ?x { ?e :of ?x } } "
        "then reply \"<edge n='{?e}' x='{?x}'/>\" "
        "sparql { INSERT { ?z :near ?x } WHERE { ?e :of ?z } }"
    )
    one, other = play(rules), play(rules)
    other.host.evaluator = Shuffled(other.host.evaluator, random)
    for told in messages:
        lines = [f"{a} next {b}" for a, b in told]
        assert one.say(*lines) == other.say(*lines)
        assert one.host.applied == other.host.applied
