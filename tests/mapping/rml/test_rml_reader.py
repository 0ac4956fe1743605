"""Mappings that cannot be read: what is wrong, where, and what was expected."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import LanguageError, Position
from sensorstream.language.syntax import NOWHERE, Hole
from sensorstream.mapping.rml import compile_rml, read_rml
from sensorstream.mapping.rml.rml_template import parse_template, print_template
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline

HEAD = """@prefix rml: <http://w3id.org/rml/> .
@prefix ss: <urn:sensorstream:mapping#> .
@prefix : <http://e/> .
"""
SOURCE = 'rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/m" ]'
SUBJECT = 'rml:subjectMap [ rml:template "http://e/{@id}" ]'
PROPERTY = 'rml:predicateObjectMap [ rml:predicate :p ; rml:objectMap [ rml:reference "@x" ] ]'
MAP = f":M {SOURCE} ; {SUBJECT} ;\n  {PROPERTY} ."


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rml:XPath", "rml:JSONPath", "reference formulation rml:JSONPath: messages are XML"),
        ("rml:referenceFormulation rml:XPath ;", "", "no rml:referenceFormulation: expected one"),
        (SOURCE, "rml:logicalTable [ ]", "rml:logicalTable is for databases"),
        (f"{SOURCE} ; ", "", "no rml:logicalSource: expected one"),
        (f"{SUBJECT} ;", "", "no subject: expected one rml:subjectMap or rml:subject"),
        (SUBJECT, f"{SUBJECT} ; {SUBJECT}", "more than one subject"),
        (SUBJECT, 'rml:subject "x"', '"x" is a literal: expected an IRI'),
        ('rml:reference "@x"', 'rml:constant :x ; rml:language "en"', "belongs to literals"),
        ("{@id}", "{@id", r"'{' is not closed"),
        ("{@id}", "{}", "empty braces: expected an XPath"),
        ("{@id}", "@id}", "'}' that closes nothing"),
        ("{@id}", "{@a{@b}}", "'{' within a reference"),
        ("{@id}", r"\\x{@id}", r"a lone '\'"),
        ("rml:template", "rml:templat", "rml:templat is not supported here: expected one of rml:c"),
        ("rml:reference ", "rml:logicalTarget ", "rml:logicalTarget is not supported here"),
        ('rml:reference "@x"', "", "expected one of rml:constant, rml:reference, rml:template and"),
        ('"@x"', '"@x" ; rml:constant 5', "expected one of rml:constant, rml:reference, rml:te"),
        ('"@x"', ":x", ":x: expected an XPath or template in quotes"),
        ('"@x"', '"@x" ; rml:termType :X', "term type :X: expected one of rml:IRI, rml:URI"),
        ('"@x"', '"@x" ; rml:datatype :d ; rml:language "en"', "a datatype or a language, not bot"),
        ('"@x"', '"@x" ; rml:termType rml:IRI ; rml:datatype :d', "belongs to literals, not to rm"),
        ('"@x"', '"@x" ; rml:graph :g', "rml:graph is not supported here"),
        ('"@x"', '"@x" ; ss:missing "no"', "ss:missing: expected one of skip, skip individual, re"),
        ('"@x"', '"@x" ; ss:when "now"', "ss:when is not supported here"),
        ('rml:reference "@x"', "rml:constant [ ]", "a blank node cannot be constant"),
        ('rml:reference "@x"', "rml:parentTriplesMap :N", "there is no triples map :N in this doc"),
        ('"@x"', '"@x" ; rml:parentTriplesMap :M', "expected the IRI of one triples map, and join"),
        (
            'rml:reference "@x"',
            'rml:parentTriplesMap :M ; ss:missing "reject"',
            "expected the IRI of one triples map, and join",
        ),
        ('rml:reference "@x"', 'rml:joinCondition [ ] ; rml:reference "@x"', "without rml:parentT"),
        ("rml:predicate :p ;", "", "no predicate: expected rml:predicate or rml:predicateMap"),
        (' ; rml:objectMap [ rml:reference "@x" ]', "", "no object"),
        (":p ;", ':p ; rml:graph "g" ;', "is a literal: expected an IRI"),
        (
            ":p ;",
            ':p ; rml:graphMap [ rml:reference "g" ; rml:termType rml:BlankNode ] ;',
            "graph map: term type rml:BlankNode: expected one of rml:IRI",
        ),
        (
            SOURCE,
            SOURCE.replace("[", '[ rml:source [ rml:path "a" ; rml:encoding "x" ] ;'),
            "source: rml:encoding is not supported here: expected one of rml:path, rml:root",
        ),
        (
            SOURCE,
            SOURCE.replace("[", '[ rml:source [ rml:path "a" ; rml:root :r ] ;'),
            "rml:root :r: expected rml:MappingDirectory or rml:CurrentWorkingDirectory",
        ),
        (SOURCE, SOURCE.replace("[", '[ rml:source "a", "b" ;'), "more than one rml:source"),
        (f"{SUBJECT}", f'{SUBJECT} ; rml:baseIRI "x", "y"', "expected one IRI as rml:baseIRI"),
        ('{@id}"', '{@id}" ; ss:at :x', "expected one XPath in quotes as ss:at"),
        ('"http://e/{@id}"', '"http://e/{@id}" ; rml:class "C"', "expected the IRI of a class"),
        (":M ", ':M ss:rule "a b" ; ', "expected the name of a rule"),
    ],
)
def test_what_breaks_rml_is_named_with_its_place(old: str, new: str, message: str) -> None:
    assert old in MAP
    with pytest.raises(LanguageError) as caught:
        read_rml(HEAD + MAP.replace(old, new, 1), "m.ttl")
    assert message in caught.value.message
    assert caught.value.position is not None
    assert (caught.value.position.file, caught.value.position.line) == ("m.ttl", 4)


def fault(turtle: str, schema: Schema | None = None) -> LanguageError:
    mapping = read_rml(HEAD + turtle, "m.ttl")
    with pytest.raises(LanguageError) as caught:
        compile_rml([mapping], schema or Schema(), Timeline.INTEGER)
    return caught.value


def test_an_xpath_that_is_none_is_found_before_any_message_comes() -> None:
    turtle = MAP.replace('"@x"', '"cuont(a)"')
    error = fault(turtle)
    assert error.message == "rule M: unknown function cuont(): did you mean count()?"
    assert error.position == Position("m.ttl", 5, turtle.splitlines()[1].index("cuont") + 1)


def test_an_undeclared_namespace_prefix_names_what_rml_has_for_it() -> None:
    error = fault(MAP.replace('"/m"', '"/x:m"'))
    assert "undeclared XML namespace prefix 'x'" in error.message
    assert "expected an rml:namespace" in error.message


def test_an_iterator_must_find_nodes() -> None:
    assert "finds no nodes but a value" in fault(MAP.replace('"/m"', '"count(/m)"')).message


def test_constants_must_be_what_they_say() -> None:
    head = "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
    error = fault(head + MAP.replace('rml:reference "@x"', 'rml:constant "x"^^xsd:integer'))
    assert "'x' is not an xsd:integer" in error.message
    typed = 'rml:constant "x" ; rml:datatype xsd:integer'
    assert "'x' is not an" in fault(head + MAP.replace('rml:reference "@x"', typed)).message
    error = fault(MAP.replace('"@x"', '"@x" ; rml:language "e n"'))
    assert "'e n' is not a language tag" in error.message
    error = fault(MAP.replace(SUBJECT, f"{SUBJECT} ; rml:baseIRI 'x'"))
    assert "the base IRI: 'x' is not an absolute IRI" in error.message
    error = fault(MAP.replace(":p ;", ":p ; rml:graph <urn:sensorstream:window> ;"))
    assert "<urn:sensorstream:window> cannot name a graph" in error.message


def test_names_are_those_of_the_ontology() -> None:
    schema = Schema(
        classes=frozenset({IRI("http://e/Person")}),
        datatype_properties=frozenset({IRI("http://e/p")}),
        object_properties=frozenset({IRI("http://e/knows")}),
    )
    typed = MAP.replace('"http://e/{@id}"', '"http://e/{@id}" ; rml:class :Persn')
    error = fault(typed, schema)
    assert "unknown class :Persn: did you mean :Person?" in error.message
    error = fault(MAP.replace(":p ;", ":know ;"), schema)
    assert "unknown property :know: did you mean :knows?" in error.message
    error = fault(MAP.replace(":p ;", ":knows ;"), schema)
    assert ":knows is an object property" in error.message
    error = fault(MAP.replace('"@x"', '"@x" ; rml:termType rml:IRI'), schema)
    assert ":p is a datatype property" in error.message
    right = MAP.replace('"http://e/{@id}"', '"http://e/{@id}" ; rml:class :Person')
    assert compile_rml([read_rml(HEAD + right)], schema, Timeline.INTEGER)


def test_maps_of_different_iterators_need_a_join() -> None:
    other = f" :N {SOURCE.replace('/m', '/n')} ; {SUBJECT} ."
    linked = MAP.replace('rml:reference "@x"', "rml:parentTriplesMap :N")
    with pytest.raises(LanguageError, match=r":N has another source or iterator: expected"):
        read_rml(HEAD + linked + other)


def test_what_is_no_turtle_is_an_error_with_its_line() -> None:
    with pytest.raises(LanguageError, match=r"m\.ttl:5:\d+: not Turtle: "):
        read_rml(f"{HEAD}:M a\n", "m.ttl")


def test_a_file_without_triples_maps_is_an_error() -> None:
    with pytest.raises(LanguageError, match=r"m\.ttl:1:1: there is no rml:TriplesMap here"):
        read_rml("<urn:a> <urn:b> <urn:c> .", "m.ttl")


def test_rules_are_named_after_their_maps_or_as_the_map_says() -> None:
    def names(turtle: str) -> list[str]:
        return [each.rule for each in read_rml(HEAD + turtle).maps]

    assert names(MAP) == ["M"]
    assert names(MAP.replace(":M ", "<#Some.Map> ")) == ["Some-Map"]
    assert names(MAP.replace(":M ", "<http://e/12> ")) == ["map-12"]
    assert names(MAP.replace(":M ", "[] ")) == ["map-1"]
    assert names(MAP.replace(":M ", ':M ss:rule "people" ; ')) == ["people"]


text_parts = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1)
references = text_parts.filter(lambda text: text == text.strip() != "").map(Hole)


@given(st.lists(st.one_of(text_parts, references)))
def test_a_printed_template_reads_as_the_same_parts(parts: list[str | Hole]) -> None:
    merged: list[str | Hole] = []
    for part in parts:
        if merged and isinstance(part, str) and isinstance(merged[-1], str):
            merged[-1] += part
        else:
            merged.append(part)
    assert parse_template(print_template(merged), NOWHERE) == tuple(merged)
