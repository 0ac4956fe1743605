"""Whole rules applied to whole messages."""

from __future__ import annotations

import pytest

from sensorstream.errors import LanguageError, MappingError
from sensorstream.language import parse
from sensorstream.mapping import MappedMessage, check, compile_mapping, parse_document
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Event, Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.model.timeline import Timeline
from sensorstream.model.xsd import XSD

T = "http://example.org/t#"
HEAD = f"prefix : <{T}>\nprefix xsd: <{XSD}>\n"
SCHEMA = Schema(
    classes=frozenset({IRI(f"{T}Human"), IRI(f"{T}Room"), IRI(f"{T}Place")}),
    object_properties=frozenset({IRI(f"{T}in"), IRI(f"{T}at")}),
    datatype_properties=frozenset({IRI(f"{T}x"), IRI(f"{T}speed"), IRI(f"{T}name")}),
    ranges_of={
        IRI(f"{T}x"): frozenset({IRI(xsd.INTEGER)}),
        IRI(f"{T}speed"): frozenset({IRI(xsd.DOUBLE)}),
    },
)
MESSAGE = """<Message time="5" room="hall">
  <person id="1" x="72" t="9"/>
  <person id="2" t="7"><name>Ada</name><name>Countess</name></person>
</Message>"""


def n(local: str) -> IRI:
    return IRI(T + local)


def number(text: str) -> Literal:
    return Literal(text, xsd.INTEGER)


def apply(
    rules: str, xml: str = MESSAGE, *, schema: Schema = SCHEMA, line: Timeline = Timeline.INTEGER
) -> MappedMessage:
    plan = compile_mapping([parse(HEAD + rules, "f")], schema, line)
    document = parse_document(xml.encode(), max_depth=9)
    return plan.apply(document, Message("m42", xml.encode(), received=100))


def event(rules: str, xml: str = MESSAGE) -> Event:
    (event,) = apply(rules, xml).events
    return event


def said(value: str, xml: str = MESSAGE) -> list[object]:
    """The objects that one property gets from a rule on the message's root."""
    rules = f"mapping m on message {{/Message}} then insert individual :i ; {value} ."
    return [o for event in apply(rules, xml).events for s, p, o in event.triples if s == n("i")]


def fails(rules: str, xml: str = MESSAGE) -> str:
    with pytest.raises(MappingError) as caught:
        apply(rules, xml)
    return str(caught.value)


def test_a_rule_inserts_an_individual_with_its_class_and_values() -> None:
    mapped = apply(
        """mapping m on message {/Message} for each $p in {person[@x]}
        then insert individual :human-{$p/@id} a :Human at {@time} ; :x {$p/@x} ; :in :room ."""
    )
    human = n("human-1")
    assert mapped == MappedMessage(
        matched=("m",),
        events=(
            Event(
                (
                    (human, rdf.TYPE, n("Human")),
                    (human, n("x"), number("72")),
                    (human, n("in"), n("room")),
                ),
                time=5,
                message="m42",
            ),
        ),
        individuals=(human,),
    )


def test_without_a_time_the_time_of_arrival_stands_in() -> None:
    assert event("mapping m on message {/Message} then insert individual :i a :Human .").time == 100


def test_there_is_one_event_for_each_time_in_time_order() -> None:
    mapped = apply(
        """mapping m on message {/Message} for each $p in {person}
        then insert individual :h-{$p/@id} a :Human at {$p/@t} .
             insert individual :room a :Room at {$p/@t} ."""
    )
    assert [(e.time, {s for s, _, _ in e.triples}) for e in mapped.events] == [
        (7, {n("h-2"), n("room")}),
        (9, {n("h-1"), n("room")}),
    ]
    assert mapped.individuals == (n("h-1"), n("room"), n("h-2"))


def test_a_time_on_the_date_time_line_is_read_as_one() -> None:
    rules = "mapping m on message {/a} then insert individual :i a :Human at {@t} ."
    xml = '<a t="1970-01-01T00:00:01Z"/>'
    (event,) = apply(rules, xml, line=Timeline.DATETIME).events
    assert event.time == 1_000_000


