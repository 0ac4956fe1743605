"""Alerts and reports in the forms of receivers: CloudEvents, and those that an Alertmanager sends.

Source: CloudEvents 1.0.2, sections 3.1 (attributes) and the JSON format 1.0.2, section 3
(structured mode).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sensorstream.alerts.alert_records import (
    AlertChange,
    AlertGroup,
    Delivery,
    Incident,
    KeptReport,
    RaisedAlert,
    Told,
    subject_of,
)
from sensorstream.engine.engine_queries import EngineReport
from sensorstream.model.events import Alert
from sensorstream.model.frozen import asdict, frozen, replace
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.webhook_definition import ALERTMANAGER, CLOUD_EVENTS
from sensorstream.streams.query_report import Report
from sensorstream.streams.report_data import report_data
from sensorstream.streams.report_formats import JSON, format_of

CONTENT_TYPE: Final = "application/cloudevents+json"
_OF_ALERT: Final = ("rule", "kind", "severity", "text", "key")
_OF_CHANGE: Final = ("change", "rule", "kind", "severity", "key", "count", "by", "text")
_VARIABLES: Final = "variables"
"""A member of a kept report that JSON is written without."""
MOST_ROWS: Final = 1000
"""Rows, or triples, of a report that are sent to a webhook."""


def alert_data(raised: RaisedAlert, timeline: Timeline) -> Mapping[str, Any]:
    """An alert as JSON, the same for REST, SSE and webhooks.

    ``time`` is application time: an integer, or ISO 8601 text on the dateTime line; ``raised_at``
    is wall time, RFC 3339.
    """
    return {
        **plain_alert(raised.alert, timeline),
        "raised_at": wall_time(raised.raised_at),
    }


def plain_alert(alert: Alert, timeline: Timeline) -> Mapping[str, Any]:
    """:func:`alert_data` of an alert that is not committed yet: without ``raised_at``."""
    return {
        **{each: getattr(alert, each) for each in ("id", *_OF_ALERT)},
        "time": plain_time(alert.time, timeline),
        "message_id": alert.message,
    }


def change_data(change: AlertChange, timeline: Timeline) -> Mapping[str, Any]:
    """A change of an open alert as JSON, as ``alert_data``; ``id`` is that of the open alert,
    ``time`` is null where the engine did not decide the change.
    """
    return {
        "id": change.incident,
        **{each: getattr(change, each) for each in _OF_CHANGE},
        "time": None if change.time is None else plain_time(change.time, timeline),
        "at": wall_time(change.at),
        "first_at": wall_time(change.first_at),
    }


def incident_data(incident: Incident, timeline: Timeline) -> dict[str, object]:
    """An incident as JSON, the same for REST and groups; times as in :func:`alert_data`."""
    told: dict[str, object] = {
        name: wall_time(value) if isinstance(value, datetime) else value
        for name, value in asdict(incident).items()
    }
    return told | {
        "first_time": plain_time(incident.first_time, timeline),
        "last_time": plain_time(incident.last_time, timeline),
    }


def plain_time(instant: Instant, timeline: Timeline) -> int | str:
    """An application time for JSON: a number, or ISO 8601 text on the dateTime line."""
    text = timeline.format(instant)
    return instant if timeline is Timeline.INTEGER else text


def query_report_data(name: str, report: Report, timeline: Timeline) -> dict[str, Any]:
    """A report with the id ``name`` as JSON, the same for SSE and webhooks."""
    return {"id": name, **report_data(report, lambda time: plain_time(time, timeline))}


def report_json(reported: EngineReport, timeline: Timeline) -> str:
    """:func:`query_report_data` as text for a webhook: the first :data:`MOST_ROWS` rows,
    ``truncated`` if there are more. A lone surrogate, which UTF-8 cannot encode, is replaced.
    """
    report, cut = reported.report, {}
    if len(report.rows) > MOST_ROWS or len(report.triples or ()) > MOST_ROWS:
        triples = None if report.triples is None else report.triples[:MOST_ROWS]
        intervals = None if report.intervals is None else report.intervals[:MOST_ROWS]
        rows = report.rows[:MOST_ROWS]
        report = replace(report, rows=rows, triples=triples, intervals=intervals)
        cut = {"truncated": True}
    data = {**query_report_data(reported.id, report, timeline), **cut}
    data[_VARIABLES] = list(report.variables)
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode()


def cloud_event(told: Told, source: str, timeline: Timeline, form: str = CLOUD_EVENTS) -> bytes:
    """An alert, change or report as a CloudEvent in structured mode; a report is in a format of
    :data:`.REPORT_FORMATS` if it can be.

    The same alert or report always gives the same bytes: consumers may drop a repeated ``source``
    and ``id`` as a duplicate (CloudEvents, section 3.1.1).
    """
    more, used = {}, JSON
    data: Any
    match told:
        case RaisedAlert(alert=alert, raised_at=at):
            kind, data = f"alert.{alert.kind}", alert_data(told, timeline)
        case KeptReport(reported_at=at):
            kind, data = "query.report", json.loads(told.data)
            variables, used = data.pop(_VARIABLES, ()), format_of(form, data)
            if used is not JSON:
                more = {"truncated": True} if "truncated" in data else {}
                data = used.write(data, variables)
                if used.media_type.endswith("+json"):
                    data = json.loads(data)
        case AlertChange(at=at):
            kind, data = f"alert.{told.change}", change_data(told, timeline)
        case AlertGroup(id=name, told_at=at):
            kind, data = "alert.group", {"id": name, **json.loads(told.data)}
    event: dict[str, object] = {
        "specversion": "1.0",
        "id": told.id,
        "source": source,
        "type": f"sensorstream.{kind}",
        "time": wall_time(at),
        "datacontenttype": used.media_type,
        "data": data,
        **more,
    }
    if subject := subject_of(told):  # a subject, when present, is a non-empty string
        event["subject"] = subject
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def wall_time(moment: datetime) -> str:
    """A moment (aware, UTC) as RFC 3339 writes it."""
    return moment.isoformat().replace("+00:00", "Z")


MOST_TOLD: Final = 100
"""Alerts of a group that are sent at once, new ones first; the others are counted."""


@frozen
class AlertsOfGroup:
    """A group at a moment; ``told`` are the first of its alerts, ``cleared`` of them all ended."""

    labels: Mapping[str, str]
    told: Sequence[Incident]
    open: int
    cleared: int


def group_json(state: AlertsOfGroup, timeline: Timeline) -> str:
    """The JSON text about a group for a receiver; a lone surrogate is replaced."""
    told = {
        "group": state.labels,
        "open": state.open,
        "cleared": state.cleared,
        "truncated": state.open + state.cleared - len(state.told),
        "alerts": [incident_data(each, timeline) for each in state.told],
    }
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace").decode()


# -- as an Alertmanager sends alerts, so that its receivers take ours as well ---------------------
# Source: Prometheus, documentation of Alertmanager, "Configuration", <webhook_config>, version 4.

_ALERTMANAGER_TYPE: Final = "application/json"
_NO_END: Final = "0001-01-01T00:00:00Z"
"""Alertmanager's end of an alert that is not resolved: Go's zero time."""


def notification(
    told: RaisedAlert | AlertChange, receiver: str, source: str, timeline: Timeline
) -> bytes:
    """An alert as a group of its own; the same alert or change always gives the same bytes.

    It is ``resolved`` when it is cleared, else ``firing``. There is no page to link to, so
    ``externalURL`` and ``generatorURL`` are empty.
    """
    shown: tuple[str, ...] = ("message_id",)
    ended = None
    if isinstance(told, RaisedAlert):
        data = alert_data(told, timeline)
        begun = data["raised_at"]
    else:
        data = change_data(told, timeline)
        begun, shown = data["first_at"], ("change", "by")
        ended = data["at"] if told.change == "cleared" else None
    one = _alert(data, source, shown, begun, ended)
    return _body([one], {"alertname": one["labels"]["alertname"]}, receiver)


def group_notification(group: AlertGroup, receiver: str, source: str) -> bytes:
    """A group of alerts, as :func:`notification`; it fires as long as one of them does."""
    data = json.loads(group.data)
    alerts = []
    for each in data["alerts"]:
        told = each | {"severity": each["escalated"] or each["severity"], "time": each["last_time"]}
        alerts.append(_alert(told, source, (), each["first_at"], each["cleared_at"]))
    names = {"rule": "alertname"}
    labels = {names.get(name, name): value for name, value in data["group"].items() if value}
    return _body(alerts, labels, receiver, data["open"], data["truncated"])


def _alert(
    data: Mapping[str, Any], source: str, shown: Iterable[str], begun: str, ended: str | None
) -> dict[str, Any]:
    """An alert, from its data as JSON; ``shown`` are annotations beside those that all have."""
    labels = {
        "alertname": data["rule"] or data["kind"],
        "severity": data["severity"],
        "kind": data["kind"],
        "deployment": source,
        # A label without a value is the same as no label (Prometheus, data model).
        **({"key": data["key"]} if data["key"] else {}),
    }
    annotations = {"summary": data["text"], "id": data["id"]} | {each: data[each] for each in shown}
    if data["time"] is not None:
        annotations["time"] = str(data["time"])
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
    """The entries that all have alike."""
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


# -- of a delivery --------------------------------------------------------------------------------


def payload(delivery: Delivery, source: str, timeline: Timeline) -> tuple[str, bytes]:
    """Content type and body, always the same for a delivery; ``source``: of the CloudEvents."""
    event, webhook = delivery.event, delivery.webhook
    if webhook.format != ALERTMANAGER or isinstance(event, KeptReport):
        return CONTENT_TYPE, cloud_event(event, source, timeline, webhook.format)
    if isinstance(event, AlertGroup):
        return _ALERTMANAGER_TYPE, group_notification(event, webhook.id, source)
    return _ALERTMANAGER_TYPE, notification(event, webhook.id, source, timeline)
