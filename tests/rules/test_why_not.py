"""Why a rule does not fire for an individual: the first part that leaves nothing, and how near."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sensorstream.language import parse
from sensorstream.model.events import Individual
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.rules.why_not import PresentState, WhyNot, why_not
from tests.rules.conftest import HEAD, E, Play

FACTS = (
    "ann a Human",
    "ann in kitchen",
    'ann age "29"^^<http://www.w3.org/2001/XMLSchema#integer>',
    'ann mark "007"^^<http://www.w3.org/2001/XMLSchema#integer>',
    "bob in hall",
    'bob age "12"^^<http://www.w3.org/2001/XMLSchema#integer>',
    "kitchen partOf house",
)


def asked(stage: Play, text: str, name: str, *, time: int = 0, variable: str = "") -> WhyNot:
    file = parse(HEAD + text, "test.rules")
    kb = stage.host.kb
    evaluator = ConditionEvaluator(kb)
    one = Individual(IRI(E + name), 1, 0, 0, 0, "m1")
    try:
        present = PresentState(kb, evaluator, time, Timeline.INTEGER, stage.memory, one)
        return why_not(
            file.semantic_rules[0], file, stage.rules[0], IRI(E + name), present, variable
        )
    finally:
        evaluator.close()


def why(text: str, name: str = "ann", *facts: str) -> WhyNot:
    stage = Play(text)
    stage.say(*(facts or FACTS))
    return asked(stage, text, name)


@pytest.mark.parametrize(
    ("condition", "text", "note"),
    [
        ("select { SELECT ?x { ?x a :Human ; :in :hall } }",
         "?x :in :hall", ":ann :in is :kitchen"),
        ("select { SELECT ?x { ?x a :Human ; :near ?y } }",
         "?x :near ?y", ":ann has no :near; it has a, :in, :age and 1 more"),
        ("select { SELECT ?x { ?x :mark 7 } }",
         '?x :mark "7"^^xsd:integer',
         ':ann has this value in another form, "007"^^<http://www.w3.org/2001/XMLSchema#integer>: '
         "compare values with FILTER"),
        ("select { SELECT ?x { ?x :age ?v FILTER(?v > 30) } }",
         "FILTER(?v > 30)", "?v is 29"),
        ("select { SELECT ?x { ?x :age ?v FILTER(?v > 20 && ?v * 2 > 60) } }",
         "FILTER((?v * 2) > 60)", "?v * 2 is 58"),
        ("select { SELECT ?x { ?x :in ?r FILTER NOT EXISTS { ?r :partOf ?h } } }",
         "FILTER(NOT EXISTS { ?r :partOf ?h . })",
         "there is: ?h = :house, ?r = :kitchen, ?x = :ann"),
        ("select { SELECT ?x { ?x :in ?r MINUS { ?r :partOf :house } } }",
         "MINUS { { ?r :partOf :house . } }", "there is: ?r = :kitchen, ?x = :ann"),
        ("select { SELECT ?x { ?x :in ?r . ?r :partOf ?h OPTIONAL { ?x :is ?s } "
         "FILTER(BOUND(?s)) } }", "FILTER(BOUND(?s))", "its variables have no value"),
        ("select { SELECT ?r { ?x :in ?r } GROUP BY ?r HAVING (COUNT(?x) > 1) }",
         "FILTER(COUNT(?x) > 1)", "COUNT(?x) is 1"),
        ("select { SELECT ?x { GRAPH <urn:sensorstream:window> "
         "{ ?x :in ?r . ?r :partOf :barn } } }",
         "?r :partOf :barn", ":kitchen :partOf is :house"),
        ("select { SELECT ?x { ?x :in ?r { SELECT ?r (COUNT(?p) AS ?n) { ?p :in ?r } GROUP BY ?r } "
         "FILTER(?n > 5) } }", "FILTER(?n > 5)", "?n is 1"),
        ("select { SELECT ?x { ?x :age ?v VALUES ?v { 1 2 } } }",
         '{ VALUES (?v) { ("1"^^xsd:integer) ("2"^^xsd:integer) } }', ""),
        # Such a condition is evaluated anew each time.
        ("select { SELECT ?x { ?x :age ?v FILTER(STRLEN(STRUUID()) > 2000) } }",
         "FILTER(STRLEN(STRUUID()) > 2000)", "STRLEN(STRUUID()) is 36"),
        ("exists :Dog", "exists :Dog", "it has 0 members"),
        ("count :Human > 4", "count :Human > 4", "it has 1 member"),
        ("not ask { ASK { ?x :in :kitchen } }",
         "not ask { ASK { ?x :in :kitchen } }", "there is: ?x = :ann"),
        ("select { SELECT ?x ?r { ?x :in ?r } } and ask { ASK { ?r :partOf :garden } }",
         "?r :partOf :garden", ":kitchen :partOf is :house"),
    ],
)  # fmt: skip
def test_the_first_part_that_leaves_nothing_is_told(condition: str, text: str, note: str) -> None:
    found = why(f'rule r on change if {condition} then alert info "seen"')
    assert not found.holds
    failed = next(each for each in found.steps if not each.held)
    assert (failed.text, failed.note) == (text, note)
    told = note or "nothing matches"
    assert found.answer.startswith(f"rule r does not fire for :ann: {text}: {told}")


def test_of_several_values_the_nearest_is_told() -> None:
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    found = why(
        'rule r on change if select { SELECT ?x { ?x :v ?v FILTER(?v > 30) } } then alert info ""',
        "ann",
        *(f'ann v "{n}"{integer}' for n in (2, 29, 11)),
    )
    pattern, kept = found.steps[1:]
    assert (pattern.solutions, pattern.held) == (3, True)
    assert kept.note == "?v is 29, the nearest of 3"


def test_both_sides_of_a_union_are_looked_at() -> None:
    found = why(
        "rule r on change if ask { ASK { ?x a :Human { ?x :in :hall } UNION { ?x :is :ill } } } "
        'then alert info "seen"'
    )
    assert [(each.text, each.held) for each in found.steps[1:]] == [
        ("?x a :Human", True),
        ("one of the sides of UNION", False),
        ("?x :in :hall", False),
        ("?x :is :ill", False),
    ]


def test_the_variable_that_gets_furthest_is_the_individual() -> None:
    text = (
        "rule r on change if select { SELECT ?a ?b { ?a :likes ?b . ?b a :Human ; :in :hall } } "
        'then alert info "seen"'
    )
    found = why(text, "ann", *FACTS, "bob likes ann")
    assert found.variable == "b"
    stage = Play(text)
    stage.say(*FACTS)
    assert asked(stage, text, "ann", variable="a").variable == "a"


def test_a_trigger_tells_what_the_individual_is() -> None:
    found = why('rule r on insert :Dog as ?x then alert info "{?x}"')
    assert found.answer.endswith("in the window since 0, last said by m1; it is :Human")
    found = why('rule r on expire :Human as ?x then alert info "{?x}"')
    assert found.answer.endswith("in the window since 0, last said by m1")
    found = why('rule r on insert :Human as ?x then alert info "{?x}"')
    assert found.holds
    assert "it was tried when the individual became a member, and not since" in found.answer


def test_what_is_remembered_keeps_a_rule_from_firing_again() -> None:
    when = (
        'rule r when select { SELECT ?x { ?x :in :kitchen } } becomes true%s then alert info "{?x}"'
    )
    stage = Play(when % "")
    stage.say(*FACTS, time=3)
    assert asked(stage, when % "", "ann", time=4).steps[-1].note == (
        "it has fired then, and does so again only after it has ended"
    )
    stage = Play(when % ' for "10"')
    stage.say(*FACTS, time=3)
    found = asked(stage, when % ' for "10"', "ann", time=4)
    assert found.steps[-1].text == "true since 3"
    assert found.steps[-1].note == "it fires at 13, if it holds until then"
    text = 'rule r on message if exists :Human then alert info "seen" for "10"'
    stage = Play(text)
    stage.say(*FACTS, time=3)
    text_of_ann = text.replace('"seen"', '"{?x}"').replace(
        "exists :Human", "select { SELECT ?x { ?x a :Human } }"
    )
    stage = Play(text_of_ann)
    stage.say(*FACTS, time=3)
    found = asked(stage, text_of_ann, "ann", time=4)
    assert found.steps[-1].note == f"the alert '{E}ann' is held back until 13"


_NAMES = st.sampled_from(["a", "b", "c"])
_PARTS = st.tuples(
    st.sampled_from(["?x", "?y", "?z", ":a"]),
    st.sampled_from([":p", ":q"]),
    st.sampled_from(["?x", "?y", "?z", ":b"]),
)
_BLOCK = st.lists(_PARTS, min_size=1, max_size=2).map(
    lambda parts: " . ".join(" ".join(part) for part in parts)
)


def _more(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.builds("{{ {} }} UNION {{ {} }}".format, inner, inner)
        | st.builds("{} OPTIONAL {{ {} }}".format, inner, inner)
        | st.builds("{} FILTER NOT EXISTS {{ {} }}".format, inner, _BLOCK)
        | st.builds("{} MINUS {{ {} }}".format, inner, _BLOCK)
        | st.builds("{} FILTER(?x != :b && ?y = :a)".format, inner)
        | st.builds("{{ {} }} {{ {} }}".format, inner, inner)
    )


@settings(max_examples=60)
@given(
    st.frozensets(st.tuples(_NAMES, st.sampled_from(["p", "q"]), _NAMES), min_size=1),
    st.recursive(_BLOCK, _more, max_leaves=3),
)
# A MINUS whose sides share no variable removes nothing, whatever the individual.
@example(frozenset({("a", "p", "a")}), "?x :p ?x MINUS { ?y :p ?y }")
# The individual's value must not come into an OPTIONAL: it finds another one.
@example(
    frozenset({("a", "p", "c"), ("b", "p", "b")}),
    "{ ?x :p ?x } UNION { ?y :p ?y OPTIONAL { ?x :p ?x } }",
)
def test_the_steps_end_where_a_rule_has_no_solution(
    facts: frozenset[tuple[str, str, str]], where: str
) -> None:
    text = f"rule r on message if select {{ SELECT ?x {{ ?x :p ?any . {where} }} }} " + (
        'then alert info "{?x}"'
    )
    stage = Play(text)
    alerts = stage.say(*(" ".join(fact) for fact in sorted(facts))).alerts
    fired = {alert.text.removeprefix(E) for alert in alerts}
    for name in "abc":
        found = asked(stage, text, name, variable="x")
        assert found.holds is (name in fired)
        ends = [number for number, each in enumerate(found.steps) if not each.held]
        assert bool(ends) is not found.holds
