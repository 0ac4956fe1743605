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
    """How files load, how ontologies are reasoned with, and what gave no figure."""
    return "\n".join((*_loaded(found), *_reasoned(found), *_remarks(found)))


def _loaded(found: Mapping[str, Any]) -> Iterator[str]:
    loaded = found.get("loaded", {})
    by_needs: dict[str, list[str]] = {}
    for name, row in loaded.items():
        if row["loads"]:
            by_needs.setdefault(row["needs"], []).append(name)
    for needs, names in sorted(by_needs.items()):
        yield from (f"Load with {needs or 'no setting'}: {', '.join(names)}.", "")
    for name, row in loaded.items():
        if not row["loads"]:
            why = _short(_NOT_GIVEN.split(row["why"])[0], 100)
            yield from (f"Does not load: {name}: {why}.", "")


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
    """Why rows are missing or have empty cells."""
    by_reason: dict[str, list[str]] = {}
    for key, row in found.get("reasoned", {}).items():
        told = [row[each] for each in ("oracle", "failed") if each in row]
        if told:
            name, _, reasoner = key.partition("|")
            by_reason.setdefault(_short("; ".join(told), 200), []).append(f"{name} ({reasoner})")
    if by_reason:
        yield from ("", "What gave no figure:", "")
        yield from (f"- {reason}: {', '.join(names)}" for reason, names in by_reason.items())


def _span(told: list[float] | str) -> str:
    """The least and the most of several figures."""
    if isinstance(told, str):
        return told
    least, most = (
        f"{each:.2g}" if each < 100 else f"{each:.0f}" for each in (min(told), max(told))
    )
    return least if least == most else f"{least}\N{EN DASH}{most}"


def _short(text: str, limit: int) -> str:
    text = " ".join(text.split()).replace("|", "/").replace("'<", "<").replace(">'", ">")
    text = text.replace("<", "`<").replace(">", ">`")
    return text if len(text) <= limit else f"{text[:limit]}…"
