from __future__ import annotations

import pytest

from sensorstream.cli.spark_command import ends, language_of


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("select 1;", True),
        ("select 1", False),
        ("select ';", False),
        ("select ';'", False),
        ("select 'it''s (';", True),
        ("select (1;", False),
        ("select 1; -- that is all", True),
        ("select 1 -- not yet;", False),
        ('select "a;"', False),
        ("SELECT * {\n ?s a <urn:x#y>;", False),
        ("SELECT * {\n ?s a <urn:x#y>; <urn:p> 'b{' };", True),
        ("PREFIX : <urn:{> SELECT * { ?s :p [ :q 1 ;", False),
    ],
)
def test_a_question_ends_with_a_semicolon_outside_of_all_brackets(text: str, ended: bool) -> None:
    assert ends(text) == ended


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("select '{1}'::text", "sql"),
        ("with a as (select 1) select * from a", "sql"),
        ("select * from human -- {", "sql"),
        ("SELECT * { ?s ?p ?o }", "sparql"),
        ("prefix : <urn:x:> select ?s { ?s a :c }", "sparql"),
        ("DESCRIBE <urn:x>", "sparql"),
    ],
)
def test_a_question_in_sparql_is_known_by_its_braces(text: str, language: str) -> None:
    assert language_of(text) == language
