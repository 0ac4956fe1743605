import pytest

from sensorstream.language import parse
from sensorstream.language.ontology_names import shown, unknown_names
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI

T = "http://example.org/t#"
SCHEMA = Schema(
    classes=frozenset({IRI(f"{T}Human"), IRI("http://other/Room")}),
    object_properties=frozenset({IRI(f"{T}hasLocation")}),
    datatype_properties=frozenset({IRI(f"{T}hasXLocation")}),
)
HEAD = f"prefix : <{T}>\nprefix rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"


def faults(rule: str, schema: Schema = SCHEMA) -> list[str]:
    return [str(fault) for fault in unknown_names(parse(HEAD + rule, "f"), schema)]


def mapped(said: str) -> str:
    return f"mapping m on message {{/a}} then\ninsert individual :x {said} ."


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (mapped("a :Humann"), "f:4:24: unknown class :Humann: did you mean :Human?"),
        (mapped("a :Room"), "f:4:24: unknown class :Room: did you mean <http://other/Room>?"),
        (mapped("a :Zebra"), "f:4:24: unknown class :Zebra: expected a class of the ontology"),
        (
            mapped("; :hasXLocaton {@x}"),
            "f:4:24: unknown property :hasXLocaton: did you mean :hasXLocation?",
        ),
        (
            mapped("; :hasLocation [ a :Human ; :y 1 ]"),
            "f:4:50: unknown property :y: expected a property of the ontology",
        ),
        (
            mapped("; :hasLocation {@room}"),
            "f:4:37: :hasLocation is an object property: expected the name of an individual such "
            "as :room-{@id}",
        ),
        (
            mapped("; :hasXLocation :x-{@x}"),
            "f:4:38: :hasXLocation is a datatype property: expected a value such as {@id}, "
            '"text" or 5',
        ),
        (
            'rule r on insert :Humen as ?x then reply "a"',
            "f:3:18: unknown class :Humen: did you mean :Human?",
        ),
        (
            'rule r on change if not exists :Humen then reply "a"',
            "f:3:32: unknown class :Humen: did you mean :Human?",
        ),
        (
            'rule r on change if count :Humen > 1 then reply "a"',
            "f:3:27: unknown class :Humen: did you mean :Human?",
        ),
    ],
)
def test_a_name_the_ontology_lacks_or_means_otherwise_is_a_fault(rule: str, message: str) -> None:
    assert faults(rule) == [message]


@pytest.mark.parametrize("schema", [SCHEMA, Schema()])
def test_a_misspelt_datatype_is_a_fault_with_and_without_an_ontology(schema: Schema) -> None:
    head = "prefix xsd: <http://www.w3.org/2001/XMLSchema#>\n"
    rule = mapped("; :hasXLocation {@x}^^xsd:interger, {@x}^^xsd:int, {@x}^^:own")
    assert faults(head + rule, schema) == [
        "f:5:44: unknown datatype xsd:interger: did you mean xsd:integer?"
    ]


def test_a_variable_may_be_the_value_of_either_kind_of_property() -> None:
    rule = "rule r on insert :Human as ?x then insert individual :a ; :hasLocation ?x"
    assert faults(f"{rule} ; :hasXLocation ?x .") == []


def test_names_of_rdfs_are_always_known() -> None:
    assert faults(mapped('a rdfs:Resource ; rdfs:label "x"')) == []


def test_without_an_ontology_every_name_is_allowed() -> None:
    assert faults(mapped("a :Anything ; :at_all {@x}"), Schema()) == []


def test_an_iri_is_shown_with_the_longest_prefix_that_fits() -> None:
    file = parse("prefix a: <http://e/>\nprefix b: <http://e/b#>")
    assert [shown(file, IRI(i)) for i in ("http://e/b#c", "http://e/x", "urn:x")] == [
        "b:c",
        "a:x",
        "<urn:x>",
    ]
