"""The pages for newcomers name rooms, files and functions that there are."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.package.test_size import ROOT, lines_of

PACKAGE = ROOT / "sensorstream"
ARCHITECTURE = ROOT / "docs" / "understand" / "architecture.md"
PAGES = pytest.mark.parametrize("page", [ARCHITECTURE, ROOT / "CONTRIBUTING.md"])
ROOMS = re.findall(r"^\| (\d+) \| `(\w+)` \|.*\| ([\d,]+) \|$", ARCHITECTURE.read_text(), re.M)
_FUNCTIONS = re.compile(r"`([\w/]+\.py)`[\s,|]+((?:`[\w.]+`(?: \([^)]*\))?,?\s?)+)")


def test_the_table_has_each_room_in_its_layer() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = enumerate(contracts["contracts"][0]["layers"], 1)
    rooms = [(str(number), room) for number, line in layers for room in line.split(" : ")]
    assert sorted(room[:2] for room in ROOMS) == sorted(rooms)


@pytest.mark.parametrize(("_layer", "room", "told"), ROOMS)
def test_the_table_has_the_size_of_a_room_to_a_tenth(_layer: str, room: str, told: str) -> None:
    file = PACKAGE / f"{room}.py"
    lines = file.read_text().count("\n") if file.exists() else lines_of(PACKAGE / room)
    assert abs(lines - int(told.replace(",", ""))) <= max(100, lines / 10)


@PAGES
def test_the_files_of_a_page_are_there(page: Path) -> None:
    files = re.findall(r"`([\w/]+/[\w/]*\.?\w*)`", page.read_text())
    assert len(files) > 20
    assert [e for e in files if not ((ROOT / e).exists() or (PACKAGE / e).exists())] == []


@PAGES
def test_the_functions_behind_a_file_stand_in_it(page: Path) -> None:
    told = _FUNCTIONS.findall(page.read_text())
    assert len(told) > 20
    for file, text in told:
        there = defined((ROOT if file.startswith("tests/") else PACKAGE) / file)
        assert set(re.findall(r"`([\w.]+)`", text)) <= there, file


def defined(file: Path) -> set[str]:
    """The functions and classes of a module, and the methods of its classes."""
    found = set[str]()
    for each in ast.parse(file.read_text()).body:
        if isinstance(each, ast.FunctionDef | ast.ClassDef):
            found.add(each.name)
        if isinstance(each, ast.ClassDef):
            found |= {f"{each.name}.{e.name}" for e in each.body if isinstance(e, ast.FunctionDef)}
    return found
