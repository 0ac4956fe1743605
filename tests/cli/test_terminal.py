from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from sensorstream.cli.terminal import print_json, print_table, progress


def test_a_table_in_a_pipe_is_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["iri", "n"], [["x" * 300, 7], [None, 12]])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["iri" + " " * 298 + "  n", "x" * 300 + "   7", " " * 301 + " 12"]


def test_brackets_are_text_not_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["[bold]a"], [["[red]b[/red]"]], indent=2)
    assert capsys.readouterr().out == "  [bold]a\n  [red]b[/red]\n"


def test_a_table_without_rows_has_a_head(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["a", "b"], [])
    assert capsys.readouterr().out.split() == ["a", "b"]


def test_json_writes_what_it_lacks_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    print_json([noon, Decimal("7.4"), "ø".encode(), None])
    assert json.loads(capsys.readouterr().out) == ["2026-01-02T12:00:00+00:00", "7.4", "ø", None]


def test_no_bar_is_drawn_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working", 2) as advance:
        advance()
    assert capsys.readouterr().err == ""
