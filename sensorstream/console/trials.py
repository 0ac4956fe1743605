"""What a text would change if it were put in force, as a dry run tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.elements import link

_MOST: Final = 20
_SIDES: Final = ("before", "after")


class Trial:
    """The place where the outcome of the latest dry run stands."""

    def __init__(self) -> None:
        self._place = ui.element("div").props("role=status")

    def show(self, outcome: Mapping[str, Any]) -> bool:
        """Show an outcome; whether the text has no fault."""
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
    """How many of the recent messages would have another effect."""
    tried, different = outcome["messages"], outcome["different"]
    if not tried:
        return "No fault was found. There are no recent messages to try it on."
    told = f"No fault was found. Of the last {tried} messages, {different} have another effect."
    before, after = outcome["lost_before"], outcome["lost_after"]
    if (before, after) == (0, 0):
        return told
    return f"{told} Not taken in: {before} before, {after} after."


def reported(outcome: Mapping[str, Any]) -> str:
    """How often a query would have reported on the recent messages."""
    told = (
        f"No fault was found. On the last {outcome['messages']} messages it would report "
        f"{outcome['count']} times."
    )
    stopped = outcome["stopped"]
    return told if stopped is None else f"{told} It was stopped: {stopped}"


def _difference(difference: Mapping[str, Any]) -> None:
    message = str(difference["message"])
    with ui.element("div").classes("difference"):
        link(message, places.message(message))
        for sign, side in zip("-+", _SIDES, strict=True):
            for line in lines(difference[side], difference):
                ui.label(f"{sign} {line}").classes("removed" if sign == "-" else "added")


def lines(side: Mapping[str, Any], difference: Mapping[str, Any]) -> Sequence[str]:
    """What one side of a difference says that the other one does not."""
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
