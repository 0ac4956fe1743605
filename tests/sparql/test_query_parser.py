from __future__ import annotations

from collections.abc import Callable

import pytest

from sensorstream.errors import QueryError
from sensorstream.sparql.query_lexer import DEEPEST
from sensorstream.sparql.query_parser import parse_query
from sensorstream.sparql.query_printer import query_text

WINDOW = "SELECT * FROM NAMED WINDOW <w> "


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("SELECT * { ?s ?p }", "1:18", ("unexpected '}'", "expected a term")),
        ("SELECT * {\n ?s ?p ?o .\n FILTER }", "3:9", ("unexpected '}'", "a function", "'('")),
        ("SELECT * { ?s ?p ?o", "1:20", ("the text ends here", "'}'")),
        ("SELECT * { ?s ex:p ?o }", "1:15", ("prefix of 'ex:p' is not declared",)),
        ("SELECT ?x { ?s ?p ?o } GROUP BY ?s", "1:8", ("?x is neither grouped by nor aggre",)),
        ("SELECT (?o + COUNT(?s) AS ?n) { ?s ?p ?o } GROUP BY ?s", "1:8", ("?o is neither",)),
        ("SELECT * { ?s ?p ?o } GROUP BY ?s", "1:1", ("SELECT * cannot be grouped",)),
        ("SELECT (1 AS ?s) { ?s ?p ?o }", "1:8", ("?s has a value already",)),
        ("SELECT * { ?s ?p ?o BIND(1 AS ?o) }", "1:31", ("?o has a value already",)),
        ("SELECT * { _:a ?p ?o OPTIONAL { _:a ?q ?r } }", "1:33", ("_:a stands in another",)),
        ("SELECT * { ?s ?p ?o FILTER(COUNT(?s) > 1) }", "1:28", ("COUNT cannot stand in FILTER",)),
        ("SELECT (SUM(MAX(?s)) AS ?x) { ?s ?p ?o }", "1:9", ("SUM cannot be taken of another",)),
        ("SELECT * { VALUES (?a ?b) { (1 2) (1) } }", "1:35", ("has 1 values: expected 2",)),
        ("SELECT * { ?s ?p ?o FILTER(STR(?s, ?p)) }", "1:28", ("STR takes 1 argument, but has 2",)),
        ("SELECT * { ?s ?p ?o FILTER(BOUND(1)) }", "1:28", ("BOUND takes a variable",)),
        ("CONSTRUCT { ?s <p>* ?o } WHERE { ?s ?p ?o }", "1:16", ("a path cannot stand in",)),
        ("SELECT * { ?s ?p 'x }", "1:18", ("has no end",)),
        ("SELECT * { ?s ?p § }", "1:18", ("'§' cannot start a token here",)),
        ("SELECT * { ?s ?p '\\uD800' }", "1:19", ("'\\\\uD800' is not a character",)),
        ("# \\u00e9\nSELECT * { ?s ?p '\\u00e9' ?x }", "2:27", ("unexpected '?x'",)),
        ("SELECT * { WINDOW <w> { ?s ?p ?o } }", "1:19", ("the window <w> is not defined",)),
        (WINDOW + "[TRIPLES 0] { }", "1:33", ("the window's range must be greater than zero",)),
        (WINDOW + "[TRIPLES 9 STEP PT1S] { }", "1:43", ("expected a STEP that is a whole number",)),
        (WINDOW + '[RANGE "-PT1S"] { }', "1:33", ("the window's range must be greater than zero",)),
        (
            WINDOW + "[RANGE 9s TUMBLING STEP 3s] { }",
            "1:51",
            ("a tumbling window steps by its range",),
        ),
        (WINDOW + "[RANGE 9s STEP 3s STEP 2s] { }", "1:50", ("STEP is given twice",)),
        (WINDOW + "[RANGE P1Y] { }", "1:39", ("'P1Y' is not a duration of days to seconds",)),
        (
            WINDOW + "[RANGE 1s] FROM NAMED WINDOW <w> [RANGE 1s] { }",
            "1:61",
            ("the window <w> is defined twice",),
        ),
        (
            "SELECT * REPORT ON CHANGE STREAM INTERMEDIATERESULT TRIPLES 1 { }",
            "1:10",
            ("a query reports in one way",),
        ),
    ],
)
def test_an_error_says_where_what_and_what_was_expected(
    text: str, place: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text, file="q.rq")
    assert str(caught.value.position) == f"q.rq:{place}"
    for word in words:
        assert word.replace("\\\\", "\\") in caught.value.message


@pytest.mark.parametrize("count", [250, 3000])
@pytest.mark.parametrize(
    ("before", "opening", "inner", "closing", "after"),
    [
        ("", "{ ", "", "} ", ""),
        ("{ ?s ?p ?o FILTER(1 ", "|| 1 ", "", "", ") }"),
        ("{ ?s ?p ?o FILTER(", "!(", "1", ")", ") }"),
        ("{ ?s ?p [ ", "?p [ ", "?p 1 ", "] ", "] }"),
        ("{ {} ", "UNION {} ", "", "", "}"),
    ],
)
def test_a_text_that_is_nested_too_deeply_is_refused(
    before: str, opening: str, inner: str, closing: str, after: str, count: int
) -> None:
    text = f"SELECT * {before}{opening * count}{inner}{closing * count}{after}"
    with pytest.raises(QueryError, match="nested too deeply"):
        parse_query(text)


@pytest.mark.parametrize("number", [1, 100, DEEPEST, DEEPEST + 1, 4000])
@pytest.mark.parametrize(
    "text",
    [
        lambda n: f"ASK {'{' * n}{'}' * n}",
        lambda n: f"ASK {'{ ?s ?p ?o OPTIONAL ' * (n - 1)}{{ ?s ?p ?o {'}' * n}",
        lambda n: f"ASK {{ FILTER({'(' * n}1{')' * n}) }}",
        lambda n: f"ASK {{ FILTER(1{' || 1' * n}) }}",
        lambda n: f"ASK {{ FILTER(1{' + 1' * n}) }}",
        lambda n: f"ASK {{ FILTER({'STR(' * n}1{')' * n}) }}",
        lambda n: f"ASK {{ {'FILTER EXISTS { ' * n}{'} ' * n} }}",
        lambda n: f"ASK {{ {{ }} {'UNION { } ' * n} }}",
        lambda n: f"ASK {{ ?s {'(' * n}<p>{')*' * n} ?o }}",
        lambda n: f"ASK {{ ?s ?p {'[ ?p ' * n}1{' ]' * n} }}",
        lambda n: f"ASK {'{ SELECT * ' * n}{{ }}{'}' * n}",
    ],
)
def test_a_text_is_read_and_printed_or_refused_however_deep(
    text: Callable[[int], str], number: int
) -> None:
    # Nothing else may happen: neither RecursionError nor the end of the process.
    try:
        query, said = parse_query(text(number)), ""
    except QueryError as error:
        query, said = None, error.message
    if query is None:
        assert "nested too deeply" in said or "patterns: expected at most 100" in said
        assert number > 60
    else:
        assert number <= DEEPEST
        assert parse_query(query_text(query)) == query
