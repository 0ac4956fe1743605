"""Which values a datatype has, beside what XSD and OWL 2 say."""

from __future__ import annotations

import pytest

from sensorstream.errors import TermError
from sensorstream.model import xsd
from sensorstream.model.terms import Literal, is_of, literal
from sensorstream.model.xsd import RDF_LANG_STRING, RDF_XML_LITERAL, XSD


@pytest.mark.parametrize(
    ("lexical", "datatype", "of", "not_of"),
    [
        ("7", "int", "byte decimal integer int nonNegativeInteger", "double string boolean"),
        ("-129", "integer", "short decimal", "byte nonNegativeInteger"),
        ("7.0", "decimal", "decimal byte integer", "float double"),
        ("7.5", "decimal", "decimal", "integer float"),
        ("1e3", "double", "double", "float decimal integer"),
        (" 7", "int", "", "int integer decimal string"),
        ("999", "byte", "", "byte integer"),
        ("x", "string", "string token NCName language", "integer dateTime"),
        ("a  b", "string", "string normalizedString", "token Name"),
        ("a\tb", "string", "string", "normalizedString token NMTOKEN"),
        ("7a", "string", "NMTOKEN token", "NCName Name"),
        ("de-AT", "language", "language string", "integer"),
        ("true", "boolean", "boolean", "string"),
        ("2026-03-01T10:00:00Z", "dateTime", "dateTime dateTimeStamp", "date"),
        ("2026-03-01T10:00:00", "dateTime", "dateTime", "dateTimeStamp"),
        ("2026-02-30", "date", "", "date"),
        ("P1D", "duration", "duration dayTimeDuration", "yearMonthDuration"),
        ("P1M", "duration", "duration yearMonthDuration", "dayTimeDuration"),
        ("-0001+14:00", "gYear", "gYear", "gYearMonth integer"),
        ("2014-13", "gYearMonth", "", "gYearMonth"),
        ("--02-30", "gMonthDay", "", "gMonthDay"),
        ("0aFF", "hexBinary", "hexBinary", "base64Binary string"),
        ("0aF", "hexBinary", "", "hexBinary"),
        ("Cv8 =", "base64Binary", "base64Binary", "hexBinary"),
        ("Cv8", "base64Binary", "", "base64Binary"),
    ],
)
def test_a_value_is_in_the_datatypes_that_have_it(
    lexical: str, datatype: str, of: str, not_of: str
) -> None:
    literal = Literal(lexical, f"{XSD}{datatype}")
    assert all(is_of(literal, f"{XSD}{name}") for name in of.split())
    assert not any(is_of(literal, f"{XSD}{name}") for name in not_of.split())


def test_texts_with_a_language_are_apart_from_strings() -> None:
    assert is_of(Literal("x", language="en"), RDF_LANG_STRING)
    assert not is_of(Literal("x", language="en"), f"{XSD}string")
    assert not is_of(Literal("x"), RDF_LANG_STRING)
    assert not is_of(Literal("x", RDF_LANG_STRING), RDF_LANG_STRING)


def test_of_other_datatypes_nothing_is_known() -> None:
    with pytest.raises(TermError, match="no datatype whose values are known"):
        is_of(Literal("1"), "http://example.org/Person")
    with pytest.raises(TermError, match="of a datatype whose values are not known"):
        is_of(Literal("1", "http://example.org/length"), f"{XSD}integer")


def test_a_text_that_is_not_of_its_datatype_is_refused_where_it_comes_in() -> None:
    assert literal("--08", f"{XSD}gMonth") == Literal("--08", f"{XSD}gMonth")
    with pytest.raises(TermError, match="'08' is not an xsd:gMonth: expected"):
        literal("08", f"{XSD}gMonth")
    with pytest.raises(TermError, match="'a b' is not an xsd:NCName: expected"):
        literal("a b", f"{XSD}NCName")


@pytest.mark.parametrize(
    ("content", "is_valid"),
    [
        ("", True),
        ("text", True),
        ("a <b>c</b> &amp; d", True),
        ("<", False),
        ("<a></b>", False),
        ("</content><content>", False),
        ("&own;", False),
        ("<!DOCTYPE a><a/>", False),
        ("\ud800", False),
    ],
)
def test_xml_is_of_its_datatype_if_it_can_stand_in_an_element(content: str, is_valid: bool) -> None:
    literal = Literal(content, RDF_XML_LITERAL)
    assert is_of(literal, RDF_XML_LITERAL) is is_valid
    assert not is_of(literal, xsd.STRING)
    assert not is_of(Literal(content), RDF_XML_LITERAL)