def test_an_individual_of_several_rules_and_loops_is_merged() -> None:
    rules = """
    mapping one on message {/Message} for each $p in {person}
    then insert individual :group a :Human ; :name {$p/@id} .
    mapping two on message {//person[1]} then insert individual :group a :Human ; :x {@x} .
    """
    group = n("group")
    assert event(rules).triples == (
        (group, rdf.TYPE, n("Human")),
        (group, n("name"), Literal("1")),
        (group, n("name"), Literal("2")),
        (group, n("x"), number("72")),
    )
    assert apply(rules).matched == ("one", "two")


def test_a_rule_applies_to_every_node_its_path_finds() -> None:
    rules = "mapping m on message {//person} then insert individual :h-{@id} a :Human ."
    assert apply(rules).individuals == (n("h-1"), n("h-2"))


def test_loops_nest() -> None:
    rules = """mapping m on message {/Message}
    for each $p in {person} for each $n in {$p/name}
    then insert individual :h-{$p/@id} ; :name {$n} ."""
    assert [o for _, _, o in event(rules).triples] == [Literal("Ada"), Literal("Countess")]


def test_a_loop_over_attributes_binds_their_texts() -> None:
    rules = """mapping m on message {/Message} for each $id in {person/@id}
    then insert individual :h-{$id} ; :name "nr {$id}" ."""
    assert [o for _, _, o in event(rules).triples] == [Literal("nr 1"), Literal("nr 2")]


def test_a_rule_whose_condition_fails_has_matched_but_says_nothing() -> None:
    mapped = apply(
        """mapping m on message {/Message} for each $p in {person}
        if {$p/@x > 10} and {$p/@x < 50} then insert individual :h-{$p/@id} a :Human ."""
    )
    assert mapped == MappedMessage(matched=("m",), events=(), individuals=())


def test_each_turn_of_a_loop_is_guarded_by_itself() -> None:
    mapped = apply(
        """mapping m on message {/Message} for each $p in {person}
        if {$p/@x} then insert individual :h-{$p/@id} a :Human ; :name {$p/@id} ."""
    )
    assert mapped.individuals == (n("h-1"),)


def test_an_update_replaces_the_properties_that_have_a_value() -> None:
    update = event(
        """mapping m on message {/Message}
        then update individual :room a :Room ; :name {@room} ; :x {@none} ."""
    )
    assert update.triples == (
        (n("room"), rdf.TYPE, n("Room")),
        (n("room"), n("name"), Literal("hall")),
    )
    assert update.replaces == {(n("room"), n("name"))}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (":x {@time}", [number("5")]),
        (":speed {@time}", [Literal("5", xsd.DOUBLE)]),
        (":name {@time}", [Literal("5")]),
        (":name {@time}^^xsd:integer", [number("5")]),
        (":name {@room}@en", [Literal("hall", language="en")]),
        (":name {person/name}", [Literal("Ada"), Literal("Countess")]),
        (':name "the {@room}"', [Literal("the hall")]),
        (':name "{person/name}!"', [Literal("Ada!"), Literal("Countess!")]),
        (':name "{@room} {@time}, {{x}}"@en', [Literal("hall 5, {x}", language="en")]),
        (':name "{@room} {@none}"', []),
        (":x 5, 6", [number("5"), number("6")]),
        (":speed 5", [Literal("5", xsd.DOUBLE)]),
        (":name {@none}", []),
        (":x {@time * 2}", [number("10")]),
        (":in :room-{@room}, :other", [n("room-hall"), n("other")]),
        (":in :h-{person/@id}", [n("h-1"), n("h-2")]),
        (":in <http://e/{@room}/{@time}>", [IRI("http://e/hall/5")]),
        (":in :room-{@none}", []),
    ],
)
def test_a_value_becomes_terms(value: str, found: list[object]) -> None:
    assert said(value) == found


