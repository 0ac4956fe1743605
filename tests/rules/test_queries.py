"""SPARQL conditions, evaluated on a real snapshot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from sensorstream.errors import LanguageError

Play: TypeAlias = Callable[..., Any]


def texts(result: Any) -> list[str]:
    return [alert.text.replace("http://example.org/", "") for alert in result.alerts]


def fault(play: Play, text: str) -> str:
    with pytest.raises(LanguageError) as caught:
        play(text)
    return str(caught.value)


def test_conditions_join_on_the_variables_they_share(play: Play) -> None:
    stage = play(
        "rule r on change if select { SELECT ?p ?r { ?p :in ?r } } "
        "and select { SELECT ?r ?s { ?r :floor ?s } } "
        'then alert info "{?p} {?r} {?s}"'
    )
    found = stage.say("ann in k", "bob in k", "eve in l", "k floor one", "k floor two", "m floor x")
    assert sorted(texts(found)) == ["ann k one", "ann k two", "bob k one", "bob k two"]


def test_conditions_without_a_shared_variable_give_every_pair(play: Play) -> None:
    stage = play(
        "rule r on message if select { SELECT ?a { ?a a :A } } "
        'and select { SELECT ?b { ?b a :B } } then alert info "{?a} {?b}"'
    )
    found = stage.say("a1 a A", "a2 a A", "b1 a B", "b2 a B")
    assert sorted(texts(found)) == ["a1 b1", "a1 b2", "a2 b1", "a2 b2"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?r { ?h :in ?r }",
        "select distinct ?r { ?h :in ?r }",
        "SELECT ?r ?h { ?h :in ?r }",
        "SELECT * { ?h :in ?r }",
        "SELECT * { ?x :in ?r FILTER(?x = ?h) }",
        "SELECT * { ?x :in ?r FILTER NOT EXISTS { ?x :in ?r . FILTER(?x != ?h) } }",
        "# where?\nPREFIX e: <http://example.org/> SELECT(?q AS ?r) { ?h e:in ?q }",
        "SELECT $r { $h :in $r } ORDER BY $r LIMIT 1",
        "SELECT ?h (SAMPLE(?q) AS ?r) { ?h :in ?q } GROUP BY ?h",
    ],
)
def test_a_trigger_s_variable_means_the_same_inside(play: Play, query: str) -> None:
    stage = play(
        f'rule r on insert :Human as ?h if select {{ {query} }} then alert info "{{?h}} {{?r}}"'
    )
    stage.say("old a Human", "old in cellar")
    assert texts(stage.say("ann a Human", "ann in k", "bob in l")) == ["ann k"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("ask { ASK { ?h :in :k } }", ["ann"]),
        ("not ask { ASK { ?h :in :k } }", ["bob"]),
        ("ask { ASK { FILTER NOT EXISTS { ?h :in :k } } }", ["bob"]),
        ("ask { PREFIX e: <http://example.org/> # k\nask WHERE { $h e:in e:k } }", ["ann"]),
        ("not select { SELECT ?x { ?h :in :k ; :in ?x } }", ["bob"]),
        ("ask { ASK { :ann :in :k } }", ["ann", "bob"]),
        ("not ask { ASK { :ann :in :k } }", []),
        ("ask { ASK { ?h :in ?r } } and not ask { ASK { ?h :in :l } }", ["ann"]),
    ],
)
def test_ask_and_not_filter(play: Play, condition: str, expected: list[str]) -> None:
    stage = play(f'rule r on insert :Human as ?h if {condition} then alert info "{{?h}}"')
    assert texts(stage.say("ann a Human", "ann in k", "bob a Human", "bob in l")) == expected


def test_counts_compare(play: Play) -> None:
    rules = "".join(
        f"rule r{n} on message if count :Human {test} then alert info '{test}'".replace("'", '"')
        for n, test in enumerate(["= 2", "!= 2", "< 2", "<= 2", "> 1", ">= 3"])
    )
    assert texts(play(rules).say("ann a Human", "bob a Child")) == ["= 2", "<= 2", "> 1"]
    negated = 'rule r on message if not count :Human > 1 then alert info "few"'
    assert texts(play(negated).say("ann a Human")) == ["few"]


def test_the_graphs_can_be_told_apart(play: Play) -> None:
    stage = play(
        "rule r on message if select { SELECT ?x "
        "{ GRAPH <urn:sensorstream:inferred> { ?x a :Human } } } "
        'then alert info "{?x}"'
    )
    assert texts(stage.say("ann a Human", "tom a Child")) == ["tom"]


def test_an_optional_variable_without_a_value_joins_with_any(play: Play) -> None:
    stage = play(
        "rule r on message if select { SELECT ?x ?y { ?x a :A OPTIONAL { ?x :p ?y } } } "
        'and select { SELECT ?y { ?y a :B } } then alert info "{?x} {?y}"'
    )
    found = texts(stage.say("x1 a A", "x2 a A", "x2 p b2", "b1 a B", "b2 a B"))
    assert sorted(found) == ["x1 b1", "x1 b2", "x2 b2"]


def test_a_grouping_must_name_the_variable_it_shares(play: Play) -> None:
    said = fault(
        play,
        "rule r on insert :Room as ?r\n"
        "if select { SELECT (COUNT(*) AS ?n) { ?p :in ?r } }\n"
        'then alert info "{?n}"',
    )
    assert said.startswith("test.rules:4:13: ?r has a value from before")
    assert "GROUP BY" in said


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("select {\n  SELECT ?x\n  { ?x :p } }", "test.rules:6:11: unexpected '}': expected"),
        ("ask { ASK { ?x foo:p 1 } }", "test.rules:4:16: the prefix of 'foo:p'"),
        ("select { ASK { ?x :p 1 } }", "test.rules:4:10: not a SELECT"),
        ("ask { SELECT ?x { ?x :p 1 } }", "test.rules:4:7: not an ASK"),
        ("ask { CONSTRUCT WHERE { ?x :p 1 } }", "test.rules:4:7: not an ASK"),
        ("ask { ASK { SERVICE <http://h/> { ?x :p 1 } } }", "test.rules:4:13: SERVICE"),
        ("ask { ASK AT 5 { ?x :p 1 } }", 'test.rules:4:11: AT "5": only history knows'),
        (
            "select { DELETE WHERE { ?x :p 1 } }",
            "test.rules:4:10: unexpected 'DELETE': expected ASK, BASE, CONSTRUCT, DESCRIBE,",
        ),
    ],
)
def test_a_fault_in_sparql_has_its_place_in_the_file(play: Play, condition: str, said: str) -> None:
    rule = f'rule r on change if\n{condition}\nthen alert info "x"'
    assert fault(play, rule).startswith(said)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("ask { ASK FROM <urn:x> { ?x :p 1 } }", "4:16: FROM: there is no graph <urn:x>"),
        (
            "ask { ASK FROM NAMED <urn:x> { GRAPH ?g { ?x :p 1 } } }",
            "4:22: FROM NAMED: there is no graph <urn:x>",
        ),
        ("ask { ASK { GRAPH <urn:x> { ?x :p 1 } } }", "4:19: GRAPH: there is no graph <urn:x>"),
        ("select { DESCRIBE ?x { ?x :p 1 } }", "4:10: not a SELECT"),
        ("ask { ASK { ?x <p> 1 } }", "4:16: <p> is a relative IRI"),
        ("ask { REGISTER QUERY q AS ASK { } }", "4:7: REGISTER belongs to a continuous query"),
        (
            "ask { ASK FROM NAMED WINDOW :w ON :s [RANGE 5s] { WINDOW :w { ?x :p 1 } } }",
            "4:29: FROM NAMED WINDOW belongs to a continuous query",
        ),
        ("ask { ASK REPORT ON CHANGE { ?x :p 1 } }", "REPORT belongs to a continuous query"),
        ("ask { ASK { { ?x :p 1 } SEQ { ?x :p 2 } } }", "SEQ belongs to a continuous query"),
        (f"ask {{ ASK {'{' * 201}{'}' * 201} }}", "4:211: the text is nested too deeply"),
        (
            "ask { ASK { ?x :p 1 FILTER(<urn:f>(?x)) } }",
            "4:7: <urn:f>(): there is no such function",
        ),
    ],
)
def test_what_a_rule_cannot_ask_is_refused_where_it_stands(
    play: Play, condition: str, said: str
) -> None:
    assert said in fault(play, f'rule r on change if\n{condition}\nthen alert info "x"')


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT ?x FROM <urn:sensorstream:inferred> { ?x a :Human }", ["tom"]),
        ("SELECT ?x FROM <urn:sensorstream:window> { ?x a :Human }", ["ann"]),
        ("SELECT ?x FROM NAMED <urn:sensorstream:inferred> { GRAPH ?g { ?x a :Human } }", ["tom"]),
        ("SELECT ?x FROM NAMED <urn:sensorstream:inferred> { ?x a :Human }", []),
        (
            "SELECT ?x FROM <urn:sensorstream:window> FROM <urn:sensorstream:inferred> "
            "{ ?x a :Human }",
            ["ann", "tom"],
        ),
    ],
)
def test_a_condition_may_name_its_graphs(play: Play, query: str, expected: list[str]) -> None:
    stage = play(f'rule r on message if select {{ {query} }} then alert info "{{?x}}"')
    assert sorted(texts(stage.say("ann a Human", "tom a Child"))) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("ask { ASK { ?x :in ?r } HAVING (COUNT(?x) > 1) }", ["go"]),
        ("ask { ASK { ?x :in ?r } HAVING (COUNT(?x) > 2) }", []),
        ("ask { ASK { ?x :in ?r } GROUP BY ?r HAVING (COUNT(?x) > 1) }", []),
        ("ask { ASK { ?x :in ?r } LIMIT 0 }", []),
        ("ask { ASK { { SELECT ?x { ?x :in ?r } LIMIT 1 } } LIMIT 1 }", ["go"]),
        ("ask { ASK { VALUES ?x { :nobody } ?x :in ?r } }", []),
    ],
)
def test_an_ask_may_group_and_cut(play: Play, condition: str, expected: list[str]) -> None:
    stage = play(f'rule r on message if {condition} then alert info "go"')
    assert texts(stage.say("ann in k", "bob in l")) == expected


def test_an_unknown_variable_is_named_with_the_known_ones(play: Play) -> None:
    said = fault(
        play,
        'rule r on insert :A as ?x if select { SELECT ?y { ?x :p ?y } }\nthen alert info "{?z}"',
    )
    assert said == "test.rules:4:19: ?z has no value here: expected ?x or ?y"


def test_a_negated_select_binds_nothing(play: Play) -> None:
    rule = 'rule r on change if not select { SELECT ?x { ?x :p ?y } } then alert info "{?x}"'
    assert "?x has no value here" in fault(play, rule)
