"""What RML-Core says of term maps, one feature at a time, on one message."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import MappingError
from sensorstream.mapping import MappedMessage, MappingPlan, parse_document
from sensorstream.mapping.rml import compile_rml, read_rml
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.timeline import Timeline
from sensorstream.model.xsd import XSD

E = "http://e/"
HEAD = """@prefix rml: <http://w3id.org/rml/> .
@prefix ss: <urn:sensorstream:mapping#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <http://e/> .
"""
XML = """<Message time="5">
  <person id="a/1" mail="mailto:a@e" unit="integer"><tag>x</tag><tag>y</tag><no> 7 </no></person>
  <person id="b" boss="a/1"><tag>y</tag><lang>de</lang><lang>en</lang><empty/></person>
  <friend of="b" is="a/1"/><friend of="a/1" is="b"/><friend of="b" is="nobody"/>
</Message>"""


def source(iterator: str = "/Message/person") -> str:
    return (
        f'rml:logicalSource [ rml:source "m.xml" ; rml:referenceFormulation rml:XPath ;'
        f' rml:iterator "{iterator}" ]'
    )


def apply(turtle: str, xml: str = XML, *, line: Timeline = Timeline.INTEGER) -> MappedMessage:
    plan = MappingPlan(compile_rml([read_rml(HEAD + turtle, "m.ttl")], Schema(), line))
    message = Message("m1", xml.encode(), received=100)
    return plan.apply(parse_document(xml.encode(), max_depth=9), message)


def triples(turtle: str, xml: str = XML) -> list[tuple[Term, Term, Term]]:
    return [triple for event in apply(turtle, xml).events for triple in event.triples]


def values(object_map: str, *, only: str = "a%2F1") -> list[Term]:
    """What an object map makes of one of the two persons."""
    turtle = f""":M {source()} ; rml:subjectMap [ rml:template "http://e/{{@id}}" ] ;
        rml:predicateObjectMap [ rml:predicate :p ; rml:objectMap [ {object_map} ] ] ."""
    return [o for s, _, o in triples(turtle) if s == E + only]


def test_a_reference_makes_a_term_of_every_value_and_none_of_none() -> None:
    assert values('rml:reference "tag"') == [Literal("x"), Literal("y")]
    assert values('rml:reference "nothing"') == []
    assert values('rml:reference "empty"', only="b") == []


def test_outer_white_space_is_cut() -> None:
    assert values('rml:reference "no"') == [Literal("7")]


def test_several_references_of_a_template_multiply() -> None:
    found = values('rml:template "{tag}-{lang}-{tag}" ; rml:termType rml:Literal', only="b")
    assert found == [Literal("y-de-y"), Literal("y-en-y")]
    found = values('rml:template "{tag}{../person/@id}" ; rml:termType rml:Literal')
    assert found == [Literal(text) for text in ("xa/1", "xb", "ya/1", "yb")]
    assert values('rml:template "{tag} {nothing}" ; rml:termType rml:Literal') == []


def test_a_reference_written_twice_in_a_template_is_one_value() -> None:
    found = values('rml:template "{tag}{tag}" ; rml:termType rml:Literal')
    assert found == [Literal("xx"), Literal("yy")]


@pytest.mark.parametrize(
    ("text", "iri_safe", "uri_safe"),
    [
        ("42", "42", "42"),
        ("Hello World!", "Hello%20World%21", "Hello%20World%21"),
        ("2011-08-23T22:17:00Z", "2011-08-23T22%3A17%3A00Z", "2011-08-23T22%3A17%3A00Z"),
        ("~A_17.1-2", "~A_17.1-2", "~A_17.1-2"),
        ("Zoë Krüger", "Zoë%20Krüger", "Zo%C3%AB%20Kr%C3%BCger"),
    ],
)
def test_templates_are_encoded_as_the_table_of_rml_core_says(
    text: str, iri_safe: str, uri_safe: str
) -> None:
    xml = f'<m t="{text}"/>'
    turtle = f""":M {source("/m")} ; rml:subject :s ; rml:predicateObjectMap [
        rml:predicate :p ; rml:objectMap
            [ rml:template "http://e/{{@t}}" ], [ rml:template "http://e/{{@t}}" ;
              rml:termType rml:URI ] ] ."""
    assert {o for _, _, o in triples(turtle, xml)} == {IRI(E + iri_safe), IRI(E + uri_safe)}


def test_an_unsafe_template_is_filled_in_as_it_is() -> None:
    assert values('rml:template "http://e/{@id}" ; rml:termType rml:UnsafeIRI') == [IRI(f"{E}a/1")]


def test_an_iri_may_stand_whole_in_a_value() -> None:
    assert values('rml:reference "@mail" ; rml:termType rml:IRI') == [IRI("mailto:a@e")]


def test_a_relative_iri_is_completed_by_the_base_of_the_map_else_of_the_file() -> None:
    rest = (
        f'{source()} ; rml:subjectMap [ rml:reference "tag" ; rml:termType rml:IRI ] ;'
        " rml:predicateObjectMap [ rml:predicate :p ; rml:object 1 ] ."
    )
    subjects = {s for s, _, _ in triples(f":M rml:baseIRI <http://base/> ; {rest}")}
    assert subjects == {IRI("http://base/x"), IRI("http://base/y")}
    subjects = {s for s, _, _ in triples(f"@base <http://file/> . :M {rest}")}
    assert subjects == {IRI("http://file/x"), IRI("http://file/y")}
    with pytest.raises(MappingError, match=r"m.ttl:.*\{tag\}, message line 2.*absolute IRI"):
        apply(f":M {rest}")


def test_datatypes_are_constant_or_found() -> None:
    assert values('rml:reference "no" ; rml:datatype xsd:integer') == [Literal("7", xsd.INTEGER)]
    assert values(f'rml:reference "no" ; rml:datatypeMap [ rml:template "{XSD}{{@unit}}" ]') == [
        Literal("7", xsd.INTEGER)
    ]


def test_an_invalid_form_rejects_the_message_unless_it_may_be_missing() -> None:
    with pytest.raises(MappingError, match=r"rule M, \{tag\}, message line 2: .*'x' is not an xsd"):
        values('rml:reference "tag" ; rml:datatype xsd:integer')
    assert values('rml:reference "tag" ; rml:datatype xsd:integer ; ss:invalid "missing"') == []


def test_of_several_values_only_the_invalid_ones_may_be_missing() -> None:
    mixed = 'rml:reference "tag | no" ; rml:datatype xsd:integer ; ss:invalid "missing"'
    assert values(mixed) == [Literal("7", xsd.INTEGER)]


def test_a_constant_text_may_have_a_datatype_or_language() -> None:
    assert values('rml:constant "5" ; rml:datatype xsd:integer') == [Literal("5", xsd.INTEGER)]
    assert values('rml:constant "5" ; rml:language "en"') == [Literal("5", language="en")]
    found = values('rml:constant "5" ; rml:datatypeMap [ rml:template "http://e/{@unit}" ]')
    assert found == [Literal("5", f"{E}integer")]


def test_languages_are_constant_or_found_and_multiply() -> None:
    assert values('rml:reference "no" ; rml:language "en"') == [Literal("7", language="en")]
    found = values('rml:reference "tag" ; rml:languageMap [ rml:reference "lang" ]', only="b")
    assert found == [Literal("y", language="de"), Literal("y", language="en")]
    assert values('rml:reference "tag" ; rml:languageMap [ rml:reference "lang" ]') == []


def test_blank_nodes_of_one_label_are_one_node_of_the_message() -> None:
    turtle = f""":M {source()} ; rml:subjectMap [ rml:template "n{{tag}}" ;
        rml:termType rml:BlankNode ] ; rml:predicateObjectMap [ rml:predicate :p ;
        rml:objectMap [ rml:reference "@id" ] ] ."""
    by_value: dict[Term, set[Term]] = {}
    for s, _, o in triples(turtle):
        assert isinstance(s, BlankNode)
        by_value.setdefault(o, set()).add(s)
    assert len(by_value[Literal("a/1")]) == 2
    assert by_value[Literal("b")] < by_value[Literal("a/1")]
    assert triples(turtle) == triples(turtle)


def test_a_blank_node_without_an_expression_is_a_new_one_for_each_iteration() -> None:
    turtle = f""":P {source()} ; rml:subjectMap [ rml:template "http://e/{{@id}}" ] ;
          rml:predicateObjectMap [ rml:predicate :has ;
            rml:objectMap [ rml:parentTriplesMap :M ] ] .
        :M {source()} ; rml:subjectMap [ rml:termType rml:BlankNode ] ;
          rml:predicateObjectMap [ rml:predicate :tag ;
            rml:objectMap [ rml:reference "tag" ] ] ."""
    found = triples(turtle)
    nodes = {s: o for s, p, o in found if p == E + "has"}
    assert len(set(nodes.values())) == 2
    assert [o for s, _, o in found if s == nodes[IRI(f"{E}b")]] == [Literal("y")]
    assert apply(turtle).individuals == (IRI(f"{E}a%2F1"), IRI(f"{E}b"))


def test_every_predicate_goes_with_every_object() -> None:
    turtle = f""":M {source("/Message")} ; rml:subject :s ; rml:predicateObjectMap [
        rml:predicate :p ; rml:predicateMap [ rml:template "http://e/{{person/@id}}" ] ;
        rml:object :o, "l" ] ."""
    found = {(p, o) for _, p, o in triples(turtle)}
    names = [IRI(E + name) for name in ("p", "a%2F1", "b")]
    assert found == {(p, o) for p in names for o in (IRI(f"{E}o"), Literal("l"))}


def test_a_subject_that_finds_nothing_makes_no_triples() -> None:
    turtle = f""":M {source()} ; rml:subjectMap [ rml:template "http://e/{{@boss}}" ;
        rml:class :Boss ] ."""
    assert triples(turtle) == [(IRI(f"{E}a%2F1"), rdf.TYPE, IRI(f"{E}Boss"))]


def test_a_missing_value_may_leave_its_subject_out_or_reject_the_message() -> None:
    turtle = f""":M {source()} ; rml:subjectMap [ rml:template "http://e/{{@id}}" ;
        rml:class :Person ] ; rml:predicateObjectMap [ rml:predicate :lang ;
        rml:objectMap [ rml:reference "lang" ; ss:missing "%s" ] ] ."""
    assert {s for s, _, _ in triples(turtle % "skip")} == {IRI(f"{E}a%2F1"), IRI(f"{E}b")}
    assert {s for s, _, _ in triples(turtle % "skip individual")} == {IRI(f"{E}b")}
    with pytest.raises(MappingError, match=r"\{lang\}, message line 2: property 1 \(:lang\)"):
        triples(turtle % "reject")


JOIN = """:P %s ; rml:subjectMap [ rml:template "http://e/{@id}" ] ;
      rml:predicateObjectMap [ rml:predicate :knows ; rml:objectMap [
        rml:parentTriplesMap :F ; %s ] ] .
    :F %s ; rml:subjectMap [ rml:template "http://e/{@is}" ] ."""


def test_a_join_finds_the_subjects_of_other_iterations() -> None:
    condition = 'rml:joinCondition [ rml:child "@id" ; rml:parent "@of" ]'
    found = triples(JOIN % (source(), condition, source("/Message/friend")))
    a, b, nobody, knows = (IRI(E + name) for name in ("a%2F1", "b", "nobody", "knows"))
    assert set(found) == {(a, knows, b), (b, knows, a), (b, knows, nobody)}


def test_all_join_conditions_must_hold() -> None:
    condition = (
        'rml:joinCondition [ rml:child "@id" ; rml:parent "@of" ], '
        '[ rml:childMap [ rml:reference "@boss" ] ; rml:parentMap [ rml:template "{@is}" ] ]'
    )
    found = triples(JOIN % (source(), condition, source("/Message/friend")))
    assert found == [(IRI(f"{E}b"), IRI(f"{E}knows"), IRI(f"{E}a%2F1"))]


def test_each_message_is_joined_with_itself_only() -> None:
    condition = 'rml:joinCondition [ rml:child "@id" ; rml:parent "@of" ]'
    turtle = HEAD + JOIN % (source(), condition, source("/Message/friend"))
    plan = MappingPlan(compile_rml([read_rml(turtle)], Schema(), Timeline.INTEGER))
    for xml, count in ((XML, 3), (XML.replace("friend", "other"), 0), (XML, 3)):
        document = parse_document(xml.encode(), max_depth=9)
        mapped = plan.apply(document, Message("m", xml.encode(), received=0))
        assert sum(len(event.triples) for event in mapped.events) == count


def test_the_time_and_the_update_of_an_event_are_annotations() -> None:
    turtle = f""":M {source()} ; rml:subjectMap [ rml:template "http://e/{{@id}}" ;
        ss:at "../@time" ; ss:update true ] ; rml:predicateObjectMap [ rml:predicate :tag ;
        rml:objectMap [ rml:reference "lang" ] ] ."""
    (event,) = apply(turtle).events
    assert event.time == 5
    assert event.replaces == {(IRI(f"{E}b"), IRI(f"{E}tag"))}
    (event,) = apply(turtle.replace('ss:at "../@time" ;', "")).events
    assert event.time == 100
    with pytest.raises(MappingError, match=r"\{\.\./@no\}, message line 2: found nothing"):
        apply(turtle.replace("../@time", "../@no"))


def test_the_iterator_may_be_relative_to_the_document_or_missing() -> None:
    rest = """rml:subjectMap [ rml:template "http://e/{%s}" ; rml:class :C ] ."""
    relative = f":M {source('Message/person')} ; {rest % '@id'}"
    assert [s for s, _, _ in triples(relative)] == [IRI(f"{E}a%2F1"), IRI(f"{E}b")]
    without = source().replace(' rml:iterator "/Message/person"', "")
    found = [s for s, _, _ in triples(f":M {without} ; {rest % 'Message/@time'}")]
    assert found == [IRI(f"{E}5")]


def test_an_iterator_that_finds_attributes_is_an_error_of_the_message() -> None:
    turtle = f":M {source('//@id')} ; rml:subject :s ; rml:predicateObjectMap [ rml:predicate :p ;"
    with pytest.raises(MappingError, match=r"found no element"):
        apply(f"{turtle} rml:object 1 ] .")


def test_a_map_whose_iterator_finds_nothing_has_not_matched() -> None:
    turtle = f":M {source('/Message/robot')} ; rml:subject :s ."
    mapped = apply(turtle)
    assert mapped.matched == ()
    assert "rule M is the nearest" in mapped.hint


def test_the_first_vocabulary_of_rml_means_the_same() -> None:
    modern = f""":M {source()} ; rml:subjectMap [ rml:template "http://e/{{@id}}" ;
        rml:class :C ; rml:termType rml:IRI ; rml:graph rml:defaultGraph ] ;
        rml:predicateObjectMap [ rml:predicate :p ; rml:objectMap [ rml:reference "no" ;
          rml:datatype xsd:integer ], [ rml:parentTriplesMap :F ; rml:joinCondition
          [ rml:child "@id" ; rml:parent "@of" ] ] ] .
        :F {source("/Message/friend")} ; rml:subjectMap [ rml:template "http://e/{{@is}}" ] ."""
    old = modern
    for name in ("logicalSource", "source", "iterator", "referenceFormulation", "reference"):
        old = old.replace(f"rml:{name} ", f"old:{name} ")
    old = old.replace("rml:XPath", "ql:XPath").replace("rml:", "rr:")
    prefixes = """@prefix old: <http://semweb.mmlab.be/ns/rml#> .
        @prefix rr: <http://www.w3.org/ns/r2rml#> .
        @prefix ql: <http://semweb.mmlab.be/ns/ql#> . """
    assert triples(prefixes + old) == triples(modern)
    assert len(triples(modern)) == 6


