from __future__ import annotations

import re
from pathlib import Path

import pytest

from sensorstream.errors import QueryError
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.query_printer import query_text

PAGE = (Path(__file__).parents[2] / "docs" / "use" / "stream-sparql.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```sparql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SAME = re.findall(r"^\| `(STREAM .*?|WINDOW .*? \{ … \})` \| `(.*?)`", PAGE, re.MULTILINE)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 5
    assert len(SAME) == 6


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_example_is_read_and_printed(text: str) -> None:
    query = parse_query(text)
    assert parse_query(query_text(query)) == query


@pytest.mark.parametrize(("luposdate", "ours"), SAME)
def test_the_words_of_luposdate_mean_what_the_page_says(luposdate: str, ours: str) -> None:
    prefix = "PREFIX ex: <http://example.org/> "
    if luposdate.startswith("STREAM"):
        one, other = (f"{prefix} ASK {clause} {{ ?s ?p ?o }}" for clause in (luposdate, ours))
    else:
        pattern = luposdate.replace("…", "?s ?p ?o")
        one = f"{prefix} ASK {{ {pattern} }}"
        other = (
            f"{prefix} ASK FROM NAMED WINDOW <urn:sensorstream:window:1> {ours} "
            "{ WINDOW <urn:sensorstream:window:1> { ?s ?p ?o } }"
        )
    assert parse_query(one) == parse_query(other)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * { ?s ?p }", "query:1:18: unexpected '}'"),
        ("\n\n\nSELECT ?x { ?s ?p ?o } GROUP BY ?s", "query:4:8: ?x is neither grouped"),
    ],
)
def test_the_errors_of_the_page_are_what_is_said(text: str, said: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert str(caught.value).startswith(said)
    assert str(caught.value) in PAGE
