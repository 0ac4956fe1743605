"""What stands in for missing values, lists, shared nodes and known individuals."""

from __future__ import annotations

import pytest

from sensorstream.errors import InvalidValue, LanguageError, MappingError
from sensorstream.language import parse
from sensorstream.mapping import MappedMessage, check, compile_mapping, parse_document
from sensorstream.mapping.reference_data import ReferenceData, reference_data
from sensorstream.model import rdf, xsd
from sensorstream.model.events import Message
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import OWL
from sensorstream.model.xsd import XSD
from tests.mapping.test_mapping_compiler import n

T = "http://example.org/t#"
HEAD = f"prefix : <{T}>\nprefix xsd: <{XSD}>\n"


SCHEMA = Schema(
    classes=frozenset({n("Room"), n("Office"), n("Human")}),
    object_properties=frozenset({n("in"), n("way")}),
    datatype_properties=frozenset({n("x"), n("name"), n("code"), n("label"), n("when")}),
    ranges_of={
        n("x"): frozenset({IRI(xsd.INTEGER)}),
        n("code"): frozenset({IRI(xsd.INTEGER)}),
        n("when"): frozenset({IRI(xsd.DATE_TIME)}),
    },
    subclasses_of={n("Room"): frozenset({n("Office")})},
)
STATIC: tuple[Triple, ...] = (
    (n("hall"), rdf.TYPE, n("Room")),
    (n("hall"), n("code"), Literal("7", xsd.INTEGER)),
    (n("hall"), n("label"), Literal("Hall")),
    (n("lab"), rdf.TYPE, n("Office")),
    (n("lab"), n("code"), Literal("08", xsd.INTEGER)),
    (n("attic"), rdf.TYPE, IRI(f"{OWL}NamedIndividual")),
    (n("attic"), n("code"), Literal("9", xsd.INTEGER)),
    (n("Room"), rdf.TYPE, IRI(f"{OWL}Class")),
)
TABLES = {"f": {"rooms": {"A1": "hall", "A2": "cellar"}}}
REFERENCE = reference_data(TABLES, STATIC)
TABLE = 'table rooms from "rooms.csv" key "code" value "room"\n'


def apply(rules: str, xml: str, reference: ReferenceData = REFERENCE) -> MappedMessage:
    plan = compile_mapping([parse(HEAD + rules, "f")], SCHEMA, Timeline.INTEGER, reference)
    document = parse_document(xml.encode(), max_depth=9)
    return plan.apply(document, Message("m1", xml.encode(), received=100))


def triples(rules: str, xml: str) -> list[Triple]:
    return [triple for event in apply(rules, xml).events for triple in event.triples]


def said(value: str, xml: str) -> list[Term]:
    rules = f"mapping m on message {{/M}} then insert individual :i ; {value} ."
    return [o for s, _, o in triples(rules, xml) if s == n("i")]


def fails(value: str, xml: str) -> str:
    with pytest.raises(MappingError) as caught:
        said(value, xml)
    return str(caught.value)


def integer(text: str) -> Literal:
    return Literal(text, xsd.INTEGER)


def integers(*texts: str) -> list[Literal]:
    return [*map(integer, texts)]


