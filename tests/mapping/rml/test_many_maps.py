"""Maps are tried on the messages that their iterators may find something in."""

from __future__ import annotations

from sensorstream.mapping import MappingPlan, parse_document
from sensorstream.mapping.rml.rml_compiler import compile_rml
from sensorstream.mapping.rml.rml_reader import read_rml
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline

HEAD = """@prefix rml: <http://w3id.org/rml/> .
@prefix : <http://example.org/> .
"""
MAP = """:map{i} a rml:TriplesMap ;
  rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "{iterator}" ] ;
  rml:subjectMap [ rml:template "http://example.org/e-{{@id}}" ; rml:class :E{i} ] .
"""


def plan(*iterators: str) -> MappingPlan:
    text = HEAD + "".join(MAP.format(i=i, iterator=each) for i, each in enumerate(iterators))
    return MappingPlan(compile_rml([read_rml(text, "f")], Schema(), Timeline.INTEGER))


def matched(mapping: MappingPlan, xml: bytes) -> tuple[str, ...]:
    return mapping.apply(parse_document(xml, max_depth=10), Message("m1", xml, 1)).matched


def test_only_maps_that_may_find_something_are_tried() -> None:
    mapping = plan("/M/E", "/M/F", "//F[@k='x']", "/M/E | /M/F", "/M/F[1]")
    names = [rule.name for rule in mapping.rules]
    assert matched(mapping, b"<M><E id='1'/></M>") == (names[0], names[3])
    assert matched(mapping, b"<M><F id='1' k='x'/></M>") == tuple(names[1:])
    assert all(rule.lookup.paths for rule in mapping.rules)
