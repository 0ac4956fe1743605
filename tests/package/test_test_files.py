"""A module's tests are in the file of its name, in the folder of its room."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

CHECKOUT: Final = Path(__file__).parents[2]
ROOMS: Final = ("history", "network", "spark", "sparql")
"""The rooms, folders of the package, whose modules all have such a file."""
EXCEPTIONS: Final[Mapping[str, str]] = {
    "history/asked_records": "frozen records, all of which test_postgres_reader reads",
    "spark/jobs/spark_messages": "frozen messages, which test_spark_worker sends",
    "sparql/dotr/dotr_syntax": "frozen values, all of which test_dotr_reader reads",
}
"""Modules without one, and the reason: there is nothing in them that can be tested alone."""


def without_tests(room: str) -> set[str]:
    """The modules of a room that have no test file of their name."""
    package, tests = CHECKOUT / "sensorstream", CHECKOUT / "tests"
    modules = [
        path.relative_to(package)
        for path in (package / room).rglob("*.py")
        if not path.stem.startswith("__")
    ]
    assert modules, f"{room}: no such room"
    return {
        path.with_suffix("").as_posix()
        for path in modules
        if not (tests / path.parent / f"test_{path.name}").exists()
    }


@pytest.mark.parametrize("room", ROOMS)
def test_a_module_has_the_test_file_of_its_name(room: str) -> None:
    assert without_tests(room) == {each for each in EXCEPTIONS if each.startswith(f"{room}/")}
