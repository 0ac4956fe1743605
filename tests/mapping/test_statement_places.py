"""Where in a message its statements come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from sensorstream.language import parse
from sensorstream.mapping import compile_mapping, parse_document
from sensorstream.mapping.statement_places import (
    Expression,
    Sought,
    StatementPlace,
    XmlNode,
    places,
)
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.timeline import Timeline

E = "http://e/"
RULES = """prefix : <http://e/>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping people
on message {/m}
for each $p in {p}
let $twice = {$p/@x |> * 2}
then
  insert individual :h-{$p/@id} a :Human, :{$p/@kind}
    ; :x {$twice}^^xsd:integer
    ; :name {$p/name}
    ; :in :{/m/@in}-{$p/@x}
    ; :at [ :label {$p/name} ] .
"""
MESSAGE = """<m in="hall">
<p id="1" x="7" kind="Guest"><name>Ann</name><name>Anna</name></p>
<p id="2" x="8"/></m>"""
ANN = IRI(f"{E}h-1")


def found(
    wanted: Sequence[Triple], rules: str = RULES, xml: str = MESSAGE
) -> Mapping[Triple, Sequence[StatementPlace]]:
    document = parse_document(xml.encode(), max_depth=9)
    message = Message("m1", xml.encode(), 0)
    sought = Sought(wanted, ())
    return places(sought, [parse(rules, "f")], Schema(), Timeline.INTEGER, document, message)


@pytest.mark.parametrize(
    ("name", "term", "written", "nodes"),
    [
        # Of several nodes the one with this text.
        ("name", Literal("Anna"), "{$p/name}", [("/m/p[1]/name[2]", 2, "Anna")]),
        ("x", Literal("14", xsd.INTEGER), "{$twice}", [("/m/p[1]/@x", 2, "7")]),
        (rdf.TYPE, IRI(f"{E}Guest"), "{$p/@kind}", [("/m/p[1]/@kind", 2, "Guest")]),
    ],
)
def test_a_value_comes_from_the_nodes_of_an_expression(
    name: str, term: Literal | IRI, written: str, nodes: list[tuple[str, int, str]]
) -> None:
    triple = (ANN, name if name == rdf.TYPE else IRI(E + name), term)
    ((place,),) = found([triple]).values()  # type: ignore[list-item]
    assert place.rule == "people"
    assert place.at == XmlNode("/m", 1, "\nAnnAnna\n")
    assert place.value == (Expression(written, tuple(XmlNode(*each) for each in nodes)),)
    assert place.name == (Expression("{$p/@id}", (XmlNode("/m/p[1]/@id", 2, "1"),)),)


def test_a_name_may_come_from_several_expressions() -> None:
    triple = (IRI(f"{E}h-2"), IRI(f"{E}in"), IRI(f"{E}hall-8"))
    ((place,),) = found([triple]).values()
    assert [each.nodes[0].path for each in place.value] == ["/m/@in", "/m/p[2]/@x"]


def test_what_the_rule_itself_says_comes_from_no_expression() -> None:
    ((place,),) = found([(ANN, rdf.TYPE, IRI(f"{E}Human"))]).values()
    assert place.value == ()


def test_what_the_message_does_not_say_has_no_place() -> None:
    assert found([(ANN, rdf.TYPE, IRI(f"{E}Dog"))]) == {}
    # A rule that leaves an individual out has said nothing of it.
    rules = RULES.replace("{$p/name}", "{$p/name} or skip individual", 1)
    two = IRI(f"{E}h-2")
    assert found([(two, rdf.TYPE, IRI(f"{E}Human"))], rules) == {}
    assert found([(two, rdf.TYPE, IRI(f"{E}Human"))]) != {}


def test_a_part_of_a_document_has_its_place_in_the_document() -> None:
    rules = """prefix : <http://e/>
message each {/all/m}
mapping one on message {/m} then insert individual :{@id} a :Human ; :x {/m/x} .
"""
    xml = "<all><m id='a'><x>1</x></m><m id='b'><x>2</x></m></all>"
    triple = (IRI(f"{E}b"), IRI(f"{E}x"), Literal("2"))
    ((place,),) = found([triple], rules, xml).values()
    assert place.value[0].nodes == (XmlNode("/all/m[2]/x", 1, "2"),)


def test_recording_changes_nothing_of_what_rules_say() -> None:
    document = parse_document(MESSAGE.encode(), max_depth=9)
    message = Message("m1", MESSAGE.encode(), 0)
    plain = compile_mapping([parse(RULES, "f")], Schema(), Timeline.INTEGER)
    (event,) = plain.apply(document, message).events
    every = found(event.triples)
    assert every.keys() == set(event.triples)


def test_all_that_a_message_says_of_an_individual_has_a_place() -> None:
    document = parse_document(MESSAGE.encode(), max_depth=9)
    message = Message("m1", MESSAGE.encode(), 0)
    two = IRI(f"{E}h-2")
    sought = Sought((), (two,))
    found = places(sought, [parse(RULES, "f")], Schema(), Timeline.INTEGER, document, message)
    assert {triple[0] for triple in found} == {two}
    assert len(found) == 3
