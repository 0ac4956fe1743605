"""How a webhook wants to be told of groups of alerts.

Source: Prometheus, documentation of Alertmanager, "Configuration", <route>: ``group_by``,
``group_wait`` and ``group_interval``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sensorstream.errors import WebhookError

LABELS: Final = ("rule", "kind", "severity", "key")
"""What alerts may be grouped by."""
LONGEST_WAIT: Final = 3600.0
LONGEST_INTERVAL: Final = 604_800.0


@dataclass(frozen=True, slots=True)
class Grouping:
    """Alerts that are alike in the labels ``by`` are told together.

    ``wait`` is for how many seconds others are waited for when a group is new, ``interval`` how
    many pass between two times that a group is told of.
    """

    by: tuple[str, ...]
    wait: float
    interval: float


def read_grouping(told: object) -> Grouping | None:
    """The grouping that JSON or TOML tells; None: it tells none.

    Raises:
        WebhookError: it is not valid.
    """
    if told is None:
        return None
    if not isinstance(told, Mapping):
        raise WebhookError("a group of a webhook: expected by, and maybe wait and interval")
    if unknown := told.keys() - {"by", "wait", "interval"}:
        raise WebhookError(
            f"a group of a webhook has no '{sorted(map(str, unknown))[0]}': expected by, wait and "
            "interval"
        )
    by = told.get("by")
    if not isinstance(by, list | tuple) or any(each not in LABELS for each in by):
        raise WebhookError(f"a group's 'by': expected a list of some of {', '.join(LABELS)}")
    wait = _seconds(told, "wait", 30.0, 0.0, LONGEST_WAIT)
    interval = _seconds(told, "interval", 300.0, 1.0, LONGEST_INTERVAL)
    return Grouping(tuple(each for each in LABELS if each in by), wait, interval)


def grouping_data(grouping: Grouping | None) -> dict[str, object] | None:
    """A grouping as JSON; :func:`read_grouping` reads it."""
    if grouping is None:
        return None
    return {"by": list(grouping.by), "wait": grouping.wait, "interval": grouping.interval}


def _seconds(
    told: Mapping[str, Any], name: str, default: float, least: float, most: float
) -> float:
    given = told.get(name, default)
    if isinstance(given, bool) or not isinstance(given, int | float) or not least <= given <= most:
        raise WebhookError(f"a group's '{name}': expected {least:g} to {most:g} seconds")
    return float(given)