@pytest.mark.parametrize(
    ("value", "xml", "made"),
    [
        (':name {@a |> upper |> replace "O" by "0"}', "<M a='room'/>", [Literal("R00M")]),
        (":x {@a |> * 2}", "<M a='36.5'/>", [integer("73")]),
        (':name "{@a |> lower} {@b |> default "?"}"', "<M a='X'/>", [Literal("x ?")]),
        (":in :room-{@a |> lower}", "<M a='B2'/>", [n("room-b2")]),
        (
            ':name {@a |> split "," |> trim}@en',
            "<M a='a, b'/>",
            [Literal(t, language="en") for t in "ab"],
        ),
        (":name {@a |> lookup rooms}", "<M a='A1'/>", [Literal("hall")]),
        (":name {@a |> lookup rooms}", "<M a='B9'/>", []),
        # What stands in for a missing value
        (":x {@a} or 5", "<M/>", [integer("5")]),
        (":x {@a} or 5", "<M a='6'/>", [integer("6")]),
        (":x {@a} or {@b} or 5", "<M b='7'/>", [integer("7")]),
        (':name {@a} or "no {@b}"@en', "<M b='name'/>", [Literal("no name", language="en")]),
        (":in :r-{@a} or :nowhere", "<M/>", [n("nowhere")]),
        (":x {@a} or 5, 6", "<M/>", integers("5", "6")),
        (":x {@a} if valid", "<M a='many'/>", []),
        (":x {@a} if valid", "<M a='7'/>", [integer("7")]),
        (":x {@a} if valid or 5", "<M a='many'/>", [integer("5")]),
        (":x {@a |> * 2} if valid or 5", "<M a='many'/>", [integer("5")]),
        (":x {@a} if valid or {@b} if valid or 5", "<M a='x' b='y'/>", [integer("5")]),
        # Of several values those that are valid
        (':x {@a |> split "," |> trim} if valid or 9', "<M a='5, n/a, 7'/>", integers("5", "7")),
        (':x {@a |> split "," |> * 2} if valid', "<M a='5,n/a,7'/>", integers("10", "14")),
        (':x {@a |> split ","} if valid or 9', "<M a='n/a,-'/>", [integer("9")]),
        (":x {b} if valid", "<M><b>5</b><b>n/a</b><b>7</b></M>", integers("5", "7")),
        (
            ":x {b |> + 1} if valid, {b |> + 1 |> default 0} if valid",
            "<M><b>x</b></M>",
            [integer("0")],
        ),
        (
            ":in <{b}> if valid or :nowhere",
            "<M><b>no IRI</b><b>http://e/hall</b></M>",
            [IRI("http://e/hall")],
        ),
        (":in known :Room with :code {b} if valid", "<M><b>?</b><b>8</b></M>", [n("lab")]),
        (':name "{b |> + 1} m" if valid', "<M><b>x</b><b>1</b></M>", [Literal("2 m")]),
        # All values make one geometry, which is valid or not.
        (":name {b |> wkt rings lat lon} if valid", "<M><b>0 0 0 1 1 1 0 0</b><b>1</b></M>", []),
        (":x {@a} or reject", "<M a='7'/>", [integer("7")]),
        # Known individuals
        (":in known :{@a}", "<M a='hall'/>", [n("hall")]),
        (":in known :{@a}", "<M a='cellar'/>", []),
        (":in known :{@a}", "<M a='Room'/>", []),
        (":in known :attic", "<M/>", [n("attic")]),
        (":in known :{@a |> lookup rooms} or :nowhere", "<M a='A2'/>", [n("nowhere")]),
        (":in known :{b}", "<M><b>hall</b><b>cellar</b><b>lab</b></M>", [n("hall"), n("lab")]),
        (":in known :Room with :code {@a}", "<M a='07'/>", [n("hall")]),
        (":in known :Room with :code {@a}", "<M a='8'/>", [n("lab")]),
        (":in known :Room with :code {@a}", "<M a='9'/>", []),
        (":in known :Office with :code {@a}", "<M a='7'/>", []),
        (':in known :Room with :label "H{@a}"', "<M a='all'/>", [n("hall")]),
        (":in known :Room with :code 7", "<M/>", [n("hall")]),
        (":in known :Room with :code {@a} if valid or :nowhere", "<M a='?'/>", [n("nowhere")]),
    ],
)
def test_a_value_becomes_terms(value: str, xml: str, made: list[Term]) -> None:
    rules = f"{TABLE}mapping m on message {{/M}} then insert individual :i ; {value} ."
    assert [o for s, _, o in triples(rules, xml) if s == n("i")] == made


