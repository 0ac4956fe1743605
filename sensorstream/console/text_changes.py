"""The effects of a text if it were put in force, the texts before it, and the way back."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from nicegui import ui

from sensorstream.client.deployment_operations import Kind
from sensorstream.console import page_addresses
from sensorstream.console.elements import Listing, Row, ShownTable, TableColumn, link, moments
from sensorstream.console.page_visits import Visit

_MOST: Final = 20
_SIDES: Final = ("before", "after")


class DryRunPlace:
    """The place where the outcome of the latest dry run stands."""

    def __init__(self) -> None:
        self._place = ui.element("div").props("role=status")

    def show(self, outcome: Mapping[str, Any]) -> bool:
        """Show an outcome; returns whether the text has no fault."""
        self._place.clear()
        faults = outcome["faults"]
        with self._place:
            for fault in faults:
                ui.label(fault_text(fault)).classes("notice")
            if faults:
                return False
            if "reports" in outcome:
                ui.label(reported(outcome))
            elif "messages" in outcome:
                ui.label(summary(outcome))
                for difference in outcome["differences"][:_MOST]:
                    _difference(difference)
        return True

    def clear(self) -> None:
        """Show nothing."""
        self._place.clear()


def fault_text(fault: Mapping[str, Any]) -> str:
    """A fault with its place."""
    at = fault["position"]
    place = "" if at is None else f"line {at['line']}, column {at['column']}: "
    return f"{place}{fault['detail']}"


def summary(outcome: Mapping[str, Any]) -> str:
    """The number of recent messages that would have another effect, as a sentence."""
    tried, different = outcome["messages"], outcome["different"]
    if not tried:
        return "No fault was found. There are no recent messages to try it on."
    told = f"No fault was found. Of the last {tried} messages, {different} have another effect."
    before, after = outcome["lost_before"], outcome["lost_after"]
    if (before, after) == (0, 0):
        return told
    return f"{told} Not taken in: {before} before, {after} after."


def reported(outcome: Mapping[str, Any]) -> str:
    """The number of times a query would have reported on the recent messages, as a sentence."""
    told = (
        f"No fault was found. On the last {outcome['messages']} messages it would report "
        f"{outcome['count']} times."
    )
    stopped = outcome["stopped"]
    return told if stopped is None else f"{told} It was stopped: {stopped}"


def _difference(difference: Mapping[str, Any]) -> None:
    message = str(difference["message"])
    with ui.element("div").classes("difference"):
        link(message, page_addresses.message(message))
        for sign, side in zip("-+", _SIDES, strict=True):
            for line in lines(difference[side], difference):
                ui.label(f"{sign} {line}").classes("removed" if sign == "-" else "added")


def lines(side: Mapping[str, Any], difference: Mapping[str, Any]) -> Sequence[str]:
    """The lines of one side of a difference that the other side does not have."""
    before, after = (difference[name] for name in _SIDES)
    said: list[str] = []
    for name in ("status", "reason"):
        if before[name] != after[name] and side[name]:
            said.append(str(side[name]))
    if before["matched"] != after["matched"]:
        said.append(f"rules that matched: {', '.join(side['matched'])}")
    said.extend(map(str, side["statements"]))
    other = after if side is before else before
    said.extend(f"alert: {each}" for each in side["alerts"] if each not in other["alerts"])
    return said


_COLUMNS: Final = (
    TableColumn("change", "Change"),
    moments("at", "When"),
    TableColumn("by", "By"),
    TableColumn(
        "what", "", value=lambda row: "taken out of force" if row["digest"] is None else ""
    ),
)


class VersionTable:
    """A table of versions; ``put_again`` is given the text of the one to go back to."""

    def __init__(
        self,
        visit: Visit,
        kind: Kind,
        name: str,
        in_force: Callable[[], str],
        put_again: Callable[[str, str], Awaitable[None]],
    ) -> None:
        self._visit, self._kind, self._name = visit, kind, name
        path = f"/{kind}/{name}/versions" if name else f"/{kind}/versions"
        self._table = ShownTable(_COLUMNS, path, "It was never changed on this server.")
        self._difference = Listing("", "Difference")

        async def compare(row: Row) -> None:
            text = (await visit.client.version(kind, row["change"], name))[0]
            told = difference(text.decode(), in_force(), row["change"])
            self._difference.show(told or "There is no difference.")

        async def go_back(row: Row) -> None:
            text, media_type = await visit.client.version(kind, row["change"], name)
            await put_again(text.decode(), media_type)

        def has_text(row: Row) -> bool:
            return row["digest"] is not None

        self._table.add("compare", "Difference to the one in force", compare, has_text)
        self._table.add("again", "Put it in force again", go_back, has_text)

    async def read(self) -> None:
        """Show the versions on the server."""
        found = await self._visit.client.versions(self._kind, self._name)
        self._table.show(found[::-1])


def difference(old: str, new: str, change: str) -> str:
    """The unified diff from an old text to the one in force; "" if they are the same."""
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), change, "in force", lineterm="", n=3
    )
    return "\n".join(lines)
