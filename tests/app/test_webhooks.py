"""Webhooks of a whole application: disabled, told, recovered."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sensorstream.app.application import Application
from sensorstream.errors import UnknownWebhook, WebhookError
from sensorstream.journal.notice import ReportDisabled
from sensorstream.model.webhook_definition import WebhookDefinition
from sensorstream.settings.settings import Settings, WebhookSettings
from tests.app.conftest import Open
from tests.databases import execute
from tests.waiting import eventually

NOBODY = "http://127.0.0.1:9/"
"""Nobody listens there."""


def test_that_a_webhook_is_disabled_is_an_alert_which_the_others_get(
    settings: Settings, open_application: Open
) -> None:
    application = open_application(settings)
    lost = application.webhooks.register(WebhookDefinition(NOBODY)).id
    other = application.webhooks.register(WebhookDefinition(f"{NOBODY}other")).id
    url = settings.history.url
    since = "failing_since = now() - interval '6 days'"
    execute(url, f"update store.webhooks set {since} where id = '{lost}'")
    application.submit(b"<Stranger/>", "test").result(60)
    eventually(lambda: application.webhooks.one(lost).disabled_at)

    told = application.reader.alerts_before(10)
    assert [each.alert.kind for each in told] == ["webhook-disabled", "unmatched-message"]
    assert told[0].alert.key == lost
    assert f"webhook {lost} (http://127.0.0.1:9/…) is disabled" in told[0].alert.text
    assert told[0].id in [each.event_id for each in application.webhooks.log(other, None, 10)]
    assert application.webhooks.one(other).disabled_at is None

    application.submit(b"<Another/>", "test").result(60)
    (newest, *_) = application.webhooks.log(lost, None, 10)
    assert (newest.state, newest.error) == ("dead", "the webhook was disabled")
    # As when a server is killed between this alert and what it tells of.
    untrue = application.pipeline.change(ReportDisabled(other, "is disabled")).result().message
    # A restart that processes the journal again raises the same alerts, each once.
    raised = [each.id for each in application.reader.alerts_before(10)]
    application.close()
    execute(url, "delete from store.checkpoints")
    again = open_application(settings)
    assert [each.id for each in again.reader.alerts_before(10)] == raised
    assert raised[0].startswith(untrue.id)
    assert again.incidents.one(raised[0], again.clock.now()).state == "cleared"
    assert again.webhooks.recover(lost, newest.raised_at) == 2
    assert again.incidents.one(told[0].id, again.clock.now()).state == "open"
    enabled = again.webhooks.enable(lost)
    assert enabled.disabled_at is None
    # It may have failed once more by now.
    assert enabled.failing_since is None or enabled.failing_since > newest.raised_at
    history = again.incidents.history(told[0].id, 9, 0, again.clock.now())
    assert [(each.change, each.text) for each in history][1:] == [("cleared", "it is enabled")]


def test_what_a_webhook_may_not_be_is_refused(application: Application) -> None:
    webhooks = application.webhooks
    for url, told in [("http://10.1.2.3/", "not a public address"), ("ftp://x/", "expected http")]:
        with pytest.raises(WebhookError, match=told):
            webhooks.register(WebhookDefinition(url))
    with pytest.raises(WebhookError, match="alerts only"):
        webhooks.register(WebhookDefinition(NOBODY, queries=("q",), format="alertmanager"))
    with pytest.raises(WebhookError, match="no format 'odd'"):
        webhooks.register(WebhookDefinition(NOBODY, format="odd"))  # type: ignore[arg-type]
    for unknown in ("wh_none", "nul \x00"):
        with pytest.raises(UnknownWebhook):
            webhooks.one(unknown)
        with pytest.raises(UnknownWebhook):
            webhooks.delete(unknown)
    assert webhooks.all() == []

    one = webhooks.register(WebhookDefinition(NOBODY))
    tested = webhooks.test(one.id).result(60)
    assert tested.failure is not None
    assert "ConnectError" in tested.failure.reason
    assert webhooks.log(one.id, None, 10) == []
    assert webhooks.rotate(one.id)[0] != one.secret


def test_a_deployment_as_it_is_made_reaches_nothing_inside(
    settings: Settings, open_application: Open
) -> None:
    application = open_application(replace(settings, webhooks=WebhookSettings()))
    with pytest.raises(WebhookError, match=r'webhooks.allow = \["127.0.0.1"\]'):
        application.webhooks.register(WebhookDefinition(NOBODY))
