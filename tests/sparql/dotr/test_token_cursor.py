"""Queries that differ in constants mean what each means when it is read by itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import Position, QueryError
from sensorstream.sparql.algebra import Query
from sensorstream.sparql.dotr import token_cursor as cursors
from sensorstream.sparql.dotr.dotr_reader import read_program
from sensorstream.sparql.dotr.token_cursor import Templates
from sensorstream.sparql.query_parser import read_query

PREFIXES = {"": "http://e.org/", "ex": "http://x.org/"}
BODIES = (
    "?s :v ?v FILTER(?v > {} && ?v != {})",
    "?s :v ?v FILTER(?v >{}) FILTER(?s= {})",
    '?s :v ?v FILTER(?v > {} || CONTAINS(?v, "= {} "))',
    "?s :v ?v # ?v > {} \n FILTER(?v IN ({}))",
    "?s :v ?v . {{ SELECT ?s {{ ?s :w ?w FILTER(?w <= {}) }} LIMIT 3 }} BIND(?v = {} AS ?is)",
    "?s :v ?v FILTER(EXISTS {{ ?s :w ?w FILTER(?w < {}) }}) FILTER(?v * 2 >= {} + 1)",
)
constants = st.one_of(
    st.integers(0, 99).map(str),
    st.sampled_from(
        [
            *("007", "2.50", "1e3", "-4", "+4", "30.", "100000000000000000000", "true", "?s"),
            *(":a", "ex:b1", "ex:b.c", ":a-b", ":a%20", "z:no", "<urn:x>"),
            *('"a"', '""', '"a"@en', '"a" @en', '"a\\"b"', '"1"^^ex:t', "'a'", '"""x"""'),
        ]
    ),
)


def by_itself(text: str) -> Query:
    return read_query(text, start=Position("t", 1, 1), prefixes=PREFIXES).meaning


def meaning_or_fault(text: str, templates: Templates | None = None) -> object:
    try:
        if templates is None:
            return by_itself(text)
        return templates.query(text, PREFIXES, None, by_itself)
    except QueryError as error:
        return str(error)


@settings(max_examples=40)
@given(
    st.sampled_from(BODIES),
    st.lists(st.tuples(constants, constants), min_size=2, max_size=5),
    st.sampled_from(["", "PREFIX : <urn:other:> "]),
)
def test_what_a_text_means_does_not_depend_on_those_before_it(
    body: str, pairs: list[tuple[str, str]], prologue: str
) -> None:
    templates = Templates()
    for pair in pairs:
        text = f"{prologue}SELECT * {{ {body.format(*pair)} }}"
        assert meaning_or_fault(text, templates) == meaning_or_fault(text)


def test_a_thousand_rules_that_differ_in_constants_are_parsed_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed = 0

    def counted(*arguments: object, **others: object) -> object:
        nonlocal parsed
        parsed += 1
        return read_query(*arguments, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(cursors, "read_query", counted)
    rules = "\n".join(
        f"rule r{each} define {{ :it :saw ?v }} from A(SELECT ?s ?v {{ ?s :v ?v "
        f'FILTER(?v > {each} && ?v < {each}.5 && ?s != :room{each} && ?s != "n{each}") }}) '
        "with ?v = A.?v"
        for each in range(1000)
    )
    text = f"PREFIX : <http://e.org/>\n{rules}"
    program = read_program(text, name="r", start=Position("r", 1, 1))
    assert parsed < 10
    assert len({each.trigger.query for each in program.rules}) == 1000
