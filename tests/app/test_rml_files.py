"""Sources of RML that are files: samples of the messages, and what messages are joined with."""

from __future__ import annotations

from pathlib import Path

import pytest

from sensorstream.app.control.mapping_files import MappingFiles
from sensorstream.errors import LanguageError, SettingsError
from sensorstream.mapping import MappingPlan, parse_document
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline

RML = """@prefix rml: <http://w3id.org/rml/> .
@prefix : <http://e/> .
:readings rml:logicalSource [ %s rml:referenceFormulation rml:XPath ; rml:iterator "/m/r" ] ;
  rml:subjectMap [ rml:template "http://e/r{@id}" ] ;
  rml:predicateObjectMap [ rml:predicate :by ; rml:objectMap [ rml:parentTriplesMap :sensors ;
    rml:joinCondition [ rml:child "@serial" ; rml:parent "serial" ] ] ] ;
  rml:predicateObjectMap [ rml:predicate :value ; rml:objectMap [ rml:reference "@v" ] ] .
:sensors rml:logicalSource [ rml:source [ a rml:RelativePathSource ; rml:path "sensors.xml" ] ;
    rml:referenceFormulation rml:XPath ; rml:iterator "/sensors/sensor" ] ;
  rml:subjectMap [ rml:template "{name}" ] ;
  rml:predicateObjectMap [ rml:predicate :room ; rml:objectMap [ rml:reference "room" ] ] .
"""
SENSORS = """<sensors>
  <sensor><serial>a1</serial><name>one</name><room>north</room></sensor>
  <sensor><serial>a2</serial><serial>a3</serial><name>two</name><room>south</room></sensor>
</sensors>"""
MESSAGE = (
    "<m><r id='1' serial='a1' v='5'/><r id='2' serial='a3' v='6'/><r id='3' serial='b' v='7'/></m>"
)


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    (tmp_path / "sensors.xml").write_text(SENSORS)
    (tmp_path / "map.ttl").write_text(RML % "")
    return tmp_path / "map.ttl"


def plan_of(mapping: Path, base: str = "http://b/") -> MappingPlan:
    return MappingFiles([mapping], Schema(), Timeline.INTEGER, base).added_to(MappingPlan(()), [])


def run(plan: MappingPlan, xml: str = MESSAGE, source: str = "rest") -> set[str]:
    message = Message("m", xml.encode(), 1, source)
    events = plan.apply(parse_document(message.content, max_depth=9), message).events
    return {
        " ".join(term.removeprefix("http://") for term in triple)
        for event in events
        for triple in event.triples
    }


def test_messages_are_joined_with_a_file_beside_the_mapping(mapping: Path) -> None:
    assert run(plan_of(mapping)) == {
        "e/r1 e/by b/one",
        "e/r2 e/by b/two",
        *(f'e/r{n} e/value "{value}"' for n, value in ((1, 5), (2, 6), (3, 7))),
    }


def test_the_file_is_read_once_when_the_mapping_is(mapping: Path) -> None:
    plan = plan_of(mapping)
    before = run(plan)
    (mapping.parent / "sensors.xml").unlink()
    assert run(plan) == before


def test_a_message_of_the_source_of_that_name_is_for_its_maps_alone(mapping: Path) -> None:
    mapping.write_text(mapping.read_text().replace("/sensors/sensor", "/*/*"))
    plan = plan_of(mapping)
    found = run(plan, SENSORS, "sensors.xml")
    assert found == {'b/one e/room "north"', 'b/two e/room "south"'}
    assert run(plan, "<m/>", "sensors.xml") == set()


def test_a_file_that_is_not_there_is_an_error_with_its_place(mapping: Path) -> None:
    (mapping.parent / "sensors.xml").unlink()
    with pytest.raises(LanguageError, match=r"map\.ttl:8:1: .*'sensors\.xml': there is no such"):
        plan_of(mapping)
    (fault,) = MappingFiles([mapping], Schema(), Timeline.INTEGER, "http://b/").faults([])
    assert "expected a file (a sample of the messages" in str(fault)


def test_a_sample_of_the_messages_need_only_be_there(mapping: Path) -> None:
    mapping.write_text(RML % 'rml:source "sample.xml" ;')
    with pytest.raises(LanguageError, match=r"'sample\.xml': there is no such file"):
        plan_of(mapping)
    (mapping.parent / "sample.xml").write_text("no XML")
    assert "e/r1 e/by b/one" in run(plan_of(mapping))


def test_a_file_of_the_working_directory(mapping: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = mapping.parent / "elsewhere"
    elsewhere.mkdir()
    (mapping.parent / "sensors.xml").rename(elsewhere / "sensors.xml")
    root = 'rml:path "sensors.xml" ; rml:root rml:CurrentWorkingDirectory'
    mapping.write_text(mapping.read_text().replace('rml:path "sensors.xml"', root))
    monkeypatch.chdir(elsewhere)
    assert "e/r1 e/by b/one" in run(plan_of(mapping))


@pytest.mark.parametrize("content", ["<sensors>", "<!DOCTYPE x><sensors/>"])
def test_a_file_that_is_no_xml_is_an_error(mapping: Path, content: str) -> None:
    (mapping.parent / "sensors.xml").write_text(content)
    with pytest.raises(SettingsError, match=r"sensors\.xml, joined by .*map\.ttl: "):
        plan_of(mapping)


def test_a_value_of_the_file_that_gives_no_term_is_an_error_of_the_mapping(mapping: Path) -> None:
    with pytest.raises(
        LanguageError,
        match=r"sensors\.xml: .*message line 2: .*'one' is not an IRI|"
        r"sensors\.xml: .*'one' is not an absolute IRI",
    ):
        plan_of(mapping, base="")


def test_blank_nodes_of_a_file_cannot_be_joined(mapping: Path) -> None:
    blank = 'rml:template "{name}" ; rml:termType rml:BlankNode'
    mapping.write_text(mapping.read_text().replace('rml:template "{name}"', blank))
    with pytest.raises(LanguageError, match="are blank nodes: expected IRIs"):
        plan_of(mapping)


def test_other_messages_cannot_be_joined(mapping: Path) -> None:
    text = mapping.read_text()
    file = '[ a rml:RelativePathSource ; rml:path "sensors.xml" ]'
    mapping.write_text(text.replace(file, "<http://e/stream>"))
    with pytest.raises(LanguageError, match=r"is about other messages \('http://e/stream'\)"):
        plan_of(mapping)


def test_the_base_of_a_map_is_nearer_than_the_setting_and_that_than_the_document(
    mapping: Path,
) -> None:
    text = mapping.read_text()
    mapping.write_text("@base <http://document/> .\n" + text)
    assert "e/r1 e/by document/one" in run(plan_of(mapping, base=""))
    assert "e/r1 e/by b/one" in run(plan_of(mapping))
    mapping.write_text(text.replace(":sensors rml:l", ":sensors rml:baseIRI <http://map/> ; rml:l"))
    assert "e/r1 e/by map/one" in run(plan_of(mapping))


def test_single_maps_are_joined_too(mapping: Path) -> None:
    (readings, sensors) = MappingFiles(
        [mapping], Schema(), Timeline.INTEGER, "http://b/"
    ).single_maps()
    assert (readings.name, sensors.name) == ("readings", "sensors")
    assert "e/r1 e/by b/one" in run(MappingPlan((readings,)))
