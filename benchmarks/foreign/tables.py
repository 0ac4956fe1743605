"""What was measured, as tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from benchmarks.foreign.measure import SHAPES

_NOT_GIVEN: Final = re.compile(
    r", which (?:is|are) not (?:one )?of the given| \(nor is |: expected"
)
"""Where the ways out begin in an error."""


def tables(found: Mapping[str, Any]) -> str:
    """All tables: how files load, how ontologies are reasoned with, and what gave no figure."""
    return "\n".join((*_loaded(found), "", *_reasoned(found), *_remarks(found)))


def _loaded(found: Mapping[str, Any]) -> Iterator[str]:
    loaded = found.get("loaded", {})
    ready = [name for name, row in loaded.items() if row["loads"] and not row["needs"]]
    if ready:
        yield from (f"Load without any setting: {', '.join(ready)}.", "")
    yield "| file | loads | needs | without that |"
    yield "|---|---|---|---|"
    for name, row in loaded.items():
        if name not in ready:
            loads = "yes" if row["loads"] else "no"
            why = _short(_NOT_GIVEN.split(row["why"])[0], 100)
            yield f"| {name} | {loads} | {row['needs']} | {why} |"


def _reasoned(found: Mapping[str, Any]) -> Iterator[str]:
    yield (
        "| ontology | reasoner | starts in s | without rules | refused | overrun "
        "| questions | types | wrong | alone | chain | hub | clique |"
    )
    yield f"|{'---|' * 13}"
    for key, row in found.get("reasoned", {}).items():
        if row.get("start", "no") == "no":
            continue
        name, _, reasoner = key.partition("|")
        told = dict(row)
        if "missing" in row and "unfounded" in row:
            told["wrong"] = row["missing"] + row["unfounded"]
        counts = ("start", "without_rules", "refused", "overrun", "asked", "types", "wrong")
        cells = [str(told.get(each, "")) for each in counts]
        cells += [_span(row.get(each, "")) for each in SHAPES]
        yield f"| {name} | {reasoner} | {' | '.join(cells)} |"


def _remarks(found: Mapping[str, Any]) -> Iterator[str]:
    """Why a row is missing or has empty cells."""
    lines = []
    for key, row in found.get("reasoned", {}).items():
        told = [row[each] for each in ("oracle", "failed") if each in row]
        if told:
            name, _, reasoner = key.partition("|")
            lines.append(f"- {name}, {reasoner}: {_short('; '.join(told), 200)}")
    if lines:
        yield from ("", "What gave no figure:", "", *lines)


def _span(told: list[float] | str) -> str:
    """The least and the most of several figures."""
    if isinstance(told, str):
        return told
    least, most = (
        f"{each:.2g}" if each < 100 else f"{each:.0f}" for each in (min(told), max(told))
    )
    return least if least == most else f"{least} to {most}"


def _short(text: str, limit: int) -> str:
    text = " ".join(text.split()).replace("|", "/").replace("'<", "<").replace(">'", ">")
    text = text.replace("<", "`<").replace(">", ">`")
    return text if len(text) <= limit else f"{text[:limit]}…"
