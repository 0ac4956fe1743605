from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from sensorstream.alerts.cloudevents import cloud_event
from sensorstream.alerts.records import Delivery
from sensorstream.model.timeline import Timeline


def test_an_alert_becomes_an_event_in_structured_mode(
    make_delivery: Callable[..., Delivery],
) -> None:
    raised = make_delivery(42, "http://example.org/").alert
    event = json.loads(cloud_event(raised, "https://sensors.example/", Timeline.INTEGER))
    assert event == {
        "specversion": "1.0",
        "id": "m42-1",
        "source": "https://sensors.example/",
        "type": "sensorstream.alert.rule",
        "subject": "kitchen",
        "time": "2026-03-01T12:00:00Z",
        "datacontenttype": "application/json",
        "data": {
            "id": "m42-1",
            "rule": "crowded-room",
            "kind": "rule",
            "severity": "warning",
            "text": "62 people in Küche",
            "key": "kitchen",
            "time": 42,
            "message_id": "m42",
            "raised_at": "2026-03-01T12:00:00Z",
        },
    }


def test_application_time_is_text_on_the_datetime_line(
    make_delivery: Callable[..., Delivery],
) -> None:
    raised = make_delivery(1_000_000, "http://example.org/").alert
    event = json.loads(cloud_event(raised, "urn:x", Timeline.DATETIME))
    assert event["data"]["time"] == "1970-01-01T00:00:01Z"


def test_an_alert_without_a_key_has_no_subject(make_delivery: Callable[..., Delivery]) -> None:
    raised = make_delivery(1, "http://example.org/").alert
    raised = replace(raised, alert=replace(raised.alert, key=""))
    assert "subject" not in json.loads(cloud_event(raised, "urn:x", Timeline.INTEGER))
