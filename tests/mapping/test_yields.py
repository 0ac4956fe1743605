"""What triples maps and stylesheets make of a message, all in all."""

from __future__ import annotations

from sensorstream.mapping import parse_document
from sensorstream.mapping.mapping_plan import PlannedRule
from sensorstream.mapping.rml import compile_maps, read_rml
from sensorstream.mapping.rule_report import Yield, yields
from sensorstream.mapping.stylesheet import read_stylesheet
from sensorstream.mapping.xslt import compile_stylesheet
from sensorstream.model.events import Message
from sensorstream.model.timeline import Timeline

RML = """@prefix rml: <http://w3id.org/rml/> .
@prefix ss: <urn:sensorstream:mapping#> .
@prefix : <http://e/> .
:people rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/m/p" ] ;
  rml:subjectMap [ rml:template "http://e/p{@id}" ; rml:class :Person ] ;
  rml:predicateObjectMap [ rml:predicate :name ;
    rml:objectMap [ rml:reference "@name" ; ss:missing "skip individual" ] ] ;
  rml:predicateObjectMap [ rml:predicate :in ; rml:objectMap [ rml:parentTriplesMap :rooms ;
    rml:joinCondition [ rml:child "@room" ; rml:parent "@id" ] ] ] .
:rooms rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/m/room" ] ;
  rml:subjectMap [ rml:template "http://e/r{@id}" ; rml:class :Room ] .
:doors rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/m/dor" ] ;
  rml:subjectMap [ rml:template "http://e/d{@id}" ; rml:class :Door ] .
"""
MESSAGE = b"""<m><p id="1" name="Ada" room="7"/><p id="2" name="Bo" room="8"/><p id="3" room="7"/>
<room id="7"/><door id="1"/></m>"""


def made(rules: tuple[PlannedRule, ...], xml: bytes = MESSAGE, source: str = "a") -> list[Yield]:
    root = parse_document(xml, max_depth=9).getroot()
    return list(yields(rules, root, Message("m1", xml, 0, source)))


def stylesheet(message: str, output: str) -> tuple[PlannedRule, ...]:
    text = f"""<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="text"/><m:message xmlns:m="urn:sensorstream:mapping#" {message}/>
<xsl:template match="/">{output}</xsl:template></xsl:stylesheet>"""
    sheet = read_stylesheet(text.encode(), "names.xsl")
    return (compile_stylesheet(sheet, Timeline.INTEGER),)


def maps(text: str = RML) -> tuple[PlannedRule, ...]:
    return compile_maps(read_rml(text, "f.ttl"), Timeline.INTEGER)


def test_a_triples_map_tells_its_iterations_and_its_triples() -> None:
    people, rooms, doors = made(maps())
    # Two types, two names and one room; the third person has no name.
    assert people == Yield("people", "/m/p", True, 3, 5, "", "")
    assert rooms == Yield("rooms", "/m/room", True, 1, 1, "", "")
    assert (doors.rule, doors.matched, doors.found, doors.triples) == ("doors", False, 0, 0)
    assert "did you mean door?" in doors.cause


def test_xpaths_that_find_nothing_anywhere_are_told() -> None:
    people, rooms, _ = made(maps(RML.replace('"@room"', '"@rom"')))
    assert (people.missing, rooms.missing) == (("@rom",), ())


def test_triples_maps_of_one_rule_are_told_apart() -> None:
    text = RML.replace("rml:logicalSource", 'ss:rule "all" ; rml:logicalSource')
    assert [each.rule for each in made(maps(text))] == [
        "all, http://e/people",
        "all, http://e/rooms",
        "all, http://e/doors",
    ]


def test_a_map_that_rejects_the_message_says_why() -> None:
    text = RML.replace('"skip individual"', '"reject"')
    people, rooms, _ = made(maps(text))
    assert "found nothing, but ss:missing says reject" in people.error
    assert (people.matched, people.triples, rooms.triples) == (True, 0, 1)


def test_a_stylesheet_tells_what_its_path_found() -> None:
    (names,) = made(stylesheet('path="/m/p"', "&lt;http://e/a&gt; &lt;http://e/b&gt; 1, 2 ."))
    assert names == Yield("names", "/m/p", True, 3, 2, "", "")


def test_a_stylesheet_for_another_source_says_so() -> None:
    for declared in ('source="b"', 'path="/m/p" source="b"'):
        (names,) = made(stylesheet(declared, ""))
        assert (names.matched, names.triples) == (False, 0)
        assert names.cause == "neither the message nor its source, a, selects it"
        (asked,) = made(stylesheet(declared, ""), source="b")
        assert asked.matched


def test_a_stylesheet_whose_output_is_no_rdf_says_so() -> None:
    (names,) = made(stylesheet('path="/m"', "neither"))
    assert "stylesheet names: its output is not Turtle" in names.error
