import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import TermError
from sensorstream.mapping.mapped_values import encode_segment, literal_maker
from sensorstream.model import xsd
from sensorstream.model.terms import Literal, iri
from sensorstream.model.vocabulary import RDFS


def test_an_iri_segment_keeps_what_rfc_3987_calls_unreserved() -> None:
    assert encode_segment("a-Z_0.~é世") == "a-Z_0.~é世"
    assert encode_segment("!$&'()*+,;=:@") == "%21%24%26%27%28%29%2A%2B%2C%3B%3D%3A%40"
    assert encode_segment('a b/c?d#e%f<>"{}|\\^`\t') == (
        "a%20b%2Fc%3Fd%23e%25f%3C%3E%22%7B%7D%7C%5C%5E%60%09"
    )


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_different_texts_give_different_valid_iris(one: str, other: str) -> None:
    iris = {iri(f"http://e/{encode_segment(text)}") for text in (one, other)}
    assert len(iris) == len({one, other})


def test_a_literal_has_the_datatype_asked_for() -> None:
    assert literal_maker(xsd.INTEGER, None)("72") == Literal("72", xsd.INTEGER)
    assert literal_maker(None, None)("72") == Literal("72")
    assert literal_maker(None, "en")("room") == Literal("room", language="en")
    assert literal_maker(f"{RDFS}Literal", None)("72") == Literal("72")


@pytest.mark.parametrize("text", [" 7", "7\n", "\t7 "])
def test_white_space_is_no_part_of_a_number(text: str) -> None:
    # A value function such as split leaves it.
    assert literal_maker(xsd.INTEGER, None)(text) == Literal("7", xsd.INTEGER)
    assert literal_maker(None, None)(text) == Literal(text)


def test_an_invalid_form_is_an_error_every_time() -> None:
    make = literal_maker(xsd.INTEGER, None)
    for _ in range(2):
        with pytest.raises(TermError, match="'x' is not an xsd:integer"):
            make("x")
