"""``when``: what looks at changes only comes to the same as the definition, which looks at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sensorstream.model.timeline import Timeline
from sensorstream.rules.conditions import Solution
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.rules.rule_memory import SolutionKey, WaitingRule
from sensorstream.rules.rule_notes import evaluated_anew
from sensorstream.rules.templates import shown
from sensorstream.rules.triggers import NOW, RoundChange, Solutions, Trigger
from tests.rules.conftest import E, Play
from tests.rules.test_condition_edges import COLD, HOT, said

Step: TypeAlias = tuple[int, dict[str, int], tuple[str, ...], str, str]

PAIR = "select { SELECT ?x ?y { ?x :near ?y . ?x :v ?v . ?y :v ?w FILTER(?v > ?w) } }"
EACH = "select { SELECT ?x ?v { ?x :v ?v FILTER(?v > 25) } }"
MANY = "select { SELECT ?v (COUNT(?x) AS ?n) { ?x :v ?v } GROUP BY ?v HAVING (COUNT(?x) > 1) }"
NEAR = "select { SELECT ?x ?y { ?x :near ?y } }"
LOOSE = "select { SELECT ?x ?y { ?x :v ?v OPTIONAL { ?x :near ?y } FILTER(?v > 30) } }"
ALERT = 'then alert info "{?x}" key "{?x}"'
MORE = "select { SELECT ?x (COUNT(?z) AS ?n) { ?x :near ?z } GROUP BY ?x HAVING(COUNT(?z) > 1) }"
ENDS = {
    HOT: (
        "",
        COLD,
        "not ask { ASK { ?x :v ?v FILTER(?v > 28) } }",
        "not select { SELECT ?x { ?x :v ?v FILTER(?v > 28) } }",
        "select { SELECT ?z { ?x :near ?z . ?z a :Stop } }",
        "exists :Stop",
        "not count :Stop < 2",
        "ask { ASK { ?z :v 20 } }",
        "ask { ASK { { ?x :v 20 } UNION { ?z a :Stop . ?x :near ?z } } }",
        "ask { ASK { ?z a :Stop FILTER NOT EXISTS { ?x :near ?z } } }",
        "ask { ASK { ?x :v ?v MINUS { ?x :near ?z } FILTER(?v < 40) } }",
        "ask { ASK { ?x :v ?v OPTIONAL { ?x :near ?z } FILTER(BOUND(?z) && ?v < 40) } }",
        "ask { ASK { ?z :near ?x BIND(?x AS ?same) FILTER(?same != ?z) } }",
        MORE,
        "ask { ASK { ?x :v ?v { SELECT ?v { ?z a :Stop ; :v ?v } } } }",
    ),
    PAIR: (
        "",
        "ask { ASK { ?y :near ?x } }",
        "ask { ASK { ?x :v ?v . ?y :v ?v } }",
        "ask { ASK { ?x a :Stop . ?z :near ?y } }",
    ),
    EACH: ("", "ask { ASK { ?x :v ?w FILTER(?w < ?v) } }", "ask { ASK { ?x a :Stop } }"),
    MANY: ("", "ask { ASK { ?z a :Stop ; :v ?v } }"),
    NEAR: ("", "exists :Stop", "ask { ASK { ?y a :Stop } }"),
    LOOSE: ("", "ask { ASK { ?x a :Stop } }"),
}
RULES = [
    f"rule r when {begins} becomes true{lasting}{until and ' until ' + until}\n"
    + ALERT.replace("?x", "?v" if begins == MANY else "?x")
    for begins, ends in ENDS.items()
    for until in ends
    for lasting in ("", ' for "4"')
]
ANEW = "its condition is evaluated as a whole at every change: "
STOPS = """
rule stops
on change
if select { SELECT ?s { ?s :v 40 } }
then sparql { INSERT DATA { :c a :Stop } }
"""
NAMES = "abc"


def naive(rule: CompiledRule, length: int) -> Trigger:
    """The trigger of a rule, by its definition: all solutions are looked at, each time."""
    edge, name = rule.edge, rule.name
    assert edge is not None
    begins, ends = edge.begins, edge.ends

    def text_of(key: SolutionKey) -> str:
        values = dict(key)
        return shown(values["v" if "n" in values else "x"])

    def trigger(moment: RoundChange) -> Solutions:
        run = moment.run
        now = {NOW: moment.now(Timeline.INTEGER)}
        due = run.due(name)
        fires: list[Solution] = [{**dict(key), **now} for key in due]
        for key in due:
            held = run.holding(name, key)
            assert held is not None
            run.hold(name, key, WaitingRule(held.since))
        if not (run.begins(name) | bool(moment.delta or moment.departures)):
            return fires
        found = begins.test(run.host, (now,))
        present = {tuple(sorted(s.items())) for s in ({**s, NOW: now[NOW]} for s in found)}
        keys = {tuple(pair for pair in each if pair[0] != NOW) for each in present}
        gone = {each.individual.name for each in moment.departures}

        def is_over(key: SolutionKey) -> bool:
            if ends is None:
                return False
            return bool(gone & {v for _, v in key}) or bool(
                ends.test(run.host, ({**dict(key), **now},))
            )

        before = dict(run.held(name))
        ended = []
        for key, held in before.items():
            stays = key in keys or (ends is not None and held.due is None)
            if not stays or is_over(key):
                run.hold(name, key, None)
                if held.due is None:
                    ended.append(key)
        for key in keys - before.keys():
            if not is_over(key):
                run.hold(name, key, WaitingRule(run.time, run.time + length if length else None))
                if not length:
                    fires.append({**dict(key), **now})
        going_on = {text_of(key) for key, each in run.held(name).items() if each.due is None}
        for key in ended:
            if text_of(key) not in going_on:
                if key in due:
                    run.endings.append((name, text_of(key)))
                else:
                    run.clear(name, text_of(key))
        return fires

    return trigger


steps = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.dictionaries(st.sampled_from(NAMES), st.sampled_from((20, 29, 31, 40)), max_size=2),
        st.lists(
            st.sampled_from(("a near b", "b near a", "c near a", "a near c", "b a Stop")),
            max_size=2,
        ).map(tuple),
        st.sampled_from(("", "", "a", "b")),
        st.sampled_from(("", "", "lost")),
    ),
    min_size=6,
    max_size=16,
)


def outcomes(stage: Play, stream: Sequence[Step]) -> list[Any]:
    """What becomes of each message, and what is remembered after it."""
    time, found = 0, []
    for step, values, toggled, leaver, fate in stream:
        time += step
        known = stage.window()
        about = {f"{leaver} {t.split(' ', 1)[1]}" for t in known if t.startswith(f"{leaver} ")}
        said_now = {said(*each) for each in values.items()}
        replaced = {t for t in known if t.split(" ")[1] == "v" and t[0] in values}
        toggling = {t for t in toggled if t[0] != leaver}
        result = stage.say(
            *sorted({t for t in said_now if t[0] != leaver} - known | toggling - known),
            remove=sorted(replaced - said_now - about | toggling & known),
            depart={leaver: [t.split(" ", 1)[1] for t in sorted(about)]} if leaver else None,
            time=time,
            lost=fate == "lost",
        )
        cleared = sorted((each.key, each.place) for each in result.cleared)
        held = {rule: dict(each) for rule, each in stage.memory.held.items()}
        found.append((sorted(alert.text for alert in result.alerts), cleared, held))
    return found


NEARBY = "select { SELECT ?x ?y { ?x :v ?v OPTIONAL { ?x :near ?y } FILTER(?v > 30) } }"
TAKEN_BACK = (
    f'rule r when {NEARBY} becomes true for "4" until ask {{ ASK {{ ?x a :Stop }} }}\n{ALERT}',
    [
        (0, {"a": 31}, ("a near b",), "", ""),
        (0, {"a": 20}, (), "", "lost"),
        (0, {}, (), "b", ""),
        (0, {}, ("b near a",), "", ""),
    ],
)


@settings(max_examples=30)
@given(text=st.sampled_from(RULES), stream=steps)
# A solution that a message ended which was taken back, and that an individual leaves then.
@example(*TAKEN_BACK)
def test_only_changes_are_looked_at(text: str, stream: list[Step]) -> None:
    followed, defined = Play(text + STOPS), Play(text + STOPS)
    length = 4 if "for" in text else 0
    rules = (replace(defined.rules[0], trigger=naive(defined.rules[0], length)), defined.rules[1])
    defined.rules = rules
    assert outcomes(followed, stream) == outcomes(defined, stream)
    edge = followed.rules[0].edge
    assert edge is not None
    assert edge.begins.query is not None
    evaluator = followed.host.evaluator
    assert isinstance(evaluator, ConditionEvaluator)
    assert evaluator.follow(edge.begins.query, edge.end_query, has_end=True) is not None


def test_what_ended_in_a_message_that_was_taken_back_goes_on() -> None:
    stage = Play(f"rule r when {HOT} becomes true until {COLD} {ALERT}")
    assert len(stage.say("a p y", said("a", 31)).alerts) == 1
    stage.say(remove=[said("a", 31)])
    stage.say("x p y")
    assert stage.say(depart={"a": ["p y"]}, lost=True).cleared != ()
    stage.say("x p z")
    assert [each.key for each in stage.say(said("a", 20)).cleared] == [f"{E}a"]


def test_what_one_has_left_begins_anew_if_it_holds_yet() -> None:
    stage = Play(f"rule r when {NEAR} becomes true until exists :Stop {ALERT}")
    assert len(stage.say("a near b", "b p y").alerts) == 1
    result = stage.say(depart={"b": ["p y"]})
    assert (result.alerts, len(result.cleared)) == ((), 1)
    assert [len(stage.say(f"c p y{n}").alerts) for n in range(2)] == [1, 0]


def test_an_end_of_all_ends_all() -> None:
    stage = Play(f"rule r when {HOT} becomes true until exists :Stop {ALERT}")
    assert len(stage.say(said("a", 31), said("b", 31)).alerts) == 2
    assert len(stage.say("z a Stop", lost=True).cleared) == 2
    assert len(stage.say("z a Stop").cleared) == 2
    assert stage.say(said("c", 31)).alerts == ()
    assert len(stage.say(remove=["z a Stop"]).alerts) == 3


@pytest.mark.parametrize(
    ("begins", "until", "reason"),
    [
        (HOT, "ask { ASK { ?x :since ?t FILTER(?now - ?t > 5) } }", "it reads ?now"),
        (LOOSE, "ask { ASK { ?y a :Stop } }", "?y may have no value when its end is looked for"),
        (MANY, "ask { ASK { ?z :v ?n } }", "?n may have no value when its end is looked for"),
        (
            HOT,
            "ask { ASK { { SELECT ?x { ?x :v ?v } ORDER BY ?v LIMIT 1 } } }",
            "a part with a scope of its own needs the values of each solution",
        ),
        (HOT, COLD, None),
    ],
)
def test_a_condition_that_cannot_be_followed_is_told(
    begins: str, until: str, reason: str | None
) -> None:
    stage = Play(f'rule r when {begins} becomes true until {until} then alert info "!"')
    told = [each.removeprefix(ANEW) for _, each in evaluated_anew(stage.rules)]
    assert told == ([] if reason is None else [reason])


def test_a_message_looks_at_what_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Play(f'rule r when {HOT} becomes true until {COLD} then alert info "!" key "{{?x}}"')
    looked: list[int] = []
    follow: Callable[..., Any] = stage.host.evaluator.follow
    stage.say(*(said(f"s{n}", 31) for n in range(100)))
    edge = stage.rules[0].edge
    assert edge is not None
    followed = follow(edge.begins.query, edge.end_query, has_end=True)
    look = followed.look

    def counted(*arguments: Any) -> Any:
        keys = look(*arguments)
        looked.append(len(keys))
        return keys

    class Counted:
        def __getattr__(self, name: str) -> Any:
            return counted if name == "look" else getattr(followed, name)

    monkeypatch.setattr(stage.host.evaluator, "follow", lambda *queries, has_end: Counted())
    stage.say("x p y")
    assert looked.pop() <= 100  # those that began are looked at once more
    for number in range(5):
        result = stage.say(said(f"s{number}", 20), remove=[said(f"s{number}", 31)])
        assert [each.key for each in result.cleared] == [f"{E}s{number}"]
        assert looked.pop() <= 2
