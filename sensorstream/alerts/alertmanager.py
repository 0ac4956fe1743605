"""Alerts as an Alertmanager sends them to webhooks, so that its receivers take ours as well.

Source: Prometheus, documentation of Alertmanager, "Configuration", <webhook_config>, version 4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sensorstream.alerts.cloudevents import plain_time, wall_time
from sensorstream.alerts.incidents import AlertChange
from sensorstream.alerts.records import AlertGroup, RaisedAlert
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
    ended, time = None, None
    match told:
        case RaisedAlert(alert=alert, raised_at=begun):
            rule, kind, severity, key = alert.rule, alert.kind, alert.severity, alert.key
            annotations = {"summary": alert.text, "id": alert.id, "message_id": alert.message}
            time = alert.time
        case AlertChange(rule=rule, kind=kind, severity=severity, key=key, first_at=begun):
            ended = wall_time(told.at) if told.change == "cleared" else None
            annotations = {
                "summary": told.text,
                "id": told.incident,
                "change": told.change,
                "by": told.by,
            }
            time = told.time
    if time is not None:
        annotations["time"] = str(plain_time(time, timeline))
    labels = _labels(rule, kind, severity, key, source)
    one = _alert(labels, annotations, wall_time(begun), ended)
    return _body([one], {"alertname": labels["alertname"]}, receiver)


def group_notification(group: AlertGroup, receiver: str, source: str) -> bytes:
    """A group of alerts, as :func:`notification`; it fires as long as one of them does."""
    data = json.loads(group.data)
    alerts = [
        _alert(
            _labels(
                each["rule"],
                each["kind"],
                each["escalated"] or each["severity"],
                each["key"],
                source,
            ),
            {"summary": each["text"], "id": each["id"], "time": str(each["last_time"])},
            each["first_at"],
            each["cleared_at"],
        )
        for each in data["alerts"]
    ]
    names = {"rule": "alertname"}
    labels = {names.get(name, name): value for name, value in data["group"].items() if value}
    return _body(alerts, labels, receiver, data["open"], data["truncated"])


def _labels(rule: str, kind: str, severity: str, key: str, source: str) -> dict[str, str]:
    return {
        "alertname": rule or kind,
        "severity": severity,
        "kind": kind,
        "deployment": source,
        # A label without a value is the same as no label (Prometheus, data model).
        **({"key": key} if key else {}),
    }


def _alert(
    labels: Mapping[str, str], annotations: Mapping[str, str], begun: str, ended: str | None
) -> dict[str, Any]:
    return {
        "status": "firing" if ended is None else "resolved",
        "labels": labels,
        "annotations": annotations,
        "startsAt": begun,
        "endsAt": ended or _NO_END,
        "generatorURL": "",
        "fingerprint": _fingerprint(labels),
    }


def _body(
    alerts: Sequence[Mapping[str, Any]],
    group: Mapping[str, str],
    receiver: str,
    firing: int = 0,
    truncated: int = 0,
) -> bytes:
    """The notification of a group; ``firing`` is how many of it fire, if not all are told."""
    shown = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in sorted(group.items())
    )
    fires = firing or any(each["status"] == "firing" for each in alerts)
    body = {
        "version": "4",
        "groupKey": f"{{}}:{{{shown}}}",
        "truncatedAlerts": truncated,
        "status": "firing" if fires else "resolved",
        "receiver": receiver,
        "groupLabels": group,
        "commonLabels": _common([each["labels"] for each in alerts]),
        "commonAnnotations": _common([each["annotations"] for each in alerts]),
        "externalURL": "",
        "alerts": alerts,
    }
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _common(found: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """What all have alike."""
    first, *others = found
    return {
        name: value
        for name, value in first.items()
        if all(each.get(name) == value for each in others)
    }


def _fingerprint(labels: Mapping[str, str]) -> str:
    """FNV-1a of 64 bits over the sorted labels, as Prometheus computes it (common/model)."""
    found = 0xCBF29CE484222325
    for name, value in sorted(labels.items()):
        for byte in (*name.encode(), 0xFF, *value.encode("utf-8", "replace"), 0xFF):
            found = (found ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{found:016x}"
