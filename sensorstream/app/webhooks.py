"""Webhooks: to register them, and to look after what is delivered to them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta
from secrets import token_hex
from typing import Final

from sensorstream.alerts.dispatcher import WebhookDispatcher
from sensorstream.alerts.poster import Attempt
from sensorstream.alerts.records import (
    ALERTMANAGER,
    CLOUD_EVENTS,
    FORMATS,
    Delivery,
    LoggedDelivery,
    RaisedAlert,
    Webhook,
    WebhookState,
)
from sensorstream.alerts.signing import check_secret, new_secret
from sensorstream.clock import Clock
from sensorstream.errors import WebhookError
from sensorstream.history.webhooks import PostgresWebhooks
from sensorstream.journal.registration import checked_name
from sensorstream.model.events import Alert
from sensorstream.model.timeline import Timeline

ROTATION: Final = timedelta(hours=24)
"""How long an old secret signs beside the new one."""


class Webhooks:
    """What server and command line may do with webhooks. Thread-safe.

    What names a webhook or a delivery raises :class:`.UnknownWebhook` or :class:`.UnknownDelivery`
    if there is none.
    """

    def __init__(
        self,
        registered: PostgresWebhooks,
        dispatcher: WebhookDispatcher,
        clock: Clock,
        timeline: Timeline,
    ) -> None:
        self._registered = registered
        self._dispatcher = dispatcher
        self._clock = clock
        self._timeline = timeline

    def register(
        self,
        url: str,
        secret: str | None = None,
        queries: Sequence[str] = (),
        format: str = CLOUD_EVENTS,
    ) -> Webhook:
        """Deliver alerts raised from now on to ``url``; makes a secret if the caller gives none.

        The reports of ``queries`` (names) are delivered too; the queries need not run yet.

        Raises:
            WebhookError: the URL, the secret or the format is not acceptable.
            QueryError: a name is not a valid name of a query.
        """
        if format not in FORMATS:
            raise WebhookError(f"there is no format '{format}': expected {' or '.join(FORMATS)}")
        if queries and format == ALERTMANAGER:
            raise WebhookError(
                "an Alertmanager's format has alerts only, no reports of queries: expected no "
                f"queries, or the format {CLOUD_EVENTS}"
            )
        webhook = Webhook(
            id=f"wh_{token_hex(8)}",
            url=url,
            secret=new_secret() if secret is None else check_secret(secret),
            created_at=self._clock.now(),
            queries=tuple(dict.fromkeys(map(checked_name, queries))),
            format=format,
        )
        self._dispatcher.check(url)
        self._registered.register(webhook)
        return webhook

    def all(self) -> Sequence[WebhookState]:
        """All registered webhooks, oldest first."""
        return self._registered.all()

    def one(self, webhook_id: str) -> WebhookState:
        """One registered webhook."""
        return self._registered.one(webhook_id)

    def delete(self, webhook_id: str) -> None:
        """Stop delivering to a webhook, and forget it."""
        self._registered.delete(webhook_id)

    def enable(self, webhook_id: str) -> WebhookState:
        """Deliver again to a webhook that was disabled."""
        self._registered.enable(webhook_id)
        self._dispatcher.wake()
        return self.one(webhook_id)

    def rotate(self, webhook_id: str, secret: str | None = None) -> tuple[str, datetime]:
        """Sign with another secret, a new one if the caller gives none.

        Returns:
            The secret, and until when the old one signs too.

        Raises:
            WebhookError: the secret cannot sign.
        """
        secret = new_secret() if secret is None else check_secret(secret)
        until = self._clock.now() + ROTATION
        self._registered.rotate(webhook_id, secret, until)
        return secret, until

    def test(self, webhook_id: str) -> Future[Attempt]:
        """Send a test event (its kind is ``test``), which is not kept; also to a disabled one."""
        now = self._clock.now()
        identity = f"test-{token_hex(8)}"
        alert = Alert(
            identity, "", "test", "info", "this is a test", "", self._timeline.of(now), ""
        )
        webhook = self.one(webhook_id).webhook
        return self._dispatcher.attempt(Delivery(0, RaisedAlert(0, alert, now), webhook, 0))

    def log(
        self, webhook_id: str, state: str | None, limit: int, before: int | None = None
    ) -> Sequence[LoggedDelivery]:
        """Deliveries of a webhook, newest first, of one state if it is given."""
        return self._registered.log(webhook_id, state, limit, before)

    def resend(self, delivery_id: int) -> LoggedDelivery:
        """Send a delivery now, again or for the first time."""
        found = self._registered.resend(delivery_id, self._clock.now())
        self._dispatcher.wake()
        return found

    def recover(self, webhook_id: str, since: datetime, until: datetime | None = None) -> int:
        """Send all dead deliveries of what was raised since then; how many there are."""
        now = self._clock.now()
        count = self._registered.recover(webhook_id, since, until or now, now)
        self._dispatcher.wake()
        return count
