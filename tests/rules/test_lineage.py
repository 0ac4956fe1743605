"""The messages behind an alert: each statement has one that is named after its subject."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model.events import Alert
from tests.rules.conftest import Play

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


@settings(max_examples=60, deadline=None)
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
