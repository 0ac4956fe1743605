from __future__ import annotations

import pytest

from sensorstream.errors import ShapesError
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.shapes.shape_compiler import compile_shapes
from sensorstream.shapes.validation import Validator
from sensorstream.sparql.query_parser import parse_query
from tests.shapes.oracle import Network, found_by_pyshacl, shapes_of
from tests.shapes.test_against_pyshacl import EX, HEAD

P = IRI(f"{EX}p")
A, B = IRI(f"{EX}a"), IRI(f"{EX}b")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (":S sh:targetNode :a ; sh:not [ sh:property [ sh:path :p ; sh:node :S ] ] .", "recursive"),
        (":S sh:targetNode :a ; sh:property :S ; sh:path :p .", "recursive"),
        (":S sh:targetNode :a ; sh:expression [] .", "sh:expression"),
        (":S sh:targetNode :a ; sh:property [ sh:path [ ] ; sh:minCount 1 ] .", "path"),
        (":S sh:targetNode :a ; sh:in [ ] .", "list"),
        (":S sh:targetNode :a ; sh:nodeKind :x .", "sh:nodeKind"),
        (':S sh:targetNode :a ; sh:sparql [ sh:select "SELECT ?x { ?x ?y ?z }" ] .', "$this"),
        (':S sh:targetNode :a ; sh:sparql [ sh:select "ASK { }" ] .', "expected SELECT"),
        (
            ':S sh:targetNode :a ; sh:sparql [ sh:select "SELECT $this { FILTER(RAND() > 0) }" ] .',
            "kept in step",
        ),
        (':S sh:targetNode :a ; sh:sparql [ sh:select "SELECT $this {" ] .', "sh:select, line 1"),
        (':S sh:targetNode :a ; sh:sparql [ sh:select "SELECT $this { GRAPH ?g {} }" ] .', "GRAPH"),
    ],
)
def test_what_cannot_be_compiled_is_refused_by_name_with_its_place(text: str, told: str) -> None:
    with pytest.raises(ShapesError) as caught:
        compile_shapes(shapes_of(HEAD + text))
    assert told in caught.value.message
    assert f"{EX}S" in caught.value.message
    assert str(caught.value.position).startswith("shapes.ttl:2:1")


def test_a_query_has_a_name_an_alert_and_what_the_shape_says() -> None:
    text = (
        ":S sh:targetClass :C ; sh:property [ sh:path :p ; sh:minCount 1 ; sh:maxCount 2 ; "
        'sh:severity sh:Info ; sh:message "of {$this}: {?other}"@en, "von"@de ] .'
    )
    first, second = compile_shapes(shapes_of(HEAD + text))
    assert [first.name, second.name] == ["shape-S-p-MinCount", "shape-S-p-MaxCount"]
    alert = parse_query(first.text).alert
    assert alert is not None
    assert (alert.severity, alert.key) == ("info", "{?this}")
    assert alert.text == f"{{?this}} {EX}p: of {{?this}}: other (shape {EX}S)"
    assert first.violation(["this"], [A]).message == f"of {A}: other"


def test_a_deactivated_shape_demands_nothing() -> None:
    text = ":S sh:targetNode :a ; sh:class :C ; sh:deactivated true ; sh:property [ sh:path :p ] ."
    assert compile_shapes(shapes_of(HEAD + text)) == ()


def test_constraints_in_sparql_are_kept_in_step() -> None:
    text = """
    :S sh:targetSubjectsOf :p ; sh:property [ sh:path :p ; sh:sparql [
        sh:prefixes [ sh:declare [ sh:prefix "ex" ; sh:namespace "http://example.org/" ] ] ;
        sh:message "{?value} is more than {?limit}" ;
        sh:select '''SELECT $this ?value ?limit { $this $PATH ?value . ex:a ex:q ?limit
                   FILTER (?value > ?limit && EXISTS { $this ex:p ?x FILTER (?x = ?value) }) }'''
    ] ] .
    :T sh:targetNode :a, :b ; :least 2 .
    :AtLeast a sh:ConstraintComponent ; sh:parameter [ sh:path :least ] ; sh:validator [
        a sh:SPARQLAskValidator ; sh:message "less than {$least}" ;
        sh:ask "ASK { FILTER NOT EXISTS { $value <http://example.org/p> ?x FILTER (?x < $least) } }"
    ] ."""
    graph = shapes_of(HEAD + text)
    network, validator = Network(graph), Validator(graph)
    assert network.anew == []
    steps: list[tuple[Triple, bool]] = [
        ((A, P, Literal("3", "http://www.w3.org/2001/XMLSchema#integer")), True),
        ((A, IRI(f"{EX}q"), Literal("2", "http://www.w3.org/2001/XMLSchema#integer")), True),
        ((B, P, Literal("1", "http://www.w3.org/2001/XMLSchema#integer")), True),
        ((A, P, Literal("3", "http://www.w3.org/2001/XMLSchema#integer")), False),
    ]
    sizes = []
    for triple, there in steps:
        network.change(triple, there)
        network.settle()
        found = network.violations()
        assert set(found) == set(found_by_pyshacl(validator, network.index))
        sizes.append(len(found))
    assert sizes == [0, 1, 2, 1]
