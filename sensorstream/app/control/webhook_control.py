"""Registration of webhooks, and control of their deliveries."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import fields, replace
from datetime import datetime, timedelta
from secrets import token_hex
from threading import Lock
from typing import Final

from sensorstream.alerts.alert_records import (
    Delivery,
    LoggedDelivery,
    RaisedAlert,
    Webhook,
    WebhookState,
)
from sensorstream.alerts.dispatcher import WebhookDispatcher
from sensorstream.alerts.poster import Attempt
from sensorstream.alerts.sender import OUTPUT
from sensorstream.alerts.signing import check_secret, new_secret
from sensorstream.app.control.versions import Match, ResourceVersions, check_match
from sensorstream.app.deployment_handle import Handle
from sensorstream.errors import SensorStreamError, UnknownQuery, UnknownWebhook, WebhookError
from sensorstream.history.journal_rows import journal_changes, record_of
from sensorstream.history.webhook_store import PostgresWebhooks
from sensorstream.journal.kinds import entry_of
from sensorstream.journal.records import number_of_message
from sensorstream.journal.registration import PutWebhook, RemoveWebhook, checked_name
from sensorstream.model.events import Alert
from sensorstream.model.webhook_definition import (
    ALERTMANAGER,
    CLOUD_EVENTS,
    FORMATS,
    WebhookContent,
    WebhookDefinition,
)
from sensorstream.streams.report_formats import check_format

ROTATION: Final = timedelta(hours=24)
"""How long an old secret signs beside the new one."""
_MOST: Final = 1000
"""Webhooks that are registered; an alert is stored once, however many there are."""
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KINDS: Final = (PutWebhook.kind, RemoveWebhook.kind)


class Webhooks:
    """The operations of server and command line on webhooks. Thread-safe.

    A change is an entry of the journal, then it is made; if the process dies between, the next
    start makes it. A method that names a webhook or a delivery raises :class:`.UnknownWebhook` or
    :class:`.UnknownDelivery` if there is none.
    """

    def __init__(
        self,
        app: Handle,
        registered: PostgresWebhooks,
        dispatcher: WebhookDispatcher,
        announce: Callable[[], None],
        form_of: Callable[[str], str],
    ) -> None:
        """Make the operations; ``announce`` is called when there is something to deliver, and
        ``form_of`` tells the form of a query.
        """
        self._app = app
        self._announce = announce
        self._form_of = form_of
        self._registered = registered
        self._dispatcher = dispatcher
        self._changing = Lock()
        self.versions = ResourceVersions(
            lambda: app.url,
            _KINDS,
            "the webhook {}".format,
            by_source=True,
            check=self._check_id,
            without=self.one,
        )

    def catch_up(self) -> None:
        """Make the changes that are in the journal and were not made yet.

        Raises:
            HistoryError: the database cannot be read or written.
        """
        last: dict[str, tuple[int, PutWebhook | RemoveWebhook]] = {}
        with closing(journal_changes(self._app.url, _KINDS, None)) as rows:
            for row in rows:
                record = record_of(row)
                entry = entry_of(record)
                assert isinstance(entry, PutWebhook | RemoveWebhook)
                last[entry.webhook] = (record.seq, entry)
        there = self._registered.changes()
        for seq, entry in last.values():
            if isinstance(entry, RemoveWebhook):
                if entry.webhook in there:
                    self._registered.delete(entry.webhook, self._app.clock.now())
            elif seq > there.get(entry.webhook, 0):
                self._registered.put(self._webhook(entry, new_secret()), seq)
        self._registered.end_stale_alerts(self._app.clock.now())

    def register(
        self, definition: WebhookDefinition, secret: str | None = None, by: str = ""
    ) -> Webhook:
        """Deliver alerts raised from now on; makes a secret if the caller gives none. The reports
        of its queries are delivered too; they need not run yet. ``by`` is who registers it.

        Raises:
            WebhookError: the URL, the secret or the format is not acceptable, or there are too many
                webhooks.
            QueryError: a name is not a valid name of a query, or the format is none for the reports
                of one that runs.
            Unavailable: the server is stopping or broken.
        """
        secret = new_secret() if secret is None else check_secret(secret)
        entry = self._entry(f"wh_{token_hex(8)}", definition, by)
        with self._changing:
            return self._put(entry, secret)

    def put(
        self, webhook_id: str, definition: WebhookDefinition, by: str = "", match: Match = None
    ) -> Webhook | None:
        """Register a webhook by this id, or change the one that has it; returns it if it is new. It
        keeps its secret; a new one gets a new secret. ``match`` is whether the change is wanted,
        told the digest of the present definition, or None.

        Raises:
            ChangedMeanwhile: ``match`` says no.
            WebhookError, QueryError, Unavailable: as for :meth:`register`, or no webhook can have
                this id.
        """
        entry = self._entry(webhook_id, definition, by)
        with self._changing:
            now = self._present(webhook_id)
            text = None if now is None else now.definition.text()
            check_match(match, text, f"the webhook {webhook_id}")
            if now is None:
                return self._put(entry, new_secret())
            if text != entry.definition.text():
                self._put(entry, now.secret)
        return None

    def try_put(self, webhook_id: str, definition: WebhookDefinition) -> SensorStreamError | None:
        """Check :meth:`put` and return its error; nothing is put, and nothing is sent."""
        try:
            self._entry(webhook_id, definition, "")
        except SensorStreamError as error:
            return error
        return None

    def _check_id(self, webhook_id: str) -> None:
        if not _ID.fullmatch(webhook_id):
            self.one(webhook_id)

    def _entry(self, webhook_id: str, given: WebhookDefinition, by: str) -> PutWebhook:
        """The entry of a change that is acceptable."""
        if not _ID.fullmatch(webhook_id) or webhook_id.startswith(OUTPUT):
            raise WebhookError(
                f"'{webhook_id[:60]}' is not an id of a webhook: expected up to 64 letters, "
                f"digits, '_' and '-', and not '{OUTPUT}' at the beginning"
            )
        if given.format not in FORMATS:
            told = f"there is no format '{given.format}': expected {' or '.join(FORMATS)}"
            raise WebhookError(told)
        if given.queries and given.format == ALERTMANAGER:
            raise WebhookError(
                "an Alertmanager's format has alerts only, no reports of queries: expected no "
                f"queries, or the format {CLOUD_EVENTS}"
            )
        names = tuple(dict.fromkeys(map(checked_name, given.queries)))
        for name in names:
            with suppress(UnknownQuery):
                check_format(given.format, name, self._form_of(name))
        self._dispatcher.check(given.url)
        return PutWebhook(webhook_id, replace(WebhookDefinition.of(given), queries=names), by)

    def _put(self, entry: PutWebhook, secret: str) -> Webhook:
        there = self._registered.changes()
        if entry.webhook not in there and len(there) >= _MOST:
            raise WebhookError(f"there are {_MOST} webhooks already: delete one first")
        message = self._app.pipeline.change(entry).result().message
        webhook = self._webhook(entry, secret)
        self._registered.put(webhook, number_of_message(message.id))
        self._announce()
        return webhook

    def _webhook(self, entry: PutWebhook, secret: str) -> Webhook:
        told = {each.name: getattr(entry.definition, each.name) for each in fields(WebhookContent)}
        url, queries = entry.definition.url, entry.definition.queries
        return Webhook(entry.webhook, url, secret, self._app.clock.now(), queries, **told)

    def _present(self, webhook_id: str) -> Webhook | None:
        try:
            return self.one(webhook_id).webhook
        except UnknownWebhook:
            return None

    def all(self) -> Sequence[WebhookState]:
        """The registered webhooks, oldest first."""
        return self._registered.all()

    def one(self, webhook_id: str) -> WebhookState:
        return self._registered.one(webhook_id)

    def delete(self, webhook_id: str, by: str = "", match: Match = None) -> None:
        """Stop delivering to a webhook, and forget it; ``match`` as in :meth:`put`.

        Raises:
            ChangedMeanwhile: ``match`` says no.
        """
        with self._changing:
            now = self.one(webhook_id).webhook
            check_match(match, now.definition.text(), f"the webhook {webhook_id}")
            self._app.pipeline.change(RemoveWebhook(webhook_id, by)).result()
            self._registered.delete(webhook_id, self._app.clock.now())
            self._announce()

    def enable(self, webhook_id: str) -> WebhookState:
        """Deliver again to a webhook that was disabled."""
        self._registered.enable(webhook_id, self._app.clock.now())
        self._announce()
        return self.one(webhook_id)

    def rotate(self, webhook_id: str, secret: str | None = None) -> tuple[str, datetime]:
        """Sign with another secret, a new one if the caller gives none; returns it, and until when
        the old one signs too.

        Raises:
            WebhookError: the secret cannot sign.
        """
        secret = new_secret() if secret is None else check_secret(secret)
        until = self._app.clock.now() + ROTATION
        self._registered.rotate(webhook_id, secret, until)
        return secret, until

    def test(self, webhook_id: str) -> Future[Attempt]:
        """Send a test event (its kind is ``test``), which is not kept; also to a disabled one."""
        now = self._app.clock.now()
        identity = f"test-{token_hex(8)}"
        alert = Alert(
            identity, "", "test", "info", "this is a test", "", self._app.timeline.of(now), ""
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
        found = self._registered.resend(delivery_id, self._app.clock.now())
        self._dispatcher.wake()
        return found

    def recover(self, webhook_id: str, since: datetime, until: datetime | None = None) -> int:
        """Send the dead deliveries of what was raised since then again; returns their number."""
        now = self._app.clock.now()
        count = self._registered.recover(webhook_id, since, until or now, now)
        self._dispatcher.wake()
        return count
