from __future__ import annotations

from typing import Any

import pytest

from sensorstream.console.code_editor import marks

TEXT = "# é 🙂\nrule hot than\n\nend"


def fault(line: int, column: int) -> dict[str, Any]:
    return {"detail": "not expected", "position": {"line": line, "column": column}}


@pytest.mark.parametrize(
    ("line", "column", "word"),
    [(2, 10, "than"), (2, 1, "rule"), (1, 5, "🙂"), (2, 14, "n"), (4, 99, "d")],
)
def test_the_word_at_the_place_of_a_fault_is_marked(line: int, column: int, word: str) -> None:
    [mark] = marks(TEXT, [fault(line, column)])
    assert TEXT[mark["from"] : mark["to"]] == word
    assert mark["attributes"] == {"title": "not expected"}


@pytest.mark.parametrize(("line", "column"), [(3, 1), (5, 1), (0, 1)])
def test_a_place_without_text_is_not_marked(line: int, column: int) -> None:
    assert marks(TEXT, [fault(line, column)]) == []


def test_a_fault_without_a_place_is_not_marked() -> None:
    assert marks(TEXT, [{"detail": "no time", "position": None}]) == []
