"""Classes, languages and variables whose values a message gives."""

from __future__ import annotations

import pytest

from sensorstream.errors import InvalidValue, LanguageError, MappingError
from sensorstream.language import parse
from sensorstream.mapping import check, compile_mapping, parse_document
from sensorstream.model import rdf
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import RDF

E = "http://e.org/"
HEAD = f"prefix : <{E}>\nprefix rdf: <{RDF}>\nmapping m on message {{/m}} "
SCHEMA = Schema(
    classes=frozenset({IRI(f"{E}Storm"), IRI(f"{E}Flood")}),
    object_properties=frozenset({IRI(f"{E}q")}),
    datatype_properties=frozenset({IRI(f"{E}p")}),
    ranges_of={},
)


def said(rule: str, xml: str, schema: Schema = SCHEMA, name: str = f"{E}p") -> list[Term]:
    """The values of a property for a message."""
    plan = compile_mapping([parse(HEAD + rule, "f")], schema, Timeline.INTEGER)
    events = plan.apply(parse_document(xml.encode(), max_depth=9), Message("m1", b"", 1)).events
    return [o for event in events for _, p, o in event.triples if p == name]


def classes(rule: str, xml: str, schema: Schema = SCHEMA) -> list[Term]:
    return said(rule, xml, schema, rdf.TYPE)


def faults(rule: str) -> list[str]:
    try:
        return [fault.message for fault in check([parse(HEAD + rule, "f")], SCHEMA)]
    except LanguageError as error:
        return [error.message]


# Classes


@pytest.mark.parametrize("written", ["a :{@k}", "a <{concat('http://e.org/', @k)}>"])
def test_a_message_may_name_a_class(written: str) -> None:
    rule = f"then insert individual :i {written}, :Flood ; :p 1 ."
    assert classes(rule, "<m k='Storm'/>") == [f"{E}Flood", f"{E}Storm"]


def test_a_class_that_is_missing_is_left_out() -> None:
    rule = "then insert individual :i a :{@k}, :Flood ; :p 1 ."
    assert classes(rule, "<m/>") == [f"{E}Flood"]


def test_several_nodes_are_several_classes() -> None:
    rule = "then insert individual :i a :{k} ."
    assert classes(rule, "<m><k>Storm</k><k>Flood</k></m>") == [f"{E}Storm", f"{E}Flood"]
    assert classes(rule, "<m/>") == []


def test_a_class_that_the_ontology_lacks_is_invalid() -> None:
    rule = "then insert individual :i a :{@k} ."
    with pytest.raises(InvalidValue) as error:
        said(rule, "<m>\n</m>".replace("<m", "<m k='Strom'"))
    assert str(error.value) == (
        "f:3:57: rule m, {@k}, message line 1: unknown class :Strom: did you mean :Storm?"
    )
    assert classes(rule, "<m k='Strom'/>", Schema()) == [f"{E}Strom"]


def test_the_class_of_a_node_may_be_named_too() -> None:
    rule = "then insert individual :i ; :q [ a :{@k} ], [ a :{@l} ; :p {@x} ] ."
    assert classes(rule, "<m k='Storm' x='1'/>") == [f"{E}Storm"]
    with pytest.raises(InvalidValue, match="unknown class"):
        said(rule, "<m k='Nope'/>")


def test_rdf_type_takes_the_policies_of_values() -> None:
    rule = "then insert individual :i ; rdf:type :{@k} if valid or :Flood ."
    assert classes(rule, "<m k='Storm'/>") == [f"{E}Storm"]
    assert classes(rule, "<m k='Nope'/>") == classes(rule, "<m/>") == [f"{E}Flood"]
    rule = "then insert individual :i ; rdf:type :{k} if valid or :Flood ."
    assert classes(rule, "<m><k>Nope</k><k>Storm</k></m>") == [f"{E}Storm"]


@pytest.mark.parametrize("value", ["{@k}", '"Storm"', "5", "[ :p 1 ]", "( :Storm )", "_:x"])
def test_rdf_type_takes_nothing_but_classes(value: str) -> None:
    (fault,) = faults(f"then insert individual :i ; rdf:type {value} .")
    assert fault.startswith("rdf:type takes a class")


