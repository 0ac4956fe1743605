from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from sensorstream.alerts.alert_formats import _fingerprint, notification, payload
from sensorstream.alerts.alert_records import Delivery, RaisedAlert
from sensorstream.model.timeline import Timeline
from sensorstream.model.webhook_definition import ALERTMANAGER

Make = Callable[..., Delivery]

# The fields that Alertmanager's documentation names for <webhook_config>, with their types.
BODY: dict[str, type] = {
    "version": str,
    "groupKey": str,
    "truncatedAlerts": int,
    "status": str,
    "receiver": str,
    "groupLabels": dict,
    "commonLabels": dict,
    "commonAnnotations": dict,
    "externalURL": str,
    "alerts": list,
}
ALERT: dict[str, type] = {
    "status": str,
    "labels": dict,
    "annotations": dict,
    "startsAt": str,
    "endsAt": str,
    "generatorURL": str,
    "fingerprint": str,
}


def sent(delivery: Delivery) -> dict[str, Any]:
    webhook = replace(delivery.webhook, format=ALERTMANAGER)
    kind, body = payload(replace(delivery, webhook=webhook), "urn:test", Timeline.INTEGER)
    assert kind == "application/json"
    told: dict[str, Any] = json.loads(body)
    return told


def test_an_alert_has_the_documented_form_of_version_4(make_delivery: Make) -> None:
    told = sent(make_delivery(1, "http://example.org/"))
    assert {name: type(value) for name, value in told.items()} == BODY
    (alert,) = told["alerts"]
    assert {name: type(value) for name, value in alert.items()} == ALERT
    assert (told["version"], told["status"], told["receiver"]) == ("4", "firing", "w1")
    assert told["groupKey"] == '{}:{alertname="crowded-room"}'
    assert told["groupLabels"] == {"alertname": "crowded-room"}
    assert alert["labels"] == told["commonLabels"]
    assert alert["labels"] == {
        "alertname": "crowded-room",
        "severity": "warning",
        "kind": "rule",
        "deployment": "urn:test",
        "key": "kitchen",
    }
    assert alert["annotations"] == {
        "summary": "21 people in Küche",
        "id": "m1-1",
        "message_id": "m1",
        "time": "1",
    }
    assert (alert["startsAt"], alert["endsAt"]) == ("2026-03-01T12:00:00Z", "0001-01-01T00:00:00Z")
    for name in ("startsAt", "endsAt"):
        datetime.fromisoformat(alert[name])
    assert re.fullmatch("[0-9a-f]{16}", alert["fingerprint"])
    names = [*alert["labels"], *alert["annotations"]]
    assert all(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", each) for each in names)
    assert all(isinstance(each, str) for each in [*alert["labels"].values()])


def test_equal_labels_have_the_same_fingerprint_and_others_another(make_delivery: Make) -> None:
    first, again = (sent(make_delivery(n, "http://example.org/")) for n in (1, 2))
    assert first["alerts"][0]["fingerprint"] == again["alerts"][0]["fingerprint"]
    # As Prometheus computes it: 14695981039346656037 is the hash of nothing.
    assert _fingerprint({}) == f"{14695981039346656037:016x}"
    assert _fingerprint({"a": "bc"}) != _fingerprint({"ab": "c"})


def test_an_alert_of_the_system_is_named_by_its_kind_and_odd_text_is_sent(
    make_delivery: Make,
) -> None:
    event = make_delivery(1, "http://example.org/").event
    assert isinstance(event, RaisedAlert)
    alert = replace(event.alert, rule="", kind="webhook-disabled", key="", text='\ud800 "x"')
    body = notification(replace(event, alert=alert), "w1", "urn:test", Timeline.INTEGER)
    told = json.loads(body)
    assert told["groupLabels"] == {"alertname": "webhook-disabled"}
    assert "key" not in told["commonLabels"]
    assert told["commonAnnotations"]["summary"] == '? "x"'