def test_a_number_without_a_range_keeps_its_own_datatype() -> None:
    assert [kind.rpartition("#")[2] for kind in _kinds(":name 5, 5.5, true")] == [
        "integer",
        "decimal",
        "boolean",
    ]


def _kinds(value: str) -> list[str]:
    return [o.datatype for o in said(value) if isinstance(o, Literal)]


def test_white_space_around_a_value_is_cut_and_nothing_else_is_missing() -> None:
    assert said(":x {a} ; :name {b}", "<Message><a> 72\n</a><b>\n </b></Message>") == [number("72")]


def test_what_goes_into_an_iri_is_percent_encoded() -> None:
    assert said(":in :room-{@r}", '<Message r="A 1/2"/>') == [n("room-A%201%2F2")]


def test_a_blank_node_has_a_label_of_its_message() -> None:
    rules = """mapping m on message {/Message} for each $p in {person}
    then insert individual :h-{$p/@id} ; :at [ a :Place ; :x {$p/@x} ] , [ a :Room ] ."""
    one, two, three = (BlankNode(f"_:m42b{i}") for i in (1, 2, 4))
    assert event(rules).triples == (
        (one, n("x"), number("72")),
        (one, rdf.TYPE, n("Place")),
        (n("h-1"), n("at"), one),
        (two, rdf.TYPE, n("Room")),
        (n("h-1"), n("at"), two),
        # The place of the second person is unknown, so there is no node for it.
        (three, rdf.TYPE, n("Room")),
        (n("h-2"), n("at"), three),
    )


def test_mapping_a_message_twice_gives_equal_events() -> None:
    rules = "mapping m on message {/Message} then insert individual :i ; :at [ a :Place ] ."
    assert apply(rules) == apply(rules)


def test_names_in_a_namespace_are_found_by_the_prefix_of_the_rules() -> None:
    rules = """xmlns q = "urn:m"
    mapping m on message {/q:a[@q:k='1']} for each $b in {q:b}
    then insert individual :i a :Human ; :x {$b/q:c/@q:v} ; :name {@q:k} ."""
    xml = '<x:a xmlns:x="urn:m" x:k="1"><x:b><x:c x:v="3"/></x:b></x:a>'
    assert [o for _, _, o in event(rules, xml).triples] == [n("Human"), number("3"), Literal("1")]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/a | /Message", True),
        ("/Message[@time=5]", True),
        ("//person", True),
        ("person", True),
        ("@room", True),
        ("/Message/person/@id", True),
        ("/person", False),
        ("/q:Message", False),
    ],
)
def test_a_message_path_is_any_path(path: str, found: bool) -> None:
    rules = (
        f'xmlns q = "urn:m"\nmapping m on message {{{path}}} then insert individual :i a :Human .'
    )
    assert bool(apply(rules).matched) is found


RULE = "mapping m on message {/Message} for each $p in {person} then\n"


@pytest.mark.parametrize(
    ("said", "place", "message"),
    [
        (":h-{$p/@x} a :Human", (23, "{$p/@x}", 3), "found nothing, expected an individual's name"),
        (":h-{person/@id} a :Human", (23, "{person/@id}", 2), "found 2 values, expected an"),
        (":i a :Human at {$p/@x}", (35, "{$p/@x}", 3), "found nothing, expected a time"),
        (":i a :Human at {@room}", (35, "{@room}", 1), "'hall' is not an xsd:integer: expected"),
        (":i ; :x {$p/name}", (28, "{$p/name}", 3), ":x: 'Ada' is not an xsd:integer: expected"),
        (':i ; :x "a{$p/@id}"', (30, "{$p/@id}", 2), ":x: 'a1' is not an xsd:integer: expected"),
        (':i ; :name "{$p/@id} {$p/name}"', (41, "{$p/name}", 3), "found 2 values, expected one"),
    ],
)
def test_a_missing_or_invalid_value_names_rule_xpath_value_and_line(
    said: str, place: tuple[int, str, int], message: str
) -> None:
    column, xpath, line = place
    assert fails(f"{RULE}insert individual {said} .").startswith(
        f"f:4:{column}: rule m, {xpath}, message line {line}: {message}"
    )


