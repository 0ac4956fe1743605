"""The page on storage tells of all that stands in the database."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sensorstream.history.tables import metadata
from sensorstream.journal.kinds import KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "operate" / "storage.md").read_text("utf-8")


def told(heading: str) -> list[str]:
    """The names that begin the rows of a section's table."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*`) \|", section, re.MULTILINE)
    return sorted(name for row in rows for name in re.findall(r"`([^`]+)`", row))


@pytest.mark.parametrize(
    ("heading", "there"),
    [
        ("The journal", [kind.kind for kind in KINDS]),
        ("Tables", [table.name for table in metadata.tables.values()]),
    ],
)
def test_every_kind_of_entry_and_every_table_has_a_row(heading: str, there: list[str]) -> None:
    assert told(heading) == sorted(there)
