"""The tool that tells what a checkout answers: it is steady, and it sees a change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sensorstream.errors import QueryError
from tests.equivalence import __main__ as tool
from tests.equivalence.canonical import table
from tests.equivalence.items import Item, Tools, outcome_of


def test_two_runs_of_one_checkout_are_equal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / name for name in ("one", "other")]
    for file in files:
        assert tool.main(["--out", str(file), "--only", "errors", "settings"]) == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    assert len(tool.read(files[0])) > 200
    assert tool.main(["compare", *map(str, files)]) == 0
    assert "errors: 0 of " in capsys.readouterr().out


def test_a_changed_answer_is_found_and_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(name: str, *answers: str) -> None:
        def items(_: str, __: Tools) -> Iterator[Item]:
            for number, answer in enumerate(answers):
                yield Item(f"{number}", lambda answer=answer: answer)  # type: ignore[misc]

        monkeypatch.setattr(tool, "items_of", items)
        tool.write(tmp_path / name, ["errors"], tmp_path / f"{name} shown")

    run("before", "same", "old", "gone")
    run("after", "same", "new")
    capsys.readouterr()
    assert tool.compare(tmp_path / "before", tmp_path / "after") == 1
    changed, gone, count = capsys.readouterr().out.splitlines()
    assert changed.startswith("errors/1: ")
    assert gone.endswith(" -> absent")
    assert count == "errors: 2 of 3"
    assert (tmp_path / "after shown" / "errors" / "1.txt").read_text() == "new"


def test_a_refusal_is_told_by_its_code_and_a_fault_by_its_kind() -> None:
    def refuse() -> str:
        raise QueryError("no")

    def fail() -> str:
        raise ZeroDivisionError

    told = [outcome_of(Item("x", each)).told for each in (refuse, fail)]
    assert told == ["refusal:query", "fault:ZeroDivisionError"]


def test_tables_are_equal_up_to_the_names_of_blank_nodes_and_the_order_of_rows() -> None:
    def text(*rows: tuple[str, str], ordered: bool = False) -> str:
        return table(("a", "b"), rows, ordered=ordered)

    assert text(("_:x", "1"), ("_:x", "_:y")) == text(("_:q", "_:p"), ("_:q", "1"))
    assert text(("_:x", "1"), ("_:x", "2")) != text(("_:x", "1"), ("_:y", "2"))
    assert text(("_:x", "_:x")) != text(("_:x", "_:y"))
    assert text(("1", "2"), ("3", "4"), ordered=True) != text(("3", "4"), ("1", "2"), ordered=True)
