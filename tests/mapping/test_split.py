"""Documents that carry several messages."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from sensorstream.errors import LanguageError, MappingError
from sensorstream.language import parse
from sensorstream.mapping import MappedMessage, check, compile_mapping, parse_document
from sensorstream.mapping.document_parts import in_turn
from sensorstream.mapping.rml import compile_rml, read_rml
from sensorstream.mapping.rule_report import explain
from sensorstream.mapping.xml_document import Element
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal
from sensorstream.model.timeline import Timeline

T = "http://example.org/t#"
RULES = f"""prefix : <{T}>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
xmlns b = "urn:batch"
message each {{/b:Batch/Message}}
message each {{/Messages/Message}}
mapping m
on message {{/Message}}
for each $p in {{p}}
then insert individual :i-{{$p/@id}} at {{@time}}
  ; :x {{$p/@x}}^^xsd:integer ; :at [ :y {{@time}} ] .
"""
ONE = "<Message time='5'><p id='1' x='7'/></Message>"
TWO = "<Message time='3'>\n<p id='2' x='8'/></Message>"
BAD = "<Message time='4'><p id='3' x='9'/>\n<p id='4' x='many'/></Message>"


def apply(xml: str, rules: str = RULES) -> MappedMessage:
    plan = compile_mapping([parse(rules, "f")], Schema(), Timeline.INTEGER)
    document = parse_document(xml.encode(), max_depth=9)
    return plan.apply(document, Message("m1", xml.encode(), received=100, source="cam"))


def values(mapped: MappedMessage) -> list[tuple[int, str]]:
    return [
        (event.time, o.lexical)
        for event in mapped.events
        for _, p, o in event.triples
        if p == f"{T}x" and isinstance(o, Literal)
    ]


def test_every_message_of_a_document_is_mapped_as_if_it_came_alone() -> None:
    mapped = apply(f"<Messages>{ONE}{TWO}</Messages>")
    assert values(mapped) == [(3, "8"), (5, "7")]
    assert mapped.matched == ("m",)
    assert mapped.individuals == (IRI(f"{T}i-1"), IRI(f"{T}i-2"))
    assert mapped.warnings == ()
    assert all(event.message == "m1" and event.source == "cam" for event in mapped.events)
    alone = [apply(each).events[0] for each in (TWO, ONE)]
    for event, other in zip(mapped.events, alone, strict=True):
        assert event.time == other.time
        assert len(event.triples) == len(other.triples)


def test_their_blank_nodes_are_told_apart() -> None:
    mapped = apply(f"<Messages>{ONE}{TWO}</Messages>")
    nodes = {t[0] for event in mapped.events for t in event.triples if isinstance(t[0], BlankNode)}
    assert nodes == {BlankNode("_:m1b1"), BlankNode("_:m1b2")}


def test_messages_of_one_time_stay_events_of_their_own() -> None:
    mapped = apply(f"<Messages>{ONE}{ONE}</Messages>")
    assert [event.time for event in mapped.events] == [5, 5]


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("time='5'><p id='1' x='7'/>", "time='5'><p id='1' x='8'/>", True),
        ("time='5'><p id='1' x='7'/>", "time='5'><p id='1' x='7'/>", False),
        ("time='5'><p id='1' x='7'/>", "time='6'><p id='1' x='8'/>", False),
        ("time='5'><p id='1' x='7'/>", "time='5'><p id='2' x='8'/>", False),
    ],
)
def test_two_readings_of_one_individual_in_two_messages_of_a_document_are_told(
    first: str, second: str, told: bool
) -> None:
    xml = f"<Messages><Message {first}</Message>{TWO}<Message {second}</Message></Messages>"
    mapped = apply(xml, RULES.replace("insert", "update"))
    assert mapped.warnings == ()
    assert [each.partition(";")[0] for each in mapped.notes] == [
        f"message 3 of 3, at line 2: {T}i-1 was updated for the same time by message 1 already: of "
        f'{T}x, "8"^^<http://www.w3.org/2001/XMLSchema#integer> replaces '
        '"7"^^<http://www.w3.org/2001/XMLSchema#integer>'
    ] * told
    assert apply(xml).notes == ()


def test_a_message_keeps_the_namespaces_around_it() -> None:
    rules = RULES.replace("/b:Batch/Message", "/b:Batch/b:Message").replace(
        "{/Message}", "{/b:Message}"
    )
    xml = "<q:Batch xmlns:q='urn:batch'><q:Message time='1'><p id='1' x='7'/></q:Message></q:Batch>"
    assert values(apply(xml, rules)) == [(1, "7")]


def test_a_document_that_is_a_message_itself_is_taken_as_one() -> None:
    assert values(apply(ONE)) == [(5, "7")]


def test_a_bad_message_does_not_lose_the_good_ones() -> None:
    mapped = apply(f"<Messages>\n{ONE}\n{BAD}\n{TWO}<Message/>\n<Massage/></Messages>")
    assert values(mapped) == [(3, "8"), (5, "7")]
    assert mapped.individuals == (IRI(f"{T}i-1"), IRI(f"{T}i-2"))
    (warning,) = mapped.warnings
    assert warning.startswith(
        "message 2 of 4, at line 3: f:10:9: rule m, {$p/@x}, message line 4: :x: 'many' is not"
    )


def test_a_message_that_no_rule_matches_is_named() -> None:
    rules = RULES.replace("/Messages/Message", "/Messages/*")
    mapped = apply(f"<Messages>{ONE}\n<Massage/></Messages>", rules)
    assert values(mapped) == [(5, "7")]
    (warning,) = mapped.warnings
    assert warning == (
        "message 2 of 2, at line 2: no mapping rule matched: rule m is the nearest: it expects "
        "/Message, but there is no /Message: did you mean Massage?"
    )


def test_a_document_of_bad_messages_only_is_rejected_with_all_reasons() -> None:
    with pytest.raises(MappingError) as caught:
        apply(f"<Messages>{BAD}{BAD}</Messages>")
    assert "message 1 of 2, at line 1: f:10:9: rule m" in str(caught.value)
    assert "message 2 of 2, at line 2: f:10:9: rule m" in str(caught.value)


def test_a_document_of_strange_messages_only_is_unmatched() -> None:
    mapped = apply("<Messages><Massage/></Messages>", RULES.replace("s/Message}", "s/*}"))
    assert mapped.matched == ()
    assert mapped.hint.endswith("did you mean Massage?")
    assert mapped.warnings == ()


def test_the_path_is_checked_before_any_message() -> None:
    found = check(
        [parse("message each {/a[}\nmessage each {1}\nmessage each {/q:a}", "f")], Schema()
    )
    assert [str(each)[:30] for each in found] == [
        "f:1:18: not XPath 1.0: invalid",
        "f:2:15: '1' finds no nodes but",
        "f:3:16: undeclared XML namespa",
    ]
    with pytest.raises(LanguageError):
        compile_mapping([parse("message each {/a[}", "f")], Schema(), Timeline.INTEGER)


# The envelope

ENVELOPE = f"""prefix : <{T}>
message each {{/e/b/m}}
message each {{//n}}
mapping m
on message {{/m}}
for each $p in {{p | .}}
then insert individual :i-{{@id}}
  ; :head {{../h/@v}} ; :above {{$p/ancestor::e/@v}} ; :others {{count(ancestor::b/*)}}
  ; :own {{//p/@x}}, {{/m/@id}} ; :before {{preceding::h/@v}} ; :after {{following::f/@v}} .
"""
DOCUMENT = (
    "<e v='1'>t<b>u<h v='2'/>a<m id='a'><p x='5'/></m>b<m id='b'><p x='6'/></m>c<f v='3'/>d"
    "<m id='c'/>w</b>x<p x='9'/></e>"
)


def _elements(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda name, children: f"<{name}>{''.join(children)}</{name}>t",
        st.sampled_from(["a", "m"]),
        st.lists(inside, max_size=4),
    )


def said_of(mapped: MappedMessage) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for event in mapped.events:
        for s, p, o in event.triples:
            assert isinstance(o, Literal)
            of = found.setdefault(s.removeprefix(f"{T}i-"), {})
            of.setdefault(p.removeprefix(T), []).append(o.lexical)
    return found


def test_a_message_stands_in_its_envelope_without_the_others() -> None:
    mapped = apply(DOCUMENT, ENVELOPE)
    assert mapped.warnings == ()
    around = {"head": ["2"], "above": ["1"], "others": ["3"], "before": ["2"]}
    assert said_of(mapped) == {
        "a": {**around, "own": ["5", "a"], "after": ["3"]},
        "b": {**around, "own": ["6", "b"], "after": ["3"]},
        "c": {**around, "own": ["c"]},
    }


def test_a_document_is_as_before_when_its_messages_are_mapped() -> None:
    document = parse_document(DOCUMENT.encode(), max_depth=9)
    plan = compile_mapping([parse(ENVELOPE, "f")], Schema(), Timeline.INTEGER)
    for _ in range(2):
        assert len(plan.apply(document, Message("m1", b"", 1)).individuals) == 3
        assert etree.tostring(document).decode() == DOCUMENT.replace("'", '"')


def test_a_message_within_a_message_stays_there() -> None:
    rules = ENVELOPE.replace("on message {/m}", "on message {/n}").replace("/m/@id", "/n/@id")
    xml = "<e v='1'><n id='a'><p x='1'/><n id='b'><p x='2'/></n></n><n id='c'/></e>"
    said = said_of(apply(xml, rules))
    assert said["a"]["own"] == ["1", "2", "a"]
    assert said["b"]["own"] == ["2", "b"]
    assert {each["above"][0] for each in said.values()} == {"1"}


@given(st.recursive(st.sampled_from(["<h/>", "t", "<m id='1'/>"]), _elements, max_leaves=12))
def test_taking_messages_in_turn_changes_nothing(inside: str) -> None:
    root = etree.fromstring(f"<e>{inside}</e>")
    before = etree.tostring(root)
    parts = cast(list[Element], root.xpath("//m"))
    for part in in_turn(parts):
        outer = cast(list[Element], root.xpath("//m[not(ancestor::m)]"))
        assert len(outer) == 1
        assert part in set(outer[0].iter())
    assert etree.tostring(root) == before


def test_namespaces_of_the_envelope_hold_in_the_message() -> None:
    rules = ENVELOPE.replace("message each {/e/b/m}", 'xmlns q = "urn:q"\nmessage each {/e/q:m}')
    rules = rules.replace("{/m}", "{/q:m}").replace("/m/@id", "/q:m/@id").replace("{p | .}", "{.}")
    xml = "<e v='1' xmlns:a='urn:q'><a:m id='a' a:x='1'/><a:m id='b'/></e>"
    said = said_of(apply(xml, rules))
    assert {name: each["own"] for name, each in said.items()} == {"a": ["a"], "b": ["b"]}


def test_what_needs_a_document_node_is_refused() -> None:
    with pytest.raises(LanguageError, match=r"with 'message each', '/\.' begins at a document"):
        apply(ONE, RULES.replace("{@time}\n", "{/./Message/@time}\n"))


def test_a_line_of_an_error_is_that_of_the_message() -> None:
    rules = RULES.replace("{$p/@x}^^", "{/Message/p/@x}^^")
    mapped = apply(f"<Messages>\n{ONE}\n{BAD}</Messages>", rules)
    assert "message line 4: :x: 'many' is not an xsd:integer" in mapped.warnings[0]


def test_a_map_gets_a_document_of_its_message_alone() -> None:
    rml = f"""PREFIX rml: <http://w3id.org/rml/>
<urn:map> rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/Message/p" ] ;
  rml:subjectMap [ rml:template "{T}r-{{@id}}" ] ;
  rml:predicateObjectMap [ rml:predicate <{T}of> ; rml:objectMap [ rml:reference "../@time" ] ] .
"""
    plan = compile_mapping([parse(RULES, "f")], Schema(), Timeline.INTEGER)
    maps = compile_rml([read_rml(rml)], Schema(), Timeline.INTEGER)
    document = parse_document(f"<Messages>{ONE}{TWO}</Messages>".encode(), max_depth=9)
    both = replace(plan, rules=(*plan.rules, *maps)).apply(document, Message("m1", b"", 1))
    assert {name for name in both.individuals if "r-" in name} == {f"{T}r-1", f"{T}r-2"}


def test_an_explanation_sees_the_envelope_too() -> None:
    document = parse_document(DOCUMENT.encode(), max_depth=9)
    told = explain(
        [parse(ENVELOPE, "f")], Schema(), Timeline.INTEGER, document, Message("m1", b"", 1)
    )
    assert [each.error for each in told] == [""] * 3
    found = {each.written: each.values for each in told[1].rules[0].expressions}
    assert found["{../h/@v}"] == ("2",)
    assert found["{/m/@id}"] == ("b",)
    assert [[each.path for each in part.unmapped] for part in told] == [[], [], []]
