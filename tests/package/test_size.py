"""No part of the project grows beyond its budget of lines, which pyproject.toml has."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUDGET: dict[str, int] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
    "sensorstream"
]["lines"]


def lines_of(path: Path) -> int:
    return sum(each.read_text().count("\n") for each in path.rglob("*.py"))


@pytest.mark.parametrize("part", BUDGET)
def test_a_part_has_no_more_lines_than_its_budget(part: str) -> None:
    assert lines_of(ROOT / part) <= BUDGET[part], "delete something, or argue for more lines"


def test_every_folder_of_the_package_has_a_budget() -> None:
    package = ROOT / "sensorstream"
    folders = {each for each in package.iterdir() if each.is_dir() and any(each.rglob("*.py"))}
    there = {each.relative_to(ROOT).as_posix() for each in folders}
    assert there == {each for each in BUDGET if each.startswith("sensorstream/")}
