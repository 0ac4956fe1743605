"""The violations of shapes in what the server knows now, by shape and one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from sensorstream.console import page_addresses
from sensorstream.console.elements import (
    FilterBar,
    Notice,
    Row,
    ShownTable,
    TableColumn,
    change_button,
    heading,
)
from sensorstream.console.page_addresses import local_name, short
from sensorstream.console.page_visits import Visit
from sensorstream.console.shown_values import Piece, named

_PATH: Final = "/shapes/report"
_SEVERITIES: Final = {"Violation": "critical", "Warning": "warning", "Info": "info"}
_CHOICES: Final = {"": "any", **{name: name.lower() for name in _SEVERITIES}}
_NONE: Final = "Nothing is violated. The setting shapes.files names the shapes."


def _severity(row: Row) -> Piece:
    name = local_name(row["severity"])
    return Piece(name.lower(), look=f"chip severity-{_SEVERITIES.get(name, 'critical')}")


def _term(text: str | None) -> Piece | str:
    """A term of the report: an IRI by its label, with its page; another one as it is."""
    is_iri = text is not None and ":" in text and not text.startswith(("_:", '"'))
    return named(text) if text is not None and is_iri else short(text or "")


def _of_shape(row: Row) -> str:
    return page_addresses.address(page_addresses.SHAPES.path, shape=row["shape"])


_COUNTS: Final = (
    TableColumn("shape", "Shape", _of_shape, value=lambda row: local_name(row["shape"])),
    TableColumn("severity", "Severity", value=_severity),
    TableColumn("count", "Violations", is_number=True),
)
_VIOLATIONS: Final = (
    TableColumn("severity", "Severity", value=_severity),
    TableColumn("focus", "Of", value=lambda row: _term(row["focus"])),
    TableColumn("path", "Property", value=lambda row: local_name(row["path"] or "")),
    TableColumn("value", "Value", value=lambda row: _term(row["value"])),
    TableColumn("message", "Message"),
    TableColumn("shape", "Shape", value=lambda row: Piece(local_name(row["shape"]), row["shape"])),
)


async def build(visit: Visit) -> None:
    """Build the numbers for each shape, and the violations that the filters choose."""
    results: list[dict[str, Any]] = []

    async def read() -> None:
        results[:] = (await visit.client.shapes_report())["results"]
        counted = Counter((each["shape"], each["severity"]) for each in results)
        counts.show(
            [
                {"key": f"{shape} {severity}", "shape": shape, "severity": severity, "count": n}
                for (shape, severity), n in counted.most_common()
            ]
        )
        await show()

    async def show() -> None:
        table.show([{**each, "key": n} for n, each in enumerate(results) if _chosen(each, filters)])

    change_button("Validate again", read, notice := Notice())
    counts = ShownTable(_COUNTS, _PATH, _NONE, key="key")
    heading("One by one")
    filters = FilterBar(page_addresses.SHAPES.path, visit.asked, show)
    filters.choice("severity", "Severity", _CHOICES)
    filters.text("shape", "Shape")
    filters.text("text", "Text")
    table = ShownTable(_VIOLATIONS, _PATH, "None of these.", key="key")
    with notice.of():
        await read()


def _chosen(each: Mapping[str, Any], filters: FilterBar) -> bool:
    if filters["severity"] not in ("", local_name(each["severity"])):
        return False
    told = " ".join(str(part) for part in each.values()).casefold()
    return filters["shape"] in each["shape"] and filters["text"].casefold() in told
