"""A dispatcher to deliver with, over an outbox in memory."""

from __future__ import annotations

from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any

from prometheus_client import CollectorRegistry

from sensorstream.alerts.dispatcher import DeliveryPlan, WebhookDispatcher
from sensorstream.clock import SystemClock
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import WebhookSettings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LOCAL = (ip_network("127.0.0.0/8"), ip_network("::1"))


def quickly(attempts: int, identity: str) -> timedelta:
    return timedelta(milliseconds=20)


class Bench:
    """Makes dispatchers over one outbox and stops them at the end."""

    def __init__(self, outbox: Any) -> None:
        self.outbox = outbox
        self.metrics = CollectorRegistry()
        self.made: list[WebhookDispatcher] = []
        self.told: list[tuple[str, str]] = []

    def start(self, **changes: Any) -> WebhookDispatcher:
        dispatcher = self.make(**changes)
        dispatcher.start()
        return dispatcher

    def make(self, **changes: Any) -> WebhookDispatcher:
        options = {"allow": LOCAL, "timeout": 10.0, "max_attempts": 3}
        options.update({k: changes.pop(k) for k in list(changes) if k in options})
        dispatcher = WebhookDispatcher(
            self.outbox,
            WebhookSettings(**options),  # type: ignore[arg-type]
            changes.pop("clock", SystemClock()),
            DeliveryPlan(
                "urn:test:deployment",
                Timeline.INTEGER,
                **{"schedule": quickly, "poll": 0.01, **changes},
            ),
            metrics=self.metrics,
            disabling=self.disabling,
        )
        self.made.append(dispatcher)
        return dispatcher

    def disabling(self, webhook: str, text: str) -> Future[None]:
        self.told.append((webhook, text))
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def count(self, result: str) -> float:
        name = "sensorstream_webhook_attempts_total"
        return self.metrics.get_sample_value(name, {"result": result}) or 0.0
