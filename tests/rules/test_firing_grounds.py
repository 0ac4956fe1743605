"""What an alert stands on: each statement has a message that is named after its subject."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model import xsd
from sensorstream.model.events import Alert, Basis, RuleWait
from sensorstream.model.terms import IRI, Literal
from sensorstream.rules.firing_grounds import MOST_CHARACTERS, MOST_STATEMENTS
from tests.rules.conftest import E, Play, written

FACTS = (
    "ann a Human",
    "ann in kitchen",
    "bob in kitchen",
    "cid in hall",
    "kitchen partOf house",
    "hall partOf house",
    "dan a Child",
)


def behind(alerts: tuple[Alert, ...]) -> list[set[str]]:
    return [{each.removeprefix("m-") for each in alert.messages} for alert in alerts]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("if select { SELECT ?x { ?x a :Human ; :in ?r } }", [{"ann"}]),
        ("if select { SELECT ?x ?r { ?x :in ?r . ?r :partOf :house . ?x a :Human } }",
         [{"ann", "kitchen"}]),
        # What is inferred was caused by a message, too.
        ("if select { SELECT ?x { ?x a :Human, :Child } }", [{"dan"}]),
        # All that was counted.
        ("if select { SELECT ?r { ?x :in ?r } GROUP BY ?r HAVING (COUNT(?x) > 1) }",
         [{"ann", "bob"}]),
        ("if ask { ASK { ?x :in :hall } }", [{"cid"}]),
        # What must not be there has no message.
        ("if not ask { ASK { ?x :in :cellar } }", [set()]),
        ("if select { SELECT ?x { ?x :in ?r FILTER NOT EXISTS { ?x a :Human } "
         "MINUS { ?y :in :hall . ?x :in :hall } } }", [{"bob"}]),
        ("if select { SELECT ?x ?n { ?x a :Human OPTIONAL { ?x :in ?r . ?r :partOf ?n } "
         "FILTER (bound(?n)) } }", [{"ann", "kitchen"}]),
        ("if select { SELECT ?x { { ?x a :Child } UNION { ?x :in :hall } } }", [{"cid"}, {"dan"}]),
        ("if exists :Human", [{"ann", "dan"}]),
        # A value that a hidden variable of a sub-select has elsewhere means nothing there.
        ("if select { SELECT ?x { ?x :in :hall { SELECT ?r { ?r :partOf ?x } } "
         "FILTER (?r = :hall) } }", [{"cid", "hall", "kitchen"}]),
    ],
)  # fmt: skip
def test_an_alert_names_the_messages_of_what_its_conditions_matched(
    play: type[Play], conditions: str, expected: list[set[str]]
) -> None:
    selected = conditions.partition("{ SELECT ")[2].split()
    shown = f"{{{selected[0]}}}" if selected else ""
    stage = play(f'rule r on message {conditions} then alert info "seen {shown}"')
    alerts = stage.say(*FACTS).alerts
    assert sorted(map(sorted, behind(alerts))) == sorted(sorted({*each, "m1"}) for each in expected)


def test_an_alert_names_what_entered_and_what_left(play: type[Play]) -> None:
    stage = play(
        'rule came on insert :Human as ?x then alert info "{?x}"\n'
        'rule went on expire :Human as ?x then alert info "{?x}"'
    )
    (came,) = stage.say("ann a Human").alerts
    assert behind((came,)) == [{"ann", "m1"}]
    (went,) = stage.say(depart={"ann": ["a Human"]}).alerts
    assert behind((went,)) == [{"m0", "m2"}]


_NAMES = st.sampled_from(["a", "b", "c"])
_PARTS = st.tuples(
    st.sampled_from(["?x", "?y", "?z", ":a"]),
    st.sampled_from([":p", ":q"]),
    st.sampled_from(["?x", "?y", "?z", ":b"]),
)


@settings(max_examples=60)
@given(
    st.frozensets(st.tuples(_NAMES, st.sampled_from(["p", "q"]), _NAMES), min_size=1),
    st.lists(_PARTS, min_size=1, max_size=3),
)
def test_the_messages_are_those_of_the_triples_in_the_solutions(
    facts: frozenset[tuple[str, str, str]], parts: list[tuple[str, str, str]]
) -> None:
    names = sorted({t for part in parts for t in part if t.startswith("?")})
    where = " . ".join(" ".join(part) for part in parts)
    shown = " ".join(f"{{{name}}}" for name in names)
    query = f"SELECT {' '.join(names)} {{ {where} }}" if names else f"ASK {{ {where} }}"
    kind = "select" if names else "ask"
    stage = Play(f'rule r on message if {kind} {{ {query} }} then alert info "{shown}"')
    alerts = stage.say(*(" ".join(fact) for fact in sorted(facts))).alerts
    expected = []
    for values in itertools.product("abc", repeat=len(names)):
        known = dict(zip(names, values, strict=True))
        triples = [tuple(known.get(t, t.lstrip(":")) for t in part) for part in parts]
        if facts.issuperset(triples):
            expected.append(sorted({*(each[0] for each in triples), "m1"}))
    assert sorted(map(sorted, behind(alerts))) == sorted(expected)


def test_the_evidence_has_the_values_and_statements_of_the_firing(play: type[Play]) -> None:
    stage = play(
        'rule r on insert :Human as ?x if select { SELECT ?r { ?x :in ?r } } then alert info "{?x}"'
    )
    (alert,) = stage.say("ann a Child", "ann in kitchen", "bob in hall").alerts
    assert alert.evidence is not None
    ann, kitchen = IRI(f"{E}ann"), IRI(f"{E}kitchen")
    assert dict(alert.evidence.bindings) == {
        "now": Literal("0", xsd.INTEGER),
        "r": kitchen,
        "x": ann,
    }
    assert [(written(each.triple), each.basis) for each in alert.evidence.statements] == [
        ("ann a Human", Basis.INFERRED),
        ("ann in kitchen", Basis.SAID),
    ]
    assert {each.message for each in alert.evidence.statements} == {"m-ann"}
    assert alert.evidence.digest == stage.rules[0].lineage.digest
    assert alert.evidence.left_out == 0


def test_a_statement_of_a_rule_has_the_evidence_of_that_rule(play: type[Play]) -> None:
    stage = play(
        "rule first on insert :Human as ?x then sparql { INSERT DATA { :house :has ?x } }\n"
        "rule second on change if select { SELECT ?x ?h { ?h :has ?x } } "
        "then insert individual :{?x} a :Seen .\n"
        'rule third on change if select { SELECT ?y { ?y a :Seen } } then alert info "{?y}"'
    )
    (alert,) = stage.say("ann a Human").alerts
    chain = []
    evidence = alert.evidence
    while evidence is not None:
        (one,) = evidence.statements
        chain.append((one.triple[1:], one.basis, one.rule))
        evidence = one.because
    assert [each[1:] for each in chain] == [
        (Basis.RULE, "second"),
        (Basis.RULE, "first"),
        (Basis.SAID, ""),
    ]
    # The message that said what the first rule reacted to is behind the alert, too.
    assert "m-ann" in alert.messages


def test_what_another_message_said_before_a_rule_is_no_statement_of_the_rule(
    play: type[Play],
) -> None:
    stage = play(
        "rule again on change then sparql { INSERT DATA { :ann a :Human } }\n"
        'rule r on change if ask { ASK { ?x a :Human } } then alert info "seen"'
    )
    (alert,) = stage.say("ann a Human").alerts
    assert alert.evidence is not None
    assert [each.basis for each in alert.evidence.statements] == [Basis.SAID]


def test_an_evidence_has_a_largest_size(play: type[Play]) -> None:
    stage = play('rule r on message if exists :Human then alert info "seen"')
    facts = [f"p{n} a Human" for n in range(MOST_STATEMENTS + 30)]
    (alert,) = stage.say(*facts).alerts
    assert alert.evidence is not None
    assert len(alert.evidence.statements) == MOST_STATEMENTS
    assert alert.evidence.left_out == 30
    stage = play('rule r on message if select { SELECT ?v { ?x :says ?v } } then alert info "seen"')
    (alert,) = stage.say(f'ann says "{"x" * MOST_CHARACTERS}"').alerts
    assert alert.evidence is not None
    assert [name for name, _ in alert.evidence.bindings] == ["now"]
    assert (alert.evidence.statements, alert.evidence.left_out) == ((), 2)


def test_rules_of_one_digest_say_the_same(play: type[Play]) -> None:
    text = 'rule r on change if exists :Human then alert info "seen"'
    digest = play(text).rules[0].lineage.digest
    assert play(f"# said otherwise\n{text}").rules[0].lineage.digest == digest
    assert play(text.replace("Human", "Child")).rules[0].lineage.digest != digest
    assert play(f"base <http://b.example/>\n{text}").rules[0].lineage.digest != digest


def sinces(alerts: tuple[Alert, ...]) -> list[RuleWait | None]:
    return [each.evidence.since for each in alerts if each.evidence is not None]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from([None, 20, 31, 40])), max_size=12))
def test_an_alert_after_a_time_tells_since_when_its_condition_held(
    said: list[tuple[int, int | None]],
) -> None:
    stage = Play(
        "rule r when select { SELECT ?x { ?x :v ?v FILTER(?v > 30) } } becomes true "
        'for "4" then alert info "{?x}"'
    )
    time, before = 0, ""
    times: list[int] = []
    holds: list[bool] = []
    for step, value in said:
        time += step
        now = "" if value is None else f'ann v "{value}"^^<{xsd.INTEGER}>'
        gone = [before] if before and before != now else []
        alerts = stage.say(*([now] if now and now != before else []), remove=gone, time=time).alerts
        before = now
        first = len(times)
        while first and holds[first - 1]:
            first -= 1
        assert sinces(alerts) == [RuleWait(times[first]) for _ in alerts]
        times.append(time)
        holds.append(value is not None and value > 30)


def test_an_alert_of_silence_tells_who_spoke_last(play: type[Play]) -> None:
    stage = play('rule r on silence of :Sensor as ?x for "5" then alert info "{?x}"')
    stage.say("a a Sensor", time=1)
    stage.say("b a Sensor", time=2)
    assert sinces(stage.say("a a Sensor", time=6).alerts) == [RuleWait(1, "m-a")]
    # The message that is known is not the one at time 2.
    assert sinces(stage.say(time=7).alerts) == [RuleWait(2)]
    stage.say(depart={"a": ["a Sensor"]}, time=8)
    assert sinces(stage.say(time=11).alerts) == [RuleWait(6)]


def test_what_fires_at_once_has_not_waited(play: type[Play]) -> None:
    edge = 'rule r when select { SELECT ?x { ?x a :Human } } becomes true %s then alert info "{?x}"'
    assert sinces(play(edge % "").say("ann a Human", time=3).alerts) == [None]
    # ?last has no special meaning here.
    text = edge % 'for "2" if select { SELECT ?last { ?x :in ?last } }'
    stage = play(text)
    stage.say("ann a Human", "ann in kitchen", time=3)
    assert sinces(stage.say(time=5).alerts) == [RuleWait(3)]
