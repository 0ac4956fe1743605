"""Texts that are long, wide or deep are refused, or work in all that reads them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import NotIncremental, Position, QueryError, UnsupportedQuery
from sensorstream.history.asking.history_relations import scope_of
from sensorstream.network.plan.nodes import Anew
from sensorstream.network.plan.planner import plan, plan_in_step
from sensorstream.network.query_sources import Sources
from sensorstream.sparql.algebra import Select
from sensorstream.sparql.query_parser import parse_query, parse_update, read_query
from sensorstream.sparql.text_bounds import LONGEST, MOST_IN_LIST, MOST_PATTERNS, MOST_TOKENS
from sensorstream.sql.dialect_writer import text_of
from sensorstream.sql.sparql.compiled_query import QueryRelations
from sensorstream.sql.sparql.query_forms import compile_query

TRIPLES = [f"?s <urn:p{n}> ?o{n} ." for n in range(MOST_PATTERNS + 1)]
MOST = MOST_PATTERNS


def test_a_text_has_a_greatest_length() -> None:
    text = "ASK { ?s ?p ?o } #"
    parse_query(text.ljust(LONGEST, "x"))
    with pytest.raises(QueryError, match=r"^query:1:1: the text has 262,145 characters: expected"):
        parse_query(text.ljust(LONGEST + 1, "x"))


@pytest.mark.parametrize(
    ("least", "last"),
    [
        (" ".join(TRIPLES[:MOST]), TRIPLES[MOST]),
        ("?s <urn:p> " + ", ".join(f"?o{n}" for n in range(MOST)), ", 1"),
        (f"?s {'<urn:p>/' * (MOST - 1)}<urn:p>", "/<urn:q> ?o"),
        (f"?s ?p ({' 1' * (MOST // 2 - 1)} 2", " 3) . ?a ?b ?c"),
        (" ".join(f"OPTIONAL {{ ?s ?p {n} }}" for n in range(MOST - 1)), "VALUES ?o { 1 }"),
        (" ".join(["FILTER EXISTS { { ?s ?p ?o } UNION { } }"] * (MOST // 2 - 1)), "?a ?b 1, 2, 3"),
    ],
)
def test_a_text_has_a_greatest_number_of_patterns(least: str, last: str) -> None:
    with pytest.raises(QueryError, match=r"^query:1:1: the text has \d+ patterns: expected at "):
        parse_query(f"ASK {{ {least}{last} }}")


def test_the_greatest_numbers_are_taken() -> None:
    parse_query(f"CONSTRUCT {{ {' '.join(TRIPLES * 3)} }} WHERE {{ {' '.join(TRIPLES[:MOST])} }}")
    parse_update("INSERT DATA { " + "".join(f"<urn:s> <urn:p> {n} ." for n in range(200)) + "}")
    parse_query(f"ASK {{ VALUES ?x {{ {'1 ' * 10_000} }} FILTER(?x IN ({'1,' * 5_000} 1)) }}")
    with pytest.raises(QueryError, match="the text has 101 patterns"):
        parse_update(f"DELETE WHERE {{ {' '.join(TRIPLES)} }}")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (1 AS ?x) { } GROUP BY" + " (1)" * (MOST_IN_LIST + 1),
        "SELECT ?x { } ORDER BY" + " ?x" * (MOST_IN_LIST + 1),
        "ASK { VALUES (" + "".join(f"?v{n} " for n in range(MOST_IN_LIST + 1)) + ") { } }",
        "SELECT " + "".join(f"?v{n} " for n in range(1001)) + "{ }",
    ],
)
def test_lists_have_a_greatest_length(text: str) -> None:
    with pytest.raises(QueryError, match=r"has (101|1,001) .*: expected at most (100|1,000)$"):
        parse_query(text)


def test_many_binds_are_read_in_linear_time() -> None:
    # The variables that have a value are not collected anew at each BIND.
    binds = "".join(f"BIND(1 AS ?v{n})" for n in range(5_000))
    with pytest.raises(QueryError, match="nested too deeply"):
        parse_query(f"ASK {{ {binds} }}")
    with pytest.raises(QueryError, match=r"\?v7 has a value already"):
        parse_query("ASK { BIND(1 AS ?v7) BIND(2 AS ?v8) BIND(3 AS ?v7) }")
    with pytest.raises(QueryError, match=r"\?v7 has a value already"):
        parse_query("ASK { BIND(1 AS ?v8) ?s ?p ?v7 BIND(3 AS ?v7) }")


def test_what_is_evaluated_anew_has_fewer_patterns() -> None:
    def text(number: int) -> str:
        return f"""SELECT ?s {{ {" ".join(TRIPLES[:number])}
            OPTIONAL {{ ?s ?p ?o FILTER EXISTS {{ ?s ?p 1 }} }} }}"""

    sources = Sources()
    assert isinstance(plan(parse_query(text(30)).form.pattern, sources), Anew)
    with pytest.raises(UnsupportedQuery, match="evaluated anew may have 32 patterns, not 33"):
        plan(parse_query(text(31)).form.pattern, sources)


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT * {{ VALUES ?x {{ {'1 ' * 2001} }} }}",
        f"CONSTRUCT {{ {'?s ?p ?o . ' * 1001} }} {{ ?s ?p ?o }}",
        f"SELECT * {{ ?s ?p ?x FILTER(?x IN ({'1,' * 300} 1)) }}",
        f"SELECT * {{ ?s ?p ?x FILTER(CONCAT({'?x,' * 300} ?x) = '') }}",
    ],
)
def test_history_compiles_no_more_than_it_can_in_some_seconds(text: str) -> None:
    with pytest.raises(UnsupportedQuery, match="over history"):
        compile_query(parse_query(text), _scope())


def test_what_the_server_parses_has_a_number_of_tokens() -> None:
    def read(values: int, between: str = " ") -> None:
        text = f"SELECT * {{ VALUES ?x {{ {f'1{between}' * values}}} }}"
        read_query(text, start=Position("q", 1, 1), most_tokens=MOST_TOKENS)

    # Beside the values, eight.
    read(MOST_TOKENS - 8, between=" #\n ")
    with pytest.raises(QueryError, match=r"^q:1:.*at most 20,000 words, terms and marks"):
        read(MOST_TOKENS - 7)


def _scope() -> QueryRelations:
    return scope_of(None, {}, live=False)


_ROWS = st.sampled_from(
    [
        "?s ?p ?o{n} .",
        "?s <urn:p>/<urn:q>+ ?o .",
        "OPTIONAL {{ {inner} }}",
        "MINUS {{ {inner} }}",
        "{{ {inner} }} UNION {{ {inner} }}",
        "{{ {inner} }}",
        "{{ SELECT ?s {{ {inner} }} GROUP BY ?s }}",
        "FILTER NOT EXISTS {{ {inner} }}",
        "FILTER(?o{n} = 1 || ?s > {n})",
        "FILTER(?s IN (1, ?o, 'x'))",
        "BIND(CONCAT(STR(?s), ?o) AS ?b{n})",
        "VALUES (?s ?o) {{ (1 2) (UNDEF 3) }}",
        "?s ?p [ ?q ( 1 ?o{n} ) ] .",
    ]
)


@st.composite
def _texts(draw: st.DrawFn) -> str:
    """Deep and wide texts: a row of parts, repeated, each with the next row inside."""
    text = ""
    for level in range(draw(st.integers(1, 4))):
        parts = draw(st.lists(_ROWS, min_size=1, max_size=3))
        times = draw(st.sampled_from([1, 1, 2, 8, 40, 190]))
        row = [
            part.format(inner=text if n < 2 else "?s ?p 1", n=f"{level}x{n}x{place}")
            for n in range(times)
            for place, part in enumerate(parts)
        ]
        text = " ".join(row)[: LONGEST // 4]
    depth = draw(st.sampled_from([0, 0, 1, 20, 90, 180]))
    opening = draw(st.sampled_from(["{ ", "?s ?p ?o OPTIONAL { ", "FILTER EXISTS { "]))
    return f"SELECT * {{ {opening * depth}{text}{' }' * depth} }}"


@settings(max_examples=25)
@given(_texts())
def test_no_text_exhausts_the_stack_of_what_reads_it(text: str) -> None:
    try:
        query = parse_query(text)
    except QueryError:
        return
    assert isinstance(query.form, Select)
    for read in (
        lambda: plan_in_step(query.form.pattern, Sources()),
        lambda: text_of(compile_query(query, _scope()).tree, "postgres"),
    ):
        with suppress(UnsupportedQuery, NotIncremental, QueryError):
            read()
