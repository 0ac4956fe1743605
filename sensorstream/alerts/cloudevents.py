"""Alerts as CloudEvents.

Source: CloudEvents 1.0.2, sections 3.1 (attributes) and the JSON format 1.0.2, section 3
(structured mode).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from sensorstream.alerts.records import RaisedAlert
from sensorstream.model.events import Alert
from sensorstream.model.timeline import Instant, Timeline

CONTENT_TYPE: Final = "application/cloudevents+json"


def alert_data(raised: RaisedAlert, timeline: Timeline) -> Mapping[str, object]:
    """An alert as JSON people and machines read everywhere: REST, SSE and webhooks.

    ``time`` is application time: an integer, or ISO 8601 text on the dateTime line;
    ``raised_at`` is wall time, RFC 3339.
    """
    return {
        **plain_alert(raised.alert, timeline),
        "raised_at": raised.raised_at.isoformat().replace("+00:00", "Z"),
    }


def plain_alert(alert: Alert, timeline: Timeline) -> Mapping[str, object]:
    """:func:`alert_data` of an alert whose commit is not known: without ``raised_at``."""
    return {
        "id": alert.id,
        "rule": alert.rule,
        "kind": alert.kind,
        "severity": alert.severity,
        "text": alert.text,
        "key": alert.key,
        "time": plain_time(alert.time, timeline),
        "message_id": alert.message,
    }


def plain_time(instant: Instant, timeline: Timeline) -> int | str:
    """An application time for JSON: a number, or ISO 8601 text on the dateTime line."""
    text = timeline.format(instant)
    return instant if timeline is Timeline.INTEGER else text


def cloud_event(raised: RaisedAlert, source: str, timeline: Timeline) -> bytes:
    """One alert as a CloudEvent in structured mode.

    The same alert always gives the same bytes: consumers may drop a repeated ``source`` and
    ``id`` as a duplicate (CloudEvents, section 3.1.1).
    """
    data = alert_data(raised, timeline)
    event: dict[str, object] = {
        "specversion": "1.0",
        "id": raised.alert.id,
        "source": source,
        "type": f"sensorstream.alert.{raised.alert.kind}",
        "time": data["raised_at"],
        "datacontenttype": "application/json",
        "data": data,
    }
    if raised.alert.key:  # a subject, when present, is a non-empty string
        event["subject"] = raised.alert.key
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
