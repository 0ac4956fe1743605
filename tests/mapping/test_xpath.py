import pytest
from lxml import etree

from sensorstream.errors import Position
from sensorstream.language.syntax import Hole
from sensorstream.mapping.xpath import Nodes, compile_xpath, faults, line_of, texts

ROOT = etree.fromstring(
    b"""<Message xmlns:m="urn:m" m:id="9" room="a">
  <person id="1" m:id="m1"><place x="72"/><place x=" 8 "/></person>
  <person id="2"><name> Ada <b>L.</b> </name><m:place x="5"/></person>
  <empty> </empty><o/><o/><o/>
</Message>"""
)
NAMESPACES = {"m": "urn:m"}
FIRST, SECOND = ROOT.findall("person")


def problems(text: str, *, nodes: bool = False) -> list[str]:
    hole = Hole(text, position=Position("f", 3, 11))
    return [str(fault) for fault in faults(hole, NAMESPACES, ("person", "x"), nodes=nodes)]


@pytest.mark.parametrize(
    "text",
    [
        "/Message/Event/Tracker[@type='FaceTracker']",
        "number($person/@certainty) >= 50 and not($x)",
        "m:a//m:*[position() = last()]/text() | ../@*",
        "child::a/ancestor-or-self::node()[1]",
        "a and (b or c) div (2)",
        "processing-instruction('x')",
        "@xml:lang",
        "normalize-space('a:b $c')",
    ],
)
def test_correct_expressions_have_no_faults(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$persn/@id", "f:3:11: unknown variable $persn: expected $person, $x"),
        ("a/n:b", "f:3:13: undeclared XML namespace prefix 'n': expected 'xmlns n = \"uri\"'"),
        ("a[lenght(.) > 2]", "f:3:13: unknown function lenght(): expected one of XPath 1.0"),
        ("nummber(@x)", "f:3:11: unknown function nummber(): did you mean number()?"),
        ("a[", "f:3:13: not XPath 1.0: invalid expression"),
        ("a\n/b ]", "f:4:4: not XPath 1.0: invalid expression"),
        ("'abc", "f:3:11: not XPath 1.0: unexpected '''"),
        ("a ; b", "f:3:13: not XPath 1.0: unexpected ';'"),
        ("number(1, 2)", "f:3:11: not XPath 1.0: Invalid number of arguments"),
        ("count('a')", "f:3:11: not XPath 1.0: Invalid type"),
    ],
)
def test_a_fault_is_named_at_its_column(text: str, message: str) -> None:
    (problem,) = problems(text)
    assert problem.startswith(message)


def test_a_path_that_must_find_nodes_must_not_be_a_value() -> None:
    assert problems("count(a) > 1", nodes=True) == [
        "f:3:11: 'count(a) > 1' finds no nodes but a value: expected a path"
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@room", ["a"]),
        ("@m:id", ["9"]),
        ("@none", []),
        ("$person/@id", ["1"]),
        ("$person/@m:id", ["m1"]),
        ("$person/place/@x", ["72", "8"]),
        ("$person/place[2]/@x", ["8"]),
        ("$other/m:place/@x", ["5"]),
        ("$other/name", ["Ada L."]),
        ("$text", ["plain"]),
        ("person/@id", ["1", "2"]),
        ("empty", []),
        ("string(empty)", []),
        ("sum(person/@id) * 2", ["6"]),
        ("1 div 8", ["0.125"]),
        ("1 div 10000000", ["0.0000001"]),
        ("1 div 0", ["INF"]),
        ("-1 div 0", ["-INF"]),
        ("number(none)", []),
        ("2 > 1", ["true"]),
        ("boolean(none)", ["false"]),
        ("concat($text, '-', $person/@id)", ["plain-1"]),
    ],
)
def test_an_expression_finds_texts(text: str, found: list[str]) -> None:
    nodes: Nodes = {"person": FIRST, "other": SECOND, "text": "plain"}
    assert texts(compile_xpath(text, NAMESPACES)(ROOT, nodes)) == found


@pytest.mark.parametrize("text", ["$text/@id", "$text/place/@x"])
def test_a_path_from_a_text_fails_as_in_xpath(text: str) -> None:
    evaluate = compile_xpath(text, NAMESPACES)
    with pytest.raises(etree.XPathError):
        evaluate(ROOT, {"text": "plain"})


def test_the_line_of_a_text_is_that_of_its_element() -> None:
    def line(text: str, found: str = "") -> int | None:
        return line_of(text, NAMESPACES, ROOT, {"person": SECOND}, found)

    assert line("person/@id") == 2
    assert line("person/@id", "2") == 3
    assert line("$person/name") == 3
    assert line("person/none") is None
    assert line("count(person)") is None
