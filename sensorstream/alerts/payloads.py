"""The body of a delivery, in the format that its webhook asks for."""

from __future__ import annotations

from sensorstream.alerts import alertmanager, cloudevents
from sensorstream.alerts.records import ALERTMANAGER, AlertGroup, Delivery, KeptReport
from sensorstream.model.timeline import Timeline


def payload(delivery: Delivery, source: str, timeline: Timeline) -> tuple[str, bytes]:
    """Content type and body; the same delivery always gives the same bytes.

    ``source`` is the CloudEvents source of the deployment.
    """
    event, webhook = delivery.event, delivery.webhook
    if webhook.format == ALERTMANAGER and isinstance(event, AlertGroup):
        return alertmanager.CONTENT_TYPE, alertmanager.group_notification(event, webhook.id, source)
    if webhook.format == ALERTMANAGER and not isinstance(event, KeptReport | AlertGroup):
        body = alertmanager.notification(event, webhook.id, source, timeline)
        return alertmanager.CONTENT_TYPE, body
    body = cloudevents.cloud_event(event, source, timeline)
    return cloudevents.CONTENT_TYPE, body
