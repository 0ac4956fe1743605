"""Alerts and reports as CloudEvents.

Source: CloudEvents 1.0.2, sections 3.1 (attributes) and the JSON format 1.0.2, section 3
(structured mode).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final

from sensorstream.alerts.incidents import AlertChange, Incident
from sensorstream.alerts.records import AlertGroup, KeptReport, RaisedAlert, Told, subject_of
from sensorstream.engine.live_queries import QueryReport
from sensorstream.model.events import Alert
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.streams.report import Report
from sensorstream.streams.report_data import report_data

CONTENT_TYPE: Final = "application/cloudevents+json"
MOST_ROWS: Final = 1000
"""The most rows, or triples, of a report that are sent to a webhook."""


def alert_data(raised: RaisedAlert, timeline: Timeline) -> Mapping[str, object]:
    """An alert as JSON, the same for REST, SSE and webhooks.

    ``time`` is application time: an integer, or ISO 8601 text on the dateTime line;
    ``raised_at`` is wall time, RFC 3339.
    """
    return {
        **plain_alert(raised.alert, timeline),
        "raised_at": wall_time(raised.raised_at),
    }


def plain_alert(alert: Alert, timeline: Timeline) -> Mapping[str, object]:
    """:func:`alert_data` of an alert that is not committed yet: without ``raised_at``."""
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


def change_data(change: AlertChange, timeline: Timeline) -> Mapping[str, object]:
    """A change of an open alert as JSON, the same for REST, SSE and webhooks; as ``alert_data``.

    ``id`` is that of the open alert; ``time`` is null where the engine did not decide the change.
    """
    return {
        "id": change.incident,
        "change": change.change,
        "rule": change.rule,
        "kind": change.kind,
        "severity": change.severity,
        "key": change.key,
        "count": change.count,
        "by": change.by,
        "text": change.text,
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


def report_json(reported: QueryReport, timeline: Timeline) -> str:
    """:func:`query_report_data` as text for a webhook.

    Of more than :data:`MOST_ROWS` rows only the first are included, and ``truncated`` is true. A
    lone surrogate, which UTF-8 cannot encode, is replaced.
    """
    report, cut = reported.report, {}
    if len(report.rows) > MOST_ROWS or len(report.triples or ()) > MOST_ROWS:
        triples = None if report.triples is None else report.triples[:MOST_ROWS]
        intervals = None if report.intervals is None else report.intervals[:MOST_ROWS]
        rows = report.rows[:MOST_ROWS]
        report = replace(report, rows=rows, triples=triples, intervals=intervals)
        cut = {"truncated": True}
    data = {**query_report_data(reported.id, report, timeline), **cut}
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace").decode()


def cloud_event(told: Told, source: str, timeline: Timeline) -> bytes:
    """One alert, change or report as a CloudEvent in structured mode.

    The same alert or report always gives the same bytes: consumers may drop a repeated ``source``
    and ``id`` as a duplicate (CloudEvents, section 3.1.1).
    """
    match told:
        case RaisedAlert(alert=alert, raised_at=at):
            kind, data = f"alert.{alert.kind}", alert_data(told, timeline)
        case KeptReport(reported_at=at):
            kind, data = "query.report", json.loads(told.data)
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
        "datacontenttype": "application/json",
        "data": data,
    }
    if subject := subject_of(told):  # a subject, when present, is a non-empty string
        event["subject"] = subject
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def wall_time(moment: datetime) -> str:
    """A moment (aware, UTC) as RFC 3339 writes it."""
    return moment.isoformat().replace("+00:00", "Z")


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
