from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from sensorstream.errors import RuleError
from sensorstream.kb.graph_index import Origin
from sensorstream.model import rdf
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.model.xsd import XSD
from tests.rules.test_queries import fault
from tests.rules.test_triggers import texts

Play: TypeAlias = Callable[..., Any]
E = "http://example.org/"
INTEGER = f"^^<{XSD}integer>"


# Alerts


def test_an_alert_carries_what_the_rule_says(play: Play) -> None:
    stage = play(
        "rule hot on message if select { SELECT ?r ?t { ?r :temp ?t } } "
        'then alert critical "{?t} degrees in {{{?r}}}" key "hot {?r}"'
    )
    (alert,) = stage.say('k temp "40.5"^^<http://www.w3.org/2001/XMLSchema#decimal>', time=7).alerts
    assert (alert.id, alert.rule, alert.kind) == ("m1-1", "hot", "rule")
    assert (alert.severity, alert.text) == ("critical", f"40.5 degrees in {{{E}k}}")
    assert (alert.key, alert.time, alert.message) == (f"hot {E}k", 7, "m1")


def test_the_same_alert_is_held_back_for_its_duration(play: Play) -> None:
    stage = play('rule r on message then alert info "now" key "k" for "10"')
    raised = [t for t in (0, 5, 9, 10, 15, 19, 20, 40) if texts(stage.say(time=t))]
    assert raised == [0, 10, 20, 40]


def test_alerts_with_different_keys_do_not_hold_each_other_back(play: Play) -> None:
    stage = play('rule r on insert :A as ?x then alert info "A" key "{?x}" for "10"')
    assert len(texts(stage.say("x a A", "y a A"))) == 2
    assert len(texts(stage.say("z a A"))) == 1


def test_without_a_duration_an_alert_is_raised_once_a_message(play: Play) -> None:
    stage = play('rule r on insert :A as ?x then alert info "some A"')
    assert texts(stage.say("x a A", "y a A")) == ["some A"]
    assert texts(stage.say("z a A")) == ["some A"]


def test_rules_do_not_share_keys(play: Play) -> None:
    stage = play(
        'rule r on message then alert info "one" key "k" '
        'rule s on message then alert info "two" key "k"'
    )
    assert texts(stage.say()) == ["one", "two"]


# Replies


def test_a_reply_is_xml_whatever_the_values_are(play: Play) -> None:
    stage = play(
        "rule r on message if select { SELECT ?n { ?x :name ?n } } "
        "then reply \"<say to='{?n}'>{?n} {new}</say>\""
    )
    (reply,) = stage.say('x name "a<b> & \'c\' \\"d\\""').replies
    assert reply == (
        "<say to='a&lt;b&gt; &amp; &#x27;c&#x27; &quot;d&quot;'>"
        "a&lt;b&gt; &amp; &#x27;c&#x27; &quot;d&quot; m1-1</say>"
    )


@pytest.mark.parametrize(
    "text", ["<a>", "plain", "<a/><b/>", "<a b='{new}>", "<{new}/>", "<a {new}='x'/>", "<a>{new}"]
)
def test_a_reply_that_is_no_xml_is_refused(play: Play, text: str) -> None:
    said = fault(play, f'rule r on message then reply "{text}"')
    assert said.startswith("test.rules:3:30: the reply is not well-formed XML")


# Individuals


def test_new_is_one_name_in_a_firing_and_another_in_the_next(play: Play) -> None:
    stage = play(
        "rule r on insert :A as ?x then "
        "insert individual :b-{new} a :B ; :of ?x . insert individual :c-{new} ; :with :b-{new} ."
    )
    stage.say("x a A", "y a A")
    assert {"b-m1-1 of x", "c-m1-1 with b-m1-1", "b-m1-2 of y", "c-m1-2 with b-m1-2"} <= (
        stage.window()
    )
    event = stage.host.applied[0][0]
    assert event is not None
    assert (event.message, event.time) == ("m1", 0)


def test_insert_adds_and_update_replaces(play: Play) -> None:
    adds = play("rule r on insert :A as ?x then insert individual :count ; :last ?x .")
    adds.say("x a A")
    adds.say("y a A")
    assert {"count last x", "count last y"} <= adds.window()
    replaces = play("rule r on insert :A as ?x then update individual :count ; :last ?x .")
    replaces.say("x a A")
    replaces.say("y a A")
    assert "count last x" not in replaces.window()
    assert "count last y" in replaces.window()


def test_values_get_the_datatype_written_or_their_own(play: Play) -> None:
    stage = play(
        "rule r on message if select { SELECT ?v { :x :v ?v } } then insert individual :y "
        '; :p 5, 1.5, 2e1, true, "t", "5"^^xsd:int, "hi {?v}"@en-GB, ?v, :z .'
    )
    stage.say(f'x v "7"{INTEGER}')
    found = {o for _, _, o in stage.host.kb.match(IRI(f"{E}y"), None, None)}
    assert found == {
        Literal("5", f"{XSD}integer"),
        Literal("1.5", f"{XSD}decimal"),
        Literal("2e1", f"{XSD}double"),
        Literal("true", f"{XSD}boolean"),
        Literal("t"),
        Literal("5", f"{XSD}int"),
        Literal("hi 7", language="en-gb"),
        Literal("7", f"{XSD}integer"),
        IRI(f"{E}z"),
    }


