"""Alerts as an Alertmanager sends them to webhooks, so that its receivers take ours as well.

Source: Prometheus, documentation of Alertmanager, "Configuration", <webhook_config>, version 4.
"""

from __future__ import annotations

import json
from typing import Final

from sensorstream.alerts.cloudevents import plain_time, wall_time
from sensorstream.alerts.records import RaisedAlert
from sensorstream.model.timeline import Timeline

CONTENT_TYPE: Final = "application/json"
_NO_END: Final = "0001-01-01T00:00:00Z"
"""What Alertmanager says of an alert that is not resolved: Go's zero time."""


def notification(raised: RaisedAlert, receiver: str, source: str, timeline: Timeline) -> bytes:
    """One alert as a group of its own; the same alert always gives the same bytes.

    It is ``firing``, and none is ever ``resolved``: an alert here is an event, not a state. There
    is no page to link to, so ``externalURL`` and ``generatorURL`` are empty.
    """
    alert = raised.alert
    name = alert.rule or alert.kind
    labels = {
        "alertname": name,
        "severity": alert.severity,
        "kind": alert.kind,
        "deployment": source,
        # A label without a value is the same as no label (Prometheus, data model).
        **({"key": alert.key} if alert.key else {}),
    }
    annotations = {
        "summary": alert.text,
        "id": alert.id,
        "message_id": alert.message,
        "time": str(plain_time(alert.time, timeline)),
    }
    group = {"alertname": name}
    body = {
        "version": "4",
        "groupKey": f"{{}}:{{alertname={json.dumps(name, ensure_ascii=False)}}}",
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": receiver,
        "groupLabels": group,
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": "",
        "alerts": [
            {
                "status": "firing",
                "labels": labels,
                "annotations": annotations,
                "startsAt": wall_time(raised.raised_at),
                "endsAt": _NO_END,
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
