from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from lark import Lark
from lark.exceptions import UnexpectedToken

from sensorstream.errors import Position
from sensorstream.grammars import Grammar
from sensorstream.sparql.query_lexer import QueryText
from sensorstream.sparql.query_parser import GRAMMAR
from tests.grammar_tables import GRAMMARS

START = Position("query", 1, 1)
QUERY = "SELECT ?s (SUM(?o) AS ?n) { ?s a ?c ; <x:p>+ ?o FILTER(?o > 5) } GROUP BY ?s"


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda each: each.package)
def test_the_tables_are_of_the_grammar_beside_them(grammar: Grammar) -> None:
    assert grammar.current(), "run make grammars"


def test_a_parser_from_tables_reads_what_the_built_one_reads() -> None:
    source = cast(str, QueryText(QUERY, START))
    loaded, built = GRAMMAR.parser(), GRAMMAR.built()
    assert loaded.source_path == "<deserialized>"
    assert loaded.parse(source, start="query") == built.parse(source, start="query")


def test_a_parser_from_tables_expects_what_the_built_one_expects() -> None:
    def expected(parser: Lark) -> set[str]:
        with pytest.raises(UnexpectedToken) as error:
            parser.parse(cast(str, QueryText("SELECT * { ?s ?p ?o FILTER ?o }", START)), "query")
        return error.value.accepts or error.value.expected

    assert expected(GRAMMAR.parser()) == expected(GRAMMAR.built())


def test_tables_of_another_grammar_are_passed_over() -> None:
    other = replace(GRAMMAR, start=("query",))
    assert not other.current()
    assert other.parser().source_path != "<deserialized>"


def test_a_missing_file_of_tables_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Grammar, "tables", tmp_path / "grammar.tables")
    assert not GRAMMAR.current()
    source = cast(str, QueryText(QUERY, START))
    assert GRAMMAR.parser().parse(source, start="query")


def test_tables_are_written_with_the_key_of_their_grammar(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written = tmp_path / "grammar.tables"
    written.write_bytes(GRAMMAR.compiled())
    monkeypatch.setattr(Grammar, "tables", written)
    assert GRAMMAR.current()
    assert GRAMMAR.parser().source_path == "<deserialized>"