def test_old_turtle_may_call_a_reference_a_column() -> None:
    prefix = "@prefix rr: <http://www.w3.org/ns/r2rml#> . "
    turtle = f""":M {source()} ; rml:subject :s ; rml:predicateObjectMap [ rml:predicate :p ;
        rml:objectMap [ rr:column "no" ] ] ."""
    assert [o for _, _, o in triples(prefix + turtle)] == [Literal("7")]


def test_a_uri_is_of_ascii_characters() -> None:
    xml = '<m t="http://e/é"/>'
    turtle = f""":M {source("/m")} ; rml:subject :s ; rml:predicateObjectMap [ rml:predicate :p ;
        rml:objectMap [ rml:reference "@t" ; rml:termType rml:%s ] ] ."""
    assert [o for _, _, o in triples(turtle % "IRI", xml)] == [IRI("http://e/é")]
    with pytest.raises(MappingError, match=r"'http://e/é' is not a URI: expected ASCII"):
        triples(turtle % "URI", xml)


keys = st.sampled_from(["1", "2", "3", ""])
sides = st.lists(st.tuples(st.lists(keys, max_size=2), keys), max_size=4)


@settings(max_examples=50)
@given(sides, sides)
def test_a_join_finds_what_its_definition_says(
    children: list[tuple[list[str], str]], parents: list[tuple[list[str], str]]
) -> None:
    """RML-Core, "Join Condition": all pairs of iterations for which every condition holds."""

    def written(tag: str, rows: list[tuple[list[str], str]]) -> str:
        return "".join(
            f'<{tag} n="{n}" k="{key}">{"".join(f"<v>{value}</v>" for value in values)}</{tag}>'
            for n, (values, key) in enumerate(rows)
        )

    condition = 'rml:joinCondition [ rml:child "v" ; rml:parent "v" ], ' + (
        '[ rml:child "@k" ; rml:parent "@k" ]'
    )
    turtle = f""":C {source("/m/c")} ; rml:subjectMap [ rml:template "http://e/c{{@n}}" ] ;
          rml:predicateObjectMap [ rml:predicate :p ;
            rml:objectMap [ rml:parentTriplesMap :P ; {condition} ] ] .
        :P {source("/m/p")} ; rml:subjectMap [ rml:template "http://e/p{{@n}}" ] ."""
    found = triples(turtle, f"<m>{written('c', children)}{written('p', parents)}</m>")
    assert set(found) == {
        (IRI(f"{E}c{i}"), IRI(f"{E}p"), IRI(f"{E}p{j}"))
        for i, (values, key) in enumerate(children)
        for j, (others, other) in enumerate(parents)
        if key and key == other and {*values} & {*others} - {""}
    }