def test_a_constant_of_rdf_type_is_checked_as_a_class() -> None:
    assert faults("then insert individual :i ; rdf:type :Strom .") == [
        "unknown class :Strom: did you mean :Storm?"
    ]


def test_properties_and_datatypes_have_no_holes() -> None:
    assert faults("then insert individual :i ; :{@p} 1 .") == ["a property cannot have holes"]
    assert faults("then insert individual :i ; <{@p}> 1 .") == ["a property cannot have holes"]
    assert faults("then insert individual :i ; :p {@x}^^:{@d} .") == [
        "a datatype cannot have holes"
    ]


# Languages


def test_a_message_may_name_the_language() -> None:
    rule = 'then insert individual :i ; :p {t}@{@l}, "<{t[1]}>"@{@l |> lower} .'
    assert said(rule, "<m l='de-AT'><t>a</t><t>b</t></m>") == [
        Literal("a", language="de-AT"),
        Literal("b", language="de-AT"),
        Literal("<a>", language="de-at"),
    ]


def test_a_text_without_its_language_is_missing() -> None:
    assert said("then insert individual :i ; :p {t}@{@l} .", "<m><t>a</t></m>") == []
    rule = "then insert individual :i ; :p {t}@{@l} or {t} ."
    assert said(rule, "<m><t>a</t></m>") == [Literal("a")]


def test_a_language_that_is_none_is_invalid() -> None:
    xml = "<m l='en_GB'><t>a</t></m>"
    with pytest.raises(InvalidValue, match="'en_GB' is not a language tag"):
        said("then insert individual :i ; :p {t}@{@l} .", xml)
    assert said("then insert individual :i ; :p {t}@{@l} if valid or 5 .", xml)[0] == Literal(
        "5", "http://www.w3.org/2001/XMLSchema#integer"
    )


def test_one_text_has_one_language() -> None:
    with pytest.raises(MappingError, match="found 2 values, expected one language"):
        said("then insert individual :i ; :p {t}@{l} .", "<m><t>a</t><l>en</l><l>de</l></m>")


# Variables


def test_a_variable_has_the_nodes_of_its_path() -> None:
    rule = (
        "for each $g in {g} let $x = {$g/x[@ok]} let $n = {count($x)} let $last = {$x[last()]/@v} "
        "if {$n > 1} then insert individual :i ; :p {$x}, {$x/@v}, {$n}, {$last}, {string($x)} ."
    )
    xml = "<m><g><x ok='' v='7'>a</x><x>b</x><x ok='' v='8'>c</x></g><g><x ok=''>d</x></g></m>"
    assert said(rule, xml) == [Literal(each) for each in ("a", "c", "7", "8", "2")]


def test_a_variable_has_what_functions_return() -> None:
    rule = (
        'let $k = {@k |> split "," |> upper} if {count($k) = 2 and $k = "B"} '
        "then insert individual :i-{$k[2]} a :Storm ; :p {$k}, {concat($k[1], '!')} ."
    )
    assert said(rule, "<m k='a,b'/>") == [Literal(each) for each in ("A", "B", "A!")]
    assert said(rule, "<m/>") == []


def test_a_missing_variable_is_missing() -> None:
    rule = "let $a = {@a} let $n = {@a * 2} then insert individual :i a :Storm ; :p {$a}, {$n} ."
    assert said(rule, "<m/>") == []
    assert said(rule, "<m a='3'/>") == [Literal("3"), Literal("6")]


def test_a_variable_is_of_its_turn() -> None:
    rule = "for each $x in {x} let $v = {$x/@v} then insert individual :i ; :p {$v} ."
    assert said(rule, "<m><x v='1'/><x/><x v='3'/></m>") == [Literal("1"), Literal("3")]


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ("let $x = {$y} ", "unknown variable $y: expected none is bound here"),
        ("for each $x in {x} let $x = {@a} ", "$x is bound twice: expected another name"),
        ("let $x = {@a} let $x = {@b} ", "$x is bound twice: expected another name"),
        ("let $x = {f(} ", "unknown function f(): expected one of XPath 1.0"),
        ("let $x = {@a |> nope} ", "unknown function nope"),
        ("let $n = {count(x)} if {$n/@a} ", "not XPath 1.0: Invalid type"),
    ],
)
def test_a_variable_is_checked(rule: str, fault: str) -> None:
    found = faults(f"{rule}then insert individual :i a :Storm .")
    assert found
    assert found[0].startswith(fault)


