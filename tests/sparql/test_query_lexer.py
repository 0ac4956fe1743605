from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensorstream.errors import Position, QueryError
from sensorstream.sparql.query_lexer import DEEPEST, QueryText, check_tokens, tokens
from sensorstream.sparql.query_parser import parse_query

START = Position("q", 1, 1)
KINDS = {
    "<urn:x#y>": "IRIREF",
    "?x": "VARIABLE",
    "$1": "VARIABLE",
    "_:b.1": "BLANK",
    "ex:a.b": "PREFIXED",
    "ex:%20\\,": "PREFIXED",
    ":": "NAMESPACE",
    "select:": "NAMESPACE",
    "'a#'": "TEXT",
    '"\\""': "TEXT",
    "'''a\n'b'''": "LONG_TEXT",
    "@en-GB": "LANGUAGE",
    "PT5M": "DURATION",
    "1.5h": "DURATION",
    "15": "INTEGER",
    ".5": "DECIMAL",
    "1.e3": "DOUBLE",
    "-1": "SIGNED",
    "+.5E-1": "SIGNED",
    "a": "_A",
    "selecT": "_SELECT",
    "STR": "FUNCTION",
    "max": "AGGREGATE",
    "Any": "NAME",
    "^^": "_DATATYPE",
    "<=": "AT_MOST",
    "^": "CARET",
}
gaps = st.sampled_from([" ", "\n", " # it's <one> {\n", "\t\r\n "])


@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), gaps)))
def test_tokens_are_those_that_were_written_at_their_places(parts: list[tuple[str, str]]) -> None:
    text, expected = "", []
    for written, gap in parts:
        expected.append((KINDS[written], written, len(text)))
        text += written + gap
    source = QueryText(text, START)
    assert list(map(tuple, tokens(source))) == expected
    check_tokens(source, len(parts))
    if parts:
        with pytest.raises(QueryError, match="too long") as told:
            check_tokens(source, len(parts) - 1)
        assert told.value.position == source.position(expected[-1][-1])


def test_keywords_are_read_in_any_case_and_take_no_names_away() -> None:
    text = """prefix seq: <http://s/> prefix window: <http://w/>
        SELECT ?range ?seq where { ?range seq:equals window:on . ?seq window:step "x"@on }"""
    assert parse_query(text).form == parse_query(text.replace("prefix", "PREFIX")).form


def test_a_place_is_that_of_the_text_as_it_was_written() -> None:
    source = QueryText("'\\u00e9\\U0001F600' ?x\n?\\\\u0041 ?y", START)
    assert source.text == "'é😀' ?x\n?\\\\u0041 ?y"
    assert [str(source.position(source.text.index(part))) for part in ("?x", "?\\", "?y")] == [
        "q:1:20", "q:2:1", "q:2:10"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ex:a 'x", "q:1:6: a string that starts here has no end"),
        ("'\\uD800'", "q:1:2: .* is not a character"),
        (f"?x {'9' * 1001}", "q:1:4: a number may have 1000 characters, not 1001"),
        ("( " * (DEEPEST + 1), f"q:1:{2 * DEEPEST + 1}: the text is nested too deeply"),
        ("_b", "q:1:1: unexpected '_'"),
        ("?x @1", "q:1:4: unexpected '@'"),
    ],
)
def test_what_is_no_token_is_refused_with_its_place(text: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        list(tokens(QueryText(text, START)))