@pytest.mark.parametrize(
    ("value", "xml", "fault"),
    [
        (":x {@a |> * 2}", "<M>\n</M>", None),
        (
            ":x {b |> * 2}",
            "<M>\n<b>1</b>\n<b>many</b></M>",
            (59, "{b |> * 2}", 3, "*: 'many' is not a number: expected e.g."),
        ),
        (
            ":x {@a |> upper}",
            "<M a='7a'/>",
            (59, "{@a |> upper}", 1, ":x: '7A' is not an xsd:integer"),
        ),
        (
            ":x {@a} or reject",
            "<M/>",
            (58, "{@a}", 1, ":x: found no value, which the rule rejects"),
        ),
        (
            ":in known :{@a} or reject",
            "<M a='cellar'/>",
            (59, "known :{@a}", 1, ":in: found no value, which the rule"),
        ),
        (
            ":x {@a} if valid or reject",
            "<M a='many'/>",
            (58, "{@a}", 1, ":x: found no valid value, which the rule rejec"),
        ),
        (":x {@a} or {@b}", "<M b='many'/>", (67, "{@b}", 1, ":x: 'many'")),
    ],
)
def test_a_value_that_must_not_be_missing_or_invalid_rejects_the_message(
    value: str, xml: str, fault: tuple[int, str, int, str] | None
) -> None:
    if fault is None:
        assert said(value, xml) == []
    else:
        column, part, line, told = fault
        where = f"f:3:{column}: rule m, {part}, message line {line}"
        assert fails(value, xml).startswith(f"{where}: {told}")


def test_a_missing_value_can_leave_the_whole_individual_out() -> None:
    rules = """mapping m on message {/M} for each $p in {p}
    then insert individual :h-{$p/@id} a :Human
      ; :in [ a :Room ; :x {$p/@room} ] ; :name {$p/@name} or skip individual ."""
    xml = "<M><p id='1' room='5'/><p id='2' room='6' name='Ada'/></M>"
    mapped = apply(rules, xml)
    assert mapped.individuals == (n("h-2"),)
    (event,) = mapped.events
    node = BlankNode("_:m1b2")
    assert set(event.triples) == {
        (n("h-2"), rdf.TYPE, n("Human")),
        (n("h-2"), n("in"), node),
        (node, rdf.TYPE, n("Room")),
        (node, n("x"), integer("6")),
        (n("h-2"), n("name"), Literal("Ada")),
    }


def test_an_update_that_is_left_out_replaces_nothing() -> None:
    rules = """mapping m on message {/M}
    then update individual :i ; :x {@x} ; :name {@name} or skip individual .
    insert individual :j ; :x {@x} ."""
    (event,) = apply(rules, "<M x='1'/>").events
    assert event.triples == ((n("j"), n("x"), integer("1")),)
    assert event.replaces == frozenset()


def test_what_an_invalid_node_has_said_does_not_stay() -> None:
    value = ":in [ a :Room ; :name {@n} ; :x {@x} ] if valid or :nowhere"
    rules = f"mapping m on message {{/M}} then insert individual :i ; {value} ."
    assert triples(rules, "<M n='hall' x='?'/>") == [(n("i"), n("in"), n("nowhere"))]
    assert len(triples(rules, "<M n='hall' x='7'/>")) == 4


def test_a_value_that_one_property_leaves_out_is_refused_by_another() -> None:
    rule = "mapping m on message {/M} then insert individual :i ; :x {b |> + 1} if valid"
    xml = "<M><b>1</b><b>x</b></M>"
    assert triples(f"{rule} .", xml) == [(n("i"), n("x"), integer("2"))]
    with pytest.raises(InvalidValue, match="'x' is not a number"):
        triples(f"{rule} ; :code {{b |> + 1}} .", xml)


def list_of(found: list[Triple], head: Term) -> list[Term]:
    """The members of a list, which must be well-formed."""
    members: list[Term] = []
    while head != rdf.NIL:
        assert isinstance(head, BlankNode)
        ((_, _, member),) = [t for t in found if t[:2] == (head, rdf.FIRST)]
        ((_, _, head),) = [t for t in found if t[:2] == (head, rdf.REST)]
        members.append(member)
    return members