def test_an_xpath_that_fails_on_this_message_is_an_error_of_the_message() -> None:
    rules = """mapping m on message {/Message} for each $id in {person/@id}
    then insert individual :i ; :name {$id/name} ."""
    assert fails(rules).startswith(
        "f:4:40: rule m, {$id/name}, message line 1: not possible on this message: Inv"
    )


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("{/a[} then insert individual :i a :Human", "26: not XPath 1.0"),
        ("{1 + 1} then insert individual :i a :Human", "23: '1 + 1' find"),
        (
            "{/a} for each $x in {$y/b} then insert individual :i a :Human",
            "43: unknown variable $y: expected none is bound here",
        ),
        ("{/a} if {$x} then insert individual :i a :Human", "31: unknown variable $x"),
        (
            "{/a} then insert individual :i-{n:x} a :Human",
            "54: undeclared XML namespace prefix 'n'",
        ),
        ("{/a} then insert individual :i ; :in [ :x {bad()} ]", "65: unknown function bad()"),
        ("{/a} then insert individual :i ; :x 1.5", "58: '1.5' is not an xsd:integer"),
        (
            '{/a} then insert individual :i ; :name "x"@longerthaneight',
            "61: 'longerthaneight' is not a language tag",
        ),
        ("{/a} then insert individual :i a :Humam", "55: unknown class"),
    ],
)
def test_a_fault_is_found_before_any_message(rule: str, message: str) -> None:
    file, message = parse(f"{HEAD}mapping m on message {rule} .", "f"), f"f:3:{message}"
    assert [str(fault)[: len(message)] for fault in check([file], SCHEMA)] == [message]
    with pytest.raises(LanguageError) as caught:
        compile_mapping([file], SCHEMA, Timeline.INTEGER)
    assert str(caught.value).startswith(message)


def test_all_faults_are_listed_in_the_order_of_the_text() -> None:
    one = parse(
        HEAD + "mapping m on message {/a} then insert individual :i ; :z {$q}, {f()} .", "f"
    )
    two = parse("prefix : <urn:>\nmapping m on message {[} then insert individual :i a :Q .", "g")
    places = [str(fault).partition(": ")[0] for fault in check([two, one], SCHEMA)]
    assert places == ["f:3:9", "f:3:55", "f:3:59", "f:3:65", "g:2:23", "g:2:54"]


READINGS = "mapping m on message {/M} for each $r in {r} then"


@pytest.mark.parametrize(
    ("verb", "said", "attributes", "told"),
    [
        ("update", "; :x {$r/@x}", ("s='1' x='3'", "s='1' x='4'"), True),
        ("update", "; :x {$r/@x}", ("s='1' x='3'", "s='1' x='3'"), False),
        ("update", "; :x {$r/@x}", ("s='1' x='3'", "s='2' x='4'"), False),
        ("insert", "; :x {$r/@x}", ("s='1' x='3'", "s='1' x='4'"), False),
        ("update", "at {$r/@t} ; :x {$r/@x}", ("s='1' x='3' t='1'", "s='1' x='4' t='2'"), False),
        ("update", "; :x {$r/@x} or skip individual", ("s='1' x='3'", "s='1' x='4'"), True),
        ("update", "; :x {$r/@x}, {$r/@y}", ("s='1' x='3' y='4'",), False),
    ],
)
def test_two_readings_of_one_individual_for_one_time_are_told(
    verb: str, said: str, attributes: tuple[str, ...], told: bool
) -> None:
    xml = f"<M>{''.join(f'<r {each}/>' for each in attributes)}</M>"
    mapped = apply(f"{READINGS} {verb} individual :s-{{$r/@s}} {said} .", xml)
    assert mapped.warnings == ()
    assert [each.partition(" is updated")[0] for each in mapped.notes] == [n("s-1")] * told
    if told:
        assert '2 values of http://example.org/t#x at once ("3"^^' in mapped.notes[0]
        assert len([t for t in mapped.events[0].triples if t[1] == n("x")]) == 2
