"""What receivers hear of alerts, from a whole application over real HTTP."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sensorstream.alerts import dispatcher
from sensorstream.alerts.alert_records import Silence
from sensorstream.app.application import Application
from sensorstream.clock import SystemClock
from sensorstream.model.webhook_definition import Format, Grouping, WebhookDefinition
from sensorstream.settings.settings import AlertSettings, Settings
from tests.alerts.conftest import Receiver
from tests.alerts.conftest import receiver as receiver
from tests.app.conftest import Open
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "_HOUSEKEEPING", 0.05)


def bodies(receiver: Receiver, at_least: int) -> list[dict[str, Any]]:
    eventually(lambda: len(receiver.received) >= at_least)
    return [json.loads(each.body) for each in receiver.received]


@pytest.mark.parametrize("format", ["cloudevents", "alertmanager"])
def test_a_webhook_with_a_group_gets_one_request_for_many_alerts_also_after_a_restart(
    settings: Settings, open_application: Open, receiver: Receiver, format: Format
) -> None:
    application = open_application(settings)
    # Long enough that nothing is told before the restart.
    group = Grouping(("kind",), 3600, 3600)
    hook = application.webhooks.register(
        WebhookDefinition(receiver.url, format=format, group=group)
    ).id
    for name in ("Stranger", "Other", "Third"):
        application.submit(f"<{name}/>".encode(), "test").result(60)
    application.close()
    assert receiver.received == []
    again = open_application(settings)
    assert again.webhooks.one(hook).webhook.group == group
    again.webhooks.put(
        hook, WebhookDefinition(receiver.url, format=format, group=Grouping(("kind",), 0, 1))
    )
    (told,) = bodies(receiver, 1)
    if format == "alertmanager":
        assert (told["status"], told["groupLabels"]) == ("firing", {"kind": "unmatched-message"})
        alerts = told["alerts"]
        assert [each["labels"]["key"] for each in alerts] == ["Third", "Other", "Stranger"]
        assert "key" not in told["commonLabels"]
        assert len({each["fingerprint"] for each in alerts}) == 3
    else:
        assert (told["type"], told["data"]["id"]) == ("sensorstream.alert.group", told["id"])
        assert (told["data"]["open"], told["data"]["cleared"]) == (3, 0)
        assert told["data"]["alerts"][0] == _json(again, told["data"]["alerts"][0]["id"])
    (listed,) = again.webhooks.log(hook, None, 10)
    if format == "cloudevents":
        assert listed.event_id == told["id"]
    again.incidents.clear(again.reader.alerts_before(1)[0].id, "ann", "", again.clock.now())
    again.announce()
    last = bodies(receiver, 2)[1]
    if format == "alertmanager":
        assert [each["status"] for each in last["alerts"]] == ["resolved", "firing", "firing"]
    else:
        assert [each["state"] for each in last["data"]["alerts"]] == ["cleared", "open", "open"]


def _json(application: Application, alert: str) -> dict[str, Any]:
    from sensorstream.alerts.alert_formats import incident_data

    return incident_data(
        application.incidents.one(alert, application.clock.now()), application.timeline
    )


def test_what_a_silence_held_back_is_sent_when_it_ends(
    application: Application, receiver: Receiver
) -> None:
    application.webhooks.register(WebhookDefinition(receiver.url))
    now = SystemClock().now()
    wanted = Silence(0, "unmatched-*", None, None, now, now + timedelta(hours=1), "ann", "")
    silence = application.incidents.silence(wanted, now)
    for name in ("Stranger", "Other"):
        application.submit(f"<{name}/>".encode(), "test").result(60)
    held, cleared = reversed(application.reader.alerts_before(2))
    application.incidents.clear(cleared.id, "ann", "", application.clock.now())
    application.incidents.end_silence(silence.id, application.clock.now())
    application.announce()
    (told,) = bodies(receiver, 1)
    assert (told["id"], told["data"]["key"]) == (held.id, "Stranger")
    application.submit(b"<Third/>", "test").result(60)
    assert [each["data"]["key"] for each in bodies(receiver, 2)] == ["Stranger", "Third"]


def test_what_nobody_acknowledges_is_sent_to_another_receiver_and_so_is_its_end(
    settings: Settings, open_application: Open, receiver: Receiver
) -> None:
    # A twentieth of a second.
    alerts = AlertSettings(escalate_after=1 / 1200)
    application = open_application(replace(settings, alerts=alerts))
    hook = application.webhooks.register(WebhookDefinition(receiver.url, escalated=True)).id
    application.submit(b"<Stranger/>", "test").result(60)
    (told,) = bodies(receiver, 1)
    assert (told["type"], told["data"]["text"]) == ("sensorstream.alert.escalated", "critical")
    application.incidents.acknowledge(told["data"]["id"], "ann", "", application.clock.now())
    application.incidents.clear(told["data"]["id"], "ann", "", application.clock.now())
    application.announce()
    assert [each["type"].rpartition(".")[2] for each in bodies(receiver, 2)] == [
        "escalated",
        "cleared",
    ]
    assert len(application.webhooks.log(hook, None, 10)) == 2