def test_let_is_a_name_elsewhere() -> None:
    rules = (
        f"prefix let: <{E}>\nmapping let on message {{/m}} then insert individual let:let a let:C ."
    )
    plan = compile_mapping([parse(rules)], Schema(), Timeline.INTEGER)
    mapped = plan.apply(parse_document(b"<m/>", max_depth=9), Message("m1", b"", 1))
    assert mapped.individuals == (f"{E}let",)


# Of XML Schema instances

XSI = "xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'"


@pytest.mark.parametrize("nil", ["true", "1"])
def test_an_element_that_is_nil_is_missing(nil: str) -> None:
    rule = "then insert individual :i ; :p {a} or {b} ."
    assert said(rule, f"<m {XSI}><a xsi:nil='{nil}'>0</a><b>5</b></m>") == [Literal("5")]
    assert said(rule, f"<m {XSI}><a xsi:nil='false'>0</a><b>5</b></m>") == [Literal("0")]


def test_the_type_of_an_element_needs_no_declaration() -> None:
    rule = "then insert individual :i a :{substring-after(@xsi:type, ':')} ."
    assert classes(rule, f"<m {XSI} xsi:type='ns:Storm'/>") == [f"{E}Storm"]
    own = "prefix : <http://e.org/>\nxmlns xsi = 'urn:x'".replace("'", '"')
    file = parse(f"{own}\nmapping m on message {{/m}} then insert individual :i ; :p {{@xsi:a}} .")
    assert file.namespace_map == {"xsi": "urn:x"}


# Named graphs


def graphs(rule: str, xml: str) -> list[tuple[str, str]]:
    """The individuals of a message with their graphs."""
    plan = compile_mapping([parse(HEAD + rule, "f")], SCHEMA, Timeline.INTEGER)
    (event,) = plan.apply(parse_document(xml.encode(), max_depth=9), Message("m", b"", 1)).events
    return [(str(triple[0]), str(graph)) for triple, graph in event.graphs]


def test_an_individual_may_be_said_in_a_graph() -> None:
    rule = (
        (
            "then insert individual :a a :Storm in graph :g-{@g} at {@t} ; :q [ :p 1 ] "
            "insert individual :b a :Storm in graph <{@iri}> insert individual :c a :Storm ."
        )
        .replace("] insert", "] . insert")
        .replace("> insert", "> . insert")
    )
    xml = "<m g='1' iri='urn:g' t='1'/>"
    found = dict(graphs(rule, xml))
    assert found.pop("_:mb1") == f"{E}g-1"
    assert found == {f"{E}a": f"{E}g-1", f"{E}b": "urn:g"}


def test_a_triple_may_be_in_several_graphs() -> None:
    one = "insert individual :a a :Storm{} . "
    rule = "then " + one.format(" in graph :g") + one.format("") + one.format(" in graph :h")
    assert graphs(rule, "<m/>") == [(f"{E}a", "None"), (f"{E}a", f"{E}g"), (f"{E}a", f"{E}h")]


@pytest.mark.parametrize(
    ("xml", "fault"),
    [
        ("<m/>", "found nothing, expected a graph's name"),
        ("<m g='x y'/>", "'x y' is not an absolute IRI"),
        ("<m g='urn:sensorstream:window'/>", "are reserved"),
    ],
)
def test_a_graph_without_a_name_is_an_error(xml: str, fault: str) -> None:
    with pytest.raises(MappingError, match=fault):
        graphs("then insert individual :a a :Storm in graph <{@g}> .", xml)


def test_a_reserved_graph_is_found_by_the_check() -> None:
    (fault,) = faults("then insert individual :a a :Storm in graph <urn:sensorstream:static> .")
    assert "are reserved" in fault


def test_semantic_rules_have_no_graphs() -> None:
    rule = f"prefix : <{E}>\nrule r on message then insert individual :a a :C in graph :g ."
    with pytest.raises(LanguageError, match="'in graph' belongs to mapping rules"):
        parse(rule)
