"""Function executions: the value functions of rules, as RML-FNML and FnO name them."""

from __future__ import annotations

import pytest

from sensorstream.errors import LanguageError, MappingError
from sensorstream.language import print_rules
from sensorstream.mapping import MappingPlan, parse_document
from sensorstream.mapping.functions.function_definition import (
    Definition,
    Function,
    Library,
    ValueKind,
)
from sensorstream.mapping.rml import Surroundings, compile_rml, read_rml
from sensorstream.mapping.rml.rml_check import faults
from sensorstream.mapping.rml.rml_writer import print_rml
from sensorstream.mapping.rml.to_rules import to_rules
from sensorstream.model import xsd
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.timeline import Timeline

HEAD = """@prefix rml: <http://w3id.org/rml/> .
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix fnml: <http://semweb.mmlab.be/ns/fnml#> .
@prefix fno: <https://w3id.org/function/ontology#> .
@prefix grel: <http://users.ugent.be/~bjdmeest/function/grel.ttl#> .
@prefix f: <urn:sensorstream:function#> .
@prefix p: <urn:sensorstream:parameter#> .
@prefix ss: <urn:sensorstream:mapping#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <http://e/> .
"""
MAP = """:M rml:logicalSource [ rml:referenceFormulation rml:XPath ; rml:iterator "/m/p" ] ;
  rml:subjectMap [ rml:template "http://e/{@id}" ] ;
  rml:predicateObjectMap [ rml:predicate :p ; rml:objectMap [ %s ] ] ."""
XML = "<m><p id='1' n='ada' x='7' w='http://w/Ada'><t>a;b</t><t>c</t></p></m>"
UPPER = """rml:functionExecution [ rml:function f:upper ; rml:input [ rml:parameter p:value ;
  rml:inputValueMap [ rml:reference "@n" ] ] ]"""


def library() -> Library:
    shout = Definition(
        "shout",
        "shout",
        "louder",
        "",
        (),
        lambda call, _: Function(
            frozenset(ValueKind), ValueKind.ANY, lambda values: [f"{each}!" for each in values]
        ),
    )
    return Library(own={"shout": shout})


def values(object_map: str, turtle: str = MAP) -> list[Term]:
    mapping = read_rml(HEAD + turtle % object_map, "m.ttl", library=library())
    assert read_rml(print_rml(mapping), library=library()).maps == mapping.maps
    rules = compile_rml([mapping], Schema(), Timeline.INTEGER, Surroundings(library()))
    message = Message("m", XML.encode(), received=1)
    document = parse_document(message.content, max_depth=9)
    return [
        value
        for event in MappingPlan(rules).apply(document, message).events
        for _, _, value in event.triples
    ]


def execution(function: str, value: str, *others: str) -> str:
    inputs = "".join(
        f" ; rml:input [ rml:parameter {name} ; rml:inputValue {text} ]"
        for name, text in (each.split(" ", 1) for each in others)
    )
    return (
        f"rml:functionExecution [ rml:function {function} ; "
        f"rml:input [ rml:parameter p:value ; rml:inputValueMap [ {value} ] ]{inputs} ]"
    )


def test_a_function_changes_the_value_of_a_reference() -> None:
    assert values(UPPER) == [Literal("ADA")]


def test_it_may_be_written_without_shortcuts() -> None:
    assert values("""rml:functionExecution [ rml:functionMap [ rml:constant f:upper ] ;
      rml:input [ rml:parameterMap [ rml:constant p:value ] ;
        rml:inputValueMap [ rml:template "{@n}-{@x}" ] ] ] ;
      rml:returnMap [ rml:constant p:result ]""") == [Literal("ADA-7")]


def test_each_of_several_values_goes_through_and_may_become_several() -> None:
    split = execution("f:split", 'rml:reference "t"', 'p:separator ";"')
    assert values(split) == [Literal("a"), Literal("b"), Literal("c")]


def test_executions_nest() -> None:
    inner = execution("f:split", 'rml:reference "t"', 'p:separator ";"')
    assert values(execution("f:join", inner, 'p:separator "-"')) == [Literal("a-b-c")]


def test_the_result_has_the_datatype_and_term_type_of_its_map() -> None:
    doubled = execution("f:multiply", 'rml:reference "@x"', 'p:operand "2"')
    assert values(f"{doubled} ; rml:datatype xsd:integer") == [Literal("14", xsd.INTEGER)]
    lower = execution("f:lower", 'rml:reference "@w"')
    assert values(f"{lower} ; rml:termType rml:IRI") == [IRI("http://w/ada")]


def test_functions_of_the_users_own_have_names_too() -> None:
    assert values(execution("f:shout", 'rml:reference "@n"')) == [Literal("ada!")]


