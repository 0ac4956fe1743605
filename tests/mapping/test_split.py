"""Documents that carry several messages."""

from __future__ import annotations

import pytest

from sensorstream.errors import LanguageError, MappingError
from sensorstream.language import parse
from sensorstream.mapping import Mapped, check, compile_mapping, parse_document
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


def apply(xml: str, rules: str = RULES) -> Mapped:
    plan = compile_mapping([parse(rules, "f")], Schema(), Timeline.INTEGER)
    document = parse_document(xml.encode(), max_depth=9)
    return plan.apply(document, Message("m1", xml.encode(), received=100, source="cam"))


def values(mapped: Mapped) -> list[tuple[int, str]]:
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