@pytest.mark.parametrize(
    ("items", "xml", "members"),
    [
        ("{b}", "<M><b>x</b><b>y</b></M>", [Literal("x"), Literal("y")]),
        ("5 {@a}^^xsd:integer 1.5", "<M a='7'/>", None),
        (":start :{b} :end", "<M><b>x</b></M>", [n("start"), n("x"), n("end")]),
        ("{@a} or :none", "<M/>", [n("none")]),
        ('"{@a}" {@b}', "<M b='x'/>", [Literal("x")]),
    ],
)
def test_a_list_has_its_members_in_order(items: str, xml: str, members: list[Term] | None) -> None:
    rules = f"mapping m on message {{/M}} then insert individual :i ; :way ( {items} ) ."
    found = triples(rules, xml)
    (head,) = [o for s, p, o in found if (s, p) == (n("i"), n("way"))]
    if members is None:
        members = [integer("5"), integer("7"), Literal("1.5", xsd.DECIMAL)]
    assert list_of(found, head) == members
    assert len(found) == 1 + 2 * len(members)


def test_a_list_of_nothing_is_missing() -> None:
    assert said(":way ( {@a} )", "<M/>") == []
    assert said(":way ( {@a} ) or :nowhere", "<M/>") == [n("nowhere")]


def test_lists_and_nodes_nest() -> None:
    rules = """mapping m on message {/M} then insert individual :i
    ; :way ( [ :x {@x} ; :way ( {@x} ) ] ( 1 2 ) ) ."""
    found = triples(rules, "<M x='7'/>")
    (head,) = [o for s, p, o in found if (s, p) == (n("i"), n("way"))]
    node, inner = list_of(found, head)
    (nested,) = [o for s, p, o in found if (s, p) == (node, n("way"))]
    assert list_of(found, nested) == [Literal("7")]
    assert list_of(found, inner) == [integer("1"), integer("2")]


def test_a_named_node_is_one_node_in_all_rules_of_a_message() -> None:
    rules = """mapping a on message {/M} for each $p in {p}
    then insert individual :h-{$p/@id} ; :in _:room-{$p/@room} .
    mapping b on message {/M} for each $r in {r}
    then insert individual _:room-{$r/@id} a :Room ; :name {$r/@name} ."""
    xml = (
        "<M><p id='1' room='k'/><p id='2' room='k'/><p id='3'/>"
        "<r id='k' name='Kitchen'/><r id='h' name='Hall'/></M>"
    )
    mapped = apply(rules, xml)
    kitchen, hall = BlankNode("_:m1b1"), BlankNode("_:m1b2")
    assert set(mapped.events[0].triples) == {
        (n("h-1"), n("in"), kitchen),
        (n("h-2"), n("in"), kitchen),
        (kitchen, rdf.TYPE, n("Room")),
        (kitchen, n("name"), Literal("Kitchen")),
        (hall, rdf.TYPE, n("Room")),
        (hall, n("name"), Literal("Hall")),
    }
    assert mapped.individuals == (n("h-1"), n("h-2"))


def test_a_node_that_the_message_does_not_name_is_an_error() -> None:
    rules = "mapping m on message {/M} then insert individual _:r-{@id} a :Room ."
    with pytest.raises(MappingError, match=r"\{@id\}.*found nothing, expected an individual's"):
        apply(rules, "<M/>")


def test_a_condition_may_use_value_functions() -> None:
    rules = """mapping m on message {/M} for each $p in {p}
    if {$p/@code |> extract "^A"} then insert individual :i-{$p/@code} a :Human ."""
    mapped = apply(rules, "<M><p code='A1'/><p code='B1'/><p/></M>")
    assert mapped.individuals == (n("i-A1"),)