def test_subjects_languages_and_graphs_may_be_functions() -> None:
    subject = MAP.replace(
        'rml:template "http://e/{@id}"', execution("f:lower", 'rml:reference "@w"')
    )
    assert values('rml:reference "@n"', subject) == [Literal("ada")]
    tag = execution("f:substring", 'rml:reference "@n"', 'p:first "1"', 'p:last "2"')
    assert values(f'rml:reference "@n" ; rml:languageMap [ {tag} ]') == [
        Literal("ada", language="ad")
    ]


def test_the_older_vocabulary_and_the_functions_of_grel_are_understood() -> None:
    assert values("""fnml:functionValue [
      rr:predicateObjectMap [ rr:predicate fno:executes ;
        rr:objectMap [ rr:constant grel:toUpperCase ] ] ;
      rr:predicateObjectMap [ rr:predicate grel:valueParameter ;
        rr:objectMap [ rml:reference "@n" ] ] ]""") == [Literal("ADA")]
    replaced = """rml:functionExecution [ rml:function grel:string_replace ;
      rml:input [ rml:parameter grel:valueParam ; rml:inputValueMap [ rml:reference "@w" ] ] ,
        [ rml:parameter grel:param_find ; rml:inputValue "." ] ,
        [ rml:parameter grel:param_replace ; rml:inputValue "-" ] ] ; rml:return grel:stringOut"""
    assert values(replaced) == [Literal("http://w/Ada")]  # a dot is a dot, no expression


@pytest.mark.parametrize(
    ("object_map", "said"),
    [
        (execution("f:uper", 'rml:reference "@n"'), "did you mean urn:sensorstream:function#upper"),
        (execution("grel:random", 'rml:reference "@n"'), "unknown function http://users"),
        (execution("f:split", 'rml:reference "@n"'), "split needs the parameter 'separator'"),
        (
            execution("f:upper", 'rml:reference "@n"', 'p:speed "1"'),
            "upper has no parameter 'speed'",
        ),
        (execution("f:upper", 'rml:reference "@n"', ':q "1"'), "unknown parameter <http://e/q>"),
        (UPPER + " ; rml:return :x", "rml:return <http://e/x>: expected urn:sensorstream:param"),
        (UPPER + ' ; rml:reference "@n"', "expected one of rml:constant, rml:reference"),
        ("rml:functionExecution [ rml:function f:upper ]", "no input for urn:sensorstream:param"),
        ("rml:functionExecution [ ]", "expected one IRI as rml:function"),
        (UPPER.replace("rml:input [", "rml:condition :c ; rml:input ["), "rml:condition is not"),
        (
            UPPER.replace("f:upper", "f:split").replace(
                "] ] ]",
                '] ] , [ rml:parameter p:separator ; rml:inputValueMap [ rml:reference "@x" ] ] ]',
            ),
            "only the value may come from the message",
        ),
        ("fnml:functionValue [ ]", "no fno:executes"),
    ],
)
def test_what_is_wrong_with_an_execution_is_named_with_its_place(
    object_map: str, said: str
) -> None:
    with pytest.raises(LanguageError) as caught:
        read_rml(HEAD + MAP % object_map, "m.ttl")
    assert said in caught.value.message
    assert "triples map :M, property 1 (:p), object map" in caught.value.message
    assert caught.value.position is not None
    assert caught.value.position.line == 11


def test_functions_that_do_not_fit_are_faults_of_the_mapping() -> None:
    inner = execution("f:round", 'rml:reference "@x"')
    wrong = execution("f:round", inner) + " ; rml:datatype xsd:date"
    (fault,) = faults(read_rml(HEAD + MAP % wrong), Schema())
    assert "gives a number, which is not an xsd:date" in fault.message


def test_a_value_that_a_function_refuses_rejects_the_message_or_is_missing() -> None:
    rounded = execution("f:round", 'rml:reference "@n"')
    with pytest.raises(MappingError, match=r"\{@n\}, message line 1: round: 'ada' is not a number"):
        values(rounded)
    assert values(f'{rounded} ; ss:invalid "missing"') == []
    mixed = execution("f:round", 'rml:reference "@n | @x"')
    assert values(f'{mixed} ; ss:invalid "missing"') == values(
        execution("f:round", 'rml:reference "@x"')
    )


def test_functions_become_functions_of_rules() -> None:
    inner = execution("f:split", 'rml:reference "t"', 'p:separator ";"')
    read = read_rml(HEAD + MAP % execution("f:upper", inner))
    file, refused = to_rules(read, Schema())
    assert not refused
    assert '{t |> split ";" |> upper}' in print_rules(file)
