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


def faults(text: str, schema: Schema = SCHEMA) -> list[str]:
    return [str(fault) for fault in unknown_names(parse(HEAD + text, "f"), schema)]


def mapped(said: str) -> str:
    return f"mapping m on message {{/a}} then\ninsert individual :x {said} ."


def rule(condition: str) -> str:
    return f'rule r {condition} then reply "a"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (mapped("a :Humann"), "4:24: unknown class :Humann: did you mean :Human?"),
        (mapped("a :Room"), "4:24: unknown class :Room: did you mean <http://other/Room>?"),
        (mapped("a :Zebra"), "4:24: unknown class :Zebra: expected a class of the ontology"),
        (
            mapped("; :hasXLocaton {@x}"),
            "4:24: unknown property :hasXLocaton: did you mean :hasXLocation?",
        ),
        (
            mapped("; :hasLocation [ a :Human ; :y 1 ]"),
            "4:50: unknown property :y: expected a property of the ontology",
        ),
        (
            mapped("; :hasLocation {@room}"),
            "4:37: :hasLocation is an object property: expected the name of an individual such "
            "as :room-{@id}",
        ),
        (
            mapped("; :hasXLocation :x-{@x}"),
            "4:38: :hasXLocation is a datatype property: expected a value such as {@id}, "
            '"text" or 5',
        ),
        (rule("on insert :Humen as ?x"), "3:18: unknown class :Humen: did you mean :Human?"),
        (
            rule("on change if not exists :Humen"),
            "3:32: unknown class :Humen: did you mean :Human?",
        ),
        (rule("on change if count :Humen > 1"), "3:27: unknown class :Humen: did you mean :Human?"),
    ],
)
def test_a_name_the_ontology_lacks_or_means_otherwise_is_a_fault(text: str, message: str) -> None:
    assert faults(text) == [f"f:{message}"]


@pytest.mark.parametrize("schema", [SCHEMA, Schema()])
def test_a_misspelt_datatype_is_a_fault_with_and_without_an_ontology(schema: Schema) -> None:
    head = "prefix xsd: <http://www.w3.org/2001/XMLSchema#>\n"
    text = mapped("; :hasXLocation {@x}^^xsd:interger, {@x}^^xsd:int, {@x}^^:own")
    assert faults(head + text, schema) == [
        "f:5:44: unknown datatype xsd:interger: did you mean xsd:integer?"
    ]


def test_a_variable_may_be_the_value_of_either_kind_of_property() -> None:
    text = "rule r on insert :Human as ?x then insert individual :a ; :hasLocation ?x"
    assert faults(f"{text} ; :hasXLocation ?x .") == []


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
