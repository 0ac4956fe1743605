"""What is kept of the outcome of a message, as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sensorstream.engine.outcome import Outcome
from sensorstream.quoting import few


def facts_of(outcome: Outcome) -> dict[str, Any]:
    """The outcome of one message, ready for JSON.

    Alerts are named by their ids, for they are kept themselves; contradictions are not here.
    ``error`` has the code, the message and the position of what rejected it; None: nothing did.
    """
    error = outcome.rejection
    return {
        "status": outcome.status.value,
        "matched": list(outcome.matched),
        "individuals": list(outcome.individuals),
        "alerts": [each.id for each in outcome.alerts],
        "expired": len(outcome.departures),
        "filtered": [each.name for each in outcome.filtered],
        "shed": [each.name for each in outcome.shed],
        "timings": outcome.timings,
        "replies": list(outcome.replies),
        "warnings": list(few(outcome.warnings)),
        "time": outcome.time,
        "error": None
        if error is None
        else {
            "code": error.code,
            "message": error.message,
            "position": None if error.position is None else asdict(error.position),
        },
    }
