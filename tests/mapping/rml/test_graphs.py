"""Graph maps: in which graphs of the output a triple is."""

from __future__ import annotations

import pytest

from sensorstream.errors import MappingError
from sensorstream.mapping import MappingPlan, parse_document
from sensorstream.mapping.rml import compile_rml, read_rml
from sensorstream.mapping.rml.rml_writer import print_rml
from sensorstream.model.events import Event, Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline

HEAD = """@prefix rml: <http://w3id.org/rml/> .
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix ss: <urn:sensorstream:mapping#> .
@prefix : <http://e/> .
"""
MAP = """:M rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/m/p" ] ;
  rml:subjectMap [ rml:template "http://e/{@id}" ; rml:class :C %s ] ;
  rml:predicateObjectMap [ rml:predicate :p ; rml:objectMap [ rml:reference "@x" ] %s ] ;
  rml:predicateObjectMap [ rml:predicate :q ; rml:object :o ] ."""
XML = "<m><p id='1' x='7' g='red' h='blue room'><k>a</k><k>b</k></p></m>"


def run(of_subject: str = "", of_property: str = "", xml: str = XML) -> Event:
    mapping = read_rml(HEAD + MAP % (of_subject, of_property))
    assert read_rml(print_rml(mapping)) == mapping
    plan = MappingPlan(compile_rml([mapping], Schema(), Timeline.INTEGER))
    message = Message("m", xml.encode(), received=1)
    (event,) = plan.apply(parse_document(xml.encode(), max_depth=9), message).events
    return event


def graphs(of_subject: str = "", of_property: str = "", xml: str = XML) -> dict[str, set[str]]:
    """The graphs of each triple, by its property's local name."""
    event = run(of_subject, of_property, xml)
    named = {triple for triple, _ in event.graphs}
    found: dict[str, set[str]] = {p[-4:]: set() for _, p, _ in event.triples}
    for triple in event.triples:
        if triple not in named:
            found[triple[1][-4:]].add("default")
    for (_, p, _), graph in event.graphs:
        found[p[-4:]].add("default" if graph is None else graph.removeprefix("http://e/"))
    return found


def test_without_graph_maps_all_is_in_the_default_graph() -> None:
    assert run().graphs == ()
    assert graphs() == {"type": {"default"}, "/e/p": {"default"}, "/e/q": {"default"}}


def test_the_graph_of_a_subject_holds_all_its_triples() -> None:
    assert graphs("; rml:graph :g") == {"type": {"g"}, "/e/p": {"g"}, "/e/q": {"g"}}


def test_the_graph_of_a_property_is_for_its_triples_only() -> None:
    assert graphs("", "; rml:graph :g") == {"type": {"default"}, "/e/p": {"g"}, "/e/q": {"default"}}


def test_graphs_of_subject_and_property_add_up() -> None:
    assert graphs("; rml:graph :g, :h", "; rml:graphMap [ rml:constant :i ]") == {
        "type": {"g", "h"},
        "/e/p": {"g", "h", "i"},
        "/e/q": {"g", "h"},
    }


def test_a_graph_is_named_by_a_template_or_a_reference_with_several_values() -> None:
    found = graphs(
        '; rml:graphMap [ rml:template "http://e/{@g}/{@h}" ]',
        '; rml:graphMap [ rml:template "http://e/{k}" ]',
    )
    assert found["/e/p"] == {"red/blue%20room", "a", "b"}


def test_the_default_graph_has_a_name_in_either_vocabulary() -> None:
    assert graphs("; rml:graph :g, rml:defaultGraph")["/e/q"] == {"g", "default"}
    assert graphs("; rml:graph :g", "; rr:graph rr:defaultGraph")["/e/p"] == {"g", "default"}
    assert graphs("; rml:graph rml:defaultGraph")["/e/p"] == {"default"}


def test_a_triple_is_in_no_graph_if_its_graph_maps_find_no_name() -> None:
    found = graphs("", '; rml:graphMap [ rml:template "http://e/{@missing}" ]')
    assert found == {"type": {"default"}, "/e/q": {"default"}}


def test_a_name_that_is_missing_may_reject_the_message() -> None:
    with pytest.raises(MappingError, match=r"graph map: found nothing, but ss:missing says reject"):
        run("", '; rml:graphMap [ rml:template "http://e/{@missing}" ; ss:missing "reject" ]')


@pytest.mark.parametrize("name", ["urn:sensorstream:window", "urn:sensorstream:x", "a b"])
def test_a_message_cannot_name_the_graphs_of_the_system_or_what_is_no_iri(name: str) -> None:
    with pytest.raises(MappingError, match="graph map: ") as caught:
        run("; rml:graphMap [ rml:reference '@g' ]", xml=XML.replace("red", name))
    assert "{@g}, message line 1" in caught.value.message


def test_updates_replace_values_in_all_graphs() -> None:
    event = run("; ss:update true", "; rml:graph :g")
    assert (IRI("http://e/1"), IRI("http://e/p")) in event.replaces