@pytest.mark.parametrize(
    ("value", "faults"),
    [
        (":x {@a |> date iso}", ["65: date gives a time, which is not an xsd:integer"]),
        (":when {@a |> round}", ["68: round gives a number, which is not an xsd:dateTime"]),
        (":when {@a |> day iso}", ["68: day gives a date, which is not an xsd:dateTime"]),
        (":name {@a |> round}^^xsd:date", ["68: round gives a number, which is not an xsd:date"]),
        (":name {@a |> date iso |> + 1}", ["80: + takes a text or a number, not a time"]),
        (":name {@a |> round |> date iso}", []),
        (":x {@a |> default 1.5}", ["65: the default is invalid: '1.5' is not an xsd:integer"]),
        (':x {@a |> default "?" |> + 1}', ["65: the default is invalid: +: '?' is not a number"]),
        (":x {@a |> default 1.5 |> round}", []),
        (":x {@a |> uper}, {@b |> trim 5}", ["65: unknown function", "79: trim is not used so"]),
        (":in :r-{@a |> uper}", ["69: unknown function uper: did you mean upper?"]),
        (":x {@a} or 1.5", ["66: '1.5' is not an xsd:integer"]),
        (":x {@a} or :room", ["66: :x is a datatype property: expected a value"]),
        (":in {@a} or reject", ["59: :in is an object property: expected the name"]),
        (":x ( {@a} )", ["58: :x is a datatype property: expected a value"]),
        (":in known :Hall", ["65: unknown individual :Hall: did you mean :hall?"]),
        (":in known :Roof with :code 7", ["65: unknown class :Roof: did you mean :Room?"]),
        (":in known :Room with :cod 7", ["76: unknown property :cod: did you mean :code?"]),
        (":in known :Room with :in 7", ["76: :in is an object property: expected one that tells"]),
        (":in known :Room with :code 7.5", ["82: '7.5' is not an xsd:integer"]),
        (":name {@a |> lookup room}", ["75: unknown table 'room': did you mean rooms?"]),
    ],
)
def test_a_fault_of_a_value_is_found_before_any_message(value: str, faults: list[str]) -> None:
    rules = f"{HEAD}mapping m on message {{/M}} then insert individual :i ; {value} ."
    found = check([parse(rules, "f")], SCHEMA, REFERENCE)
    shortened = [
        str(each)[4:][: len(expected)] for each, expected in zip(found, faults, strict=True)
    ]
    assert shortened == faults


SAYS = "mapping m on message {/M} then insert individual :i ; :x "
FIRES = "rule r on change then insert individual "
NOT_HERE = "selects nodes: expected an XPath without value functions"


@pytest.mark.parametrize(
    ("rules", "error"),
    [
        (
            "mapping m on message {/M |> trim} then insert individual :i a :Room .",
            "29: 'on message'",
        ),
        (
            "mapping m on message {/M} for each $p in {p |> trim} then insert individual :i a :R .",
            "48: 'for each'",
        ),
        ("message each {/M |> trim}", "21: 'message each'"),
    ],
)
def test_what_selects_nodes_has_no_value_functions(rules: str, error: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(HEAD + rules, "f")
    assert str(caught.value).startswith(f"f:3:{error} {NOT_HERE}")


@pytest.mark.parametrize(
    ("rules", "error"),
    [
        (FIRES + ":i ; :x {?a |> trim} .", "3:49: an XPath belongs to mapping rules"),
        ('rule r on change then reply "{?a |> trim}"', "3:37: '|>' belongs to mapping rules"),
        (FIRES + ":i ; :x 1 or 2 .", "3:49: 'or' or 'if valid' belongs to mapping rules"),
        (FIRES + "_:i ; :x 1 .", "3:41: a node such as _:place belongs to mapping rules"),
        (FIRES + ":i ; :x ( 1 ) .", "3:49: '(' belongs to mapping rules"),
        (FIRES + ":i ; :x known :y .", "3:49: 'known' belongs to mapping rules"),
        (
            'table a from "a" key "k" value "v"\ntable a from "b" key "k" value "v"',
            "4:7: table 'a' is declared twice",
        ),
        (SAYS + "{@a |> } .", "3:65: nothing stands here: expected a value function such as trim"),
        (SAYS + "{@a |> 5} .", "3:65: unexpected '5': expected a value function such as trim"),
        (
            SAYS + "{@a |> trim ?} .",
            "3:70: unexpected '?' after trim: expected a \"text\", a number, a word or |>",
        ),
        (SAYS + "{|> trim} .", "3:59: the braces are empty"),
    ],
)
def test_what_no_rule_can_mean_is_a_fault_of_the_file(rules: str, error: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(HEAD + rules, "f")
    assert str(caught.value).startswith(f"f:{error}")
