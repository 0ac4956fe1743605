"""What was measured, as data and as the tables of its page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks import ROOT
from benchmarks.beside.turns import Comparison, Found

FILE: Final = ROOT / "benchmarks" / "results" / "beside.json"
PAGE: Final = ROOT / "docs" / "understand" / "performance.md"
BEGIN: Final = "<!-- begin: results of make bench -->"
END: Final = "<!-- end: results of make bench -->"


def row(comparison: Comparison, found: Found) -> dict[str, Any]:
    """A line of the table, as data."""
    return {
        "name": comparison.name,
        "peer": comparison.peer,
        "unit": comparison.unit,
        "aim": comparison.aim,
        "ours": found.ours,
        "theirs": found.theirs,
        "absent": found.absent,
        "told": comparison.told,
    }


def write(results: Mapping[str, Any]) -> None:
    """Keep the results, a row a line, so that two runs can be compared."""
    lines = []
    for name, part in results.items():
        if isinstance(part, list):
            rows = ",\n".join(f"    {json.dumps(each)}" for each in part)
            lines.append(f"  {json.dumps(name)}: [\n{rows}\n  ]")
        else:
            lines.append(f"  {json.dumps(name)}: {json.dumps(part)}")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read() -> dict[str, Any]:
    """The results that were kept."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def markdown(results: Mapping[str, Any]) -> str:
    """All tables, each with its date and revision."""
    told = f"{results['measured']}, revision {results['revision']}, {results['machine']}."
    rows: Sequence[Mapping[str, Any]] = results["rows"]
    absent = dict.fromkeys(f"{each['peer']}: {each['absent']}." for each in rows if each["absent"])
    parts = [
        "### Beside others",
        told,
        _table(
            ["what, of each", "µs", "a second", "aim", "beside", "times"],
            [_cells(each) for each in rows],
        ),
        "\n".join(f"- Absent: {each}" for each in absent),
        "### By phase",
        f"µs of a message by phase of the paper's equation (10): {told}",
        _phases("profile", results["message"]),
        f"µs of a statement of LUBM, four departments that stay, 14 queries: {told}",
        _phases("rules", results["statement"]),
    ]
    if results.get("server"):
        parts += ["### A whole server", told, f"```text\n{results['server']}\n```"]
    return "\n\n".join(part for part in parts if part)


def _cells(each: Mapping[str, Any]) -> list[str]:
    ours, theirs = each["ours"], each["theirs"]
    named = each["unit"] in each["name"]
    return [
        each["name"] if named else f"{each['name']}: {each['unit']}",
        number(1e6 * ours),
        number(1 / ours),
        f"{each['aim']:,.0f}" if each["aim"] else "",
        each["peer"],
        f"absent; {each['told']}" if theirs is None else number(theirs / ours),
    ]


def _phases(title: str, found: Mapping[str, Mapping[str, float]]) -> str:
    names = list(next(iter(found.values())))
    rows = [[who, *(number(spent[name]) for name in names)] for who, spent in found.items()]
    return _table([title, *names], rows)


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["|".join(("", *cells, "")) for cells in (titles, ["---"] * len(titles), *rows)]
    return "\n".join(lines)


def number(value: float) -> str:
    """In three figures or so."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
