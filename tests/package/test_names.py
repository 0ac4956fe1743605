"""Names and words: classes and files have a name of their own, docstrings begin plainly."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

PACKAGE: Final = Path(__file__).parents[2] / "sensorstream"
MODULES: Final = {
    path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))
}

RIDDLES: Final = {
    *("What", "Of", "Whose", "Who", "Whom", "How", "Where", "Which"),
    *("When", "That", "Those", "It", "As", "Told"),
}
"""First words of docstrings that neither tell what is done nor name a thing."""


def docstrings() -> Iterator[tuple[str, str]]:
    """The place and the first word of each docstring."""
    for path, tree in MODULES.items():
        module = path.relative_to(PACKAGE).with_suffix("").as_posix()
        for each in ast.walk(tree):
            if isinstance(each, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                word = re.match(r"\W*(\w+)", ast.get_docstring(each) or "")
                if word:
                    yield f"{module}:{getattr(each, 'name', '')}", word[1]


def test_a_public_class_name_stands_for_one_class() -> None:
    names = Counter(
        each.name
        for tree in MODULES.values()
        for each in tree.body
        if isinstance(each, ast.ClassDef) and not each.name.startswith("_")
    )
    assert {name for name, count in names.items() if count > 1} == set()


def test_a_file_tells_its_subject_without_its_folder() -> None:
    stems = Counter(path.stem for path in MODULES if not path.stem.startswith("__"))
    assert not [name for name, count in stems.items() if count > 1]


def test_a_docstring_says_what_is_done_or_names_a_thing() -> None:
    assert [place for place, word in docstrings() if word in RIDDLES] == []


@pytest.mark.parametrize("word", ["given", "holding", "live", "news", "standing", "told"])
def test_no_module_is_called_by_an_ordinary_word(word: str) -> None:
    assert not [path for path in MODULES if path.stem == word]