def test_a_value_without_binding_is_left_out_and_updates_nothing(play: Play) -> None:
    stage = play(
        "rule r on message if select { SELECT ?x ?v { ?x a :A OPTIONAL { ?x :v ?v } } } "
        'then update individual :y ; :last ?x ; :p ?v, "v{?v}" .'
    )
    stage.say("y p old", "x a A")
    assert stage.window() == {"y p old", "x a A", "y last x"}


def test_a_name_encodes_what_an_iri_cannot_hold(play: Play) -> None:
    stage = play(
        "rule r on message if select { SELECT ?n { :x :n ?n } } "
        "then insert individual :room-{?n} a :Room ."
    )
    stage.say('x n "1/ä b%"')
    assert "room-1%2Fä%20b%25 a Room" in stage.window()


def test_a_literal_is_no_individual(play: Play) -> None:
    stage = play(
        "rule r on message if select { SELECT ?n { :x :n ?n } } then insert individual ?n a :A ."
    )
    with pytest.raises(RuleError, match=r'rule r: found "five", expected the name') as caught:
        stage.say('x n "five"')
    assert str(caught.value.position) == "test.rules:3:79"


def test_a_value_must_suit_its_datatype(play: Play) -> None:
    said = fault(play, 'rule r on message then insert individual :x ; :p "a"^^xsd:integer .')
    assert said.startswith("test.rules:3:50: 'a' is not an xsd:integer")
    stage = play(
        "rule r on message if select { SELECT ?n { :x :n ?n } } "
        'then insert individual :y ; :p "{?n}"^^xsd:integer .'
    )
    with pytest.raises(RuleError, match="rule r: :p: 'five' is not an xsd:integer"):
        stage.say('x n "five"')


# Deletions


def test_deleting_an_individual_takes_all_it_says(play: Play) -> None:
    stage = play("rule r on insert :Gone as ?x then delete individual ?x .")
    stage.say("x a A", "x p y", "y p x")
    stage.say("x a Gone")
    assert stage.window() == {"y p x"}


def test_a_pattern_deletes_what_it_matches(play: Play) -> None:
    stage = play("rule r on insert :Reset as ?x then delete { ?s :of ?x ; :v ?v . }")
    stage.say("a of x", "a v one", "b of x", "c of y", "c v one")
    stage.say("x a Reset")
    assert stage.window() == {"b of x", "c of y", "c v one", "x a Reset"}


def test_a_number_is_deleted_however_it_was_written(play: Play) -> None:
    stage = play("rule r on insert :Reset as ?x then delete { ?s :v ?v }")
    stage.say(f'a v "007"{INTEGER}', f'a v "7"^^<{XSD}int>', f'a w "007"{INTEGER}')
    stage.say("x a Reset")
    assert stage.window() == {f'a w "007"{INTEGER}', "x a Reset"}


def test_what_is_static_or_inferred_stays_and_is_reported(play: Play) -> None:
    stage = play(
        "rule r on insert :Reset as ?x then delete { ?s a :Human } delete individual :earth ."
    )
    earth = IRI(f"{E}earth")
    stage.host.kb.add(Origin.STATIC, [(earth, rdf.TYPE, IRI(f"{E}Planet"))])
    stage.say("tom a Child")
    result = stage.say("x a Reset", "ann a Human")
    assert stage.window() == {"tom a Child", "x a Reset"}
    assert result.warnings == (
        f"rule r: <{E}tom> <{rdf.TYPE}> <{E}Human> is not in the window graph "
        "and cannot be deleted",
        f"rule r: <{E}earth> is not in the window and cannot be deleted",
    )


def test_what_a_round_deletes_and_inserts_stays(play: Play) -> None:
    stage = play(
        "rule r on insert :A as ?x then delete { ?x :p ?y } insert individual ?x ; :p :new ."
    )
    stage.say("x a A", "x p old", "x p new")
    assert stage.window() == {"x a A", "x p new"}


def test_a_blank_node_can_be_bound_and_deleted(play: Play) -> None:
    stage = play(
        "rule r on insert :Reset as ?x if select { SELECT ?n { :a :part ?n } } "
        "then delete { ?n ?p ?o }"
    )
    node = BlankNode("_:m1b1")
    told = (IRI(f"{E}a"), IRI(f"{E}part"), node), (node, IRI(f"{E}v"), Literal("1"))
    stage.host.kb.add(Origin.WINDOW, told)
    stage.say("x a Reset")
    assert told[0] in stage.host.kb
    assert told[1] not in stage.host.kb


# IRIs


def test_a_hole_alone_is_a_whole_iri(play: Play) -> None:
    stage = play(
        "rule r on message if select { SELECT ?v { :x :v ?v } } "
        "then insert individual :y ; :p <{?v}> ."
    )
    stage.say('x v "urn:a:b"')
    assert {o for _, _, o in stage.host.kb.match(IRI(f"{E}y"), None, None)} == {IRI("urn:a:b")}
    with pytest.raises(RuleError, match="'not one' is not an absolute IRI"):
        stage.say('x v "not one"')
