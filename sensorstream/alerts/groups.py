"""What a receiver is told of a group of alerts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sensorstream.alerts.cloudevents import incident_data
from sensorstream.alerts.incidents import Incident
from sensorstream.model.timeline import Timeline

MOST_TOLD: Final = 100
"""The most alerts of a group that are told at once."""


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group at a moment; ``told`` are the first of its alerts, ``cleared`` of them all ended."""

    labels: Mapping[str, str]
    told: Sequence[Incident]
    open: int
    cleared: int


def group_json(state: GroupState, timeline: Timeline) -> str:
    """What a receiver is told of a group, as JSON text; a lone surrogate is replaced."""
    told = {
        "group": state.labels,
        "open": state.open,
        "cleared": state.cleared,
        "truncated": state.open + state.cleared - len(state.told),
        "alerts": [incident_data(each, timeline) for each in state.told],
    }
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace").decode()
