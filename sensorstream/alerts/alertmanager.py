"""Alerts as an Alertmanager sends them to webhooks, so that its receivers take ours as well.

Source: Prometheus, documentation of Alertmanager, "Configuration", <webhook_config>, version 4.
"""

from __future__ import annotations

import json
from typing import Final

from sensorstream.alerts.cloudevents import plain_time, wall_time
from sensorstream.alerts.incidents import AlertChange
from sensorstream.alerts.records import RaisedAlert
from sensorstream.model.timeline import Timeline

CONTENT_TYPE: Final = "application/json"
_NO_END: Final = "0001-01-01T00:00:00Z"
"""What Alertmanager says of an alert that is not resolved: Go's zero time."""


def notification(
    told: RaisedAlert | AlertChange, receiver: str, source: str, timeline: Timeline
) -> bytes:
    """One alert as a group of its own; the same alert or change always gives the same bytes.

    It is ``resolved`` when it is cleared, else ``firing``. There is no page to link to, so
    ``externalURL`` and ``generatorURL`` are empty.
    """
    resolved, time = False, None
    match told:
        case RaisedAlert(alert=alert, raised_at=begun):
            rule, kind, severity, key = alert.rule, alert.kind, alert.severity, alert.key
            annotations = {"summary": alert.text, "id": alert.id, "message_id": alert.message}
            time = alert.time
        case AlertChange(rule=rule, kind=kind, severity=severity, key=key, first_at=begun):
            resolved = told.change == "cleared"
            annotations = {
                "summary": told.text,
                "id": told.incident,
                "change": told.change,
                "by": told.by,
            }
            time = told.time
    name = rule or kind
    labels = {
        "alertname": name,
        "severity": severity,
        "kind": kind,
        "deployment": source,
        # A label without a value is the same as no label (Prometheus, data model).
        **({"key": key} if key else {}),
    }
    if time is not None:
        annotations["time"] = str(plain_time(time, timeline))
    status = "resolved" if resolved else "firing"
    group = {"alertname": name}
    body = {
        "version": "4",
        "groupKey": f"{{}}:{{alertname={json.dumps(name, ensure_ascii=False)}}}",
        "truncatedAlerts": 0,
        "status": status,
        "receiver": receiver,
        "groupLabels": group,
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": "",
        "alerts": [
            {
                "status": status,
                "labels": labels,
                "annotations": annotations,
                "startsAt": wall_time(begun),
                "endsAt": wall_time(told.at)
                if isinstance(told, AlertChange) and resolved
                else _NO_END,
                "generatorURL": "",
                "fingerprint": _fingerprint(labels),
            }
        ],
    }
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _fingerprint(labels: dict[str, str]) -> str:
    """FNV-1a of 64 bits over the sorted labels, as Prometheus computes it (common/model)."""
    found = 0xCBF29CE484222325
    for name, value in sorted(labels.items()):
        for byte in (*name.encode(), 0xFF, *value.encode("utf-8", "replace"), 0xFF):
            found = (found ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{found:016x}"
