"""Webhooks: to register them, and to look after what is delivered to them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import closing
from datetime import datetime, timedelta
from secrets import token_hex
from threading import Lock
from typing import Final

from sensorstream.alert_grouping import Grouping, grouping_data
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
from sensorstream.alerts.sender import OUTPUT
from sensorstream.alerts.signing import check_secret, new_secret
from sensorstream.app.pipeline import Pipeline
from sensorstream.app.versions import Match, Told, Versions, check_match
from sensorstream.clock import Clock
from sensorstream.errors import SensorStreamError, UnknownWebhook, WebhookError
from sensorstream.history.journal_rows import journal_changes, record_of
from sensorstream.history.webhooks import PostgresWebhooks
from sensorstream.journal.entry import Entry
from sensorstream.journal.kinds import entry_of
from sensorstream.journal.receivers import PutWebhook, RemoveWebhook
from sensorstream.journal.records import number_of_message
from sensorstream.journal.registration import checked_name
from sensorstream.model.events import Alert
from sensorstream.model.timeline import Timeline

DEFINITION: Final = "application/json"
"""The media type of a webhook's definition."""
ROTATION: Final = timedelta(hours=24)
"""How long an old secret signs beside the new one."""
_MOST: Final = 1000
"""Webhooks that may be registered: each alert is sent to each of them."""
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KINDS: Final = (PutWebhook.kind, RemoveWebhook.kind)


def definition(webhook: Webhook | PutWebhook) -> str:
    """What a webhook is, without its id and its secret, as JSON: the text of its version."""
    return definition_text(
        webhook.url,
        webhook.queries,
        webhook.format,
        webhook.changes,
        webhook.group,
        webhook.escalated,
    )


def definition_text(
    url: str,
    queries: Sequence[str],
    format: str | None = None,
    changes: bool = False,
    group: Grouping | None = None,
    escalated: bool = False,
) -> str:
    """As :func:`definition`, of its parts; by default the format is CloudEvents."""
    told: dict[str, object] = {
        "url": url,
        "queries": list(queries),
        "format": format or CLOUD_EVENTS,
    }
    if changes:
        # Else the text is that of before there was this.
        told["changes"] = True
    if group is not None:
        told["group"] = grouping_data(group)
    if escalated:
        told["escalated"] = True
    return json.dumps(told, ensure_ascii=False, indent=2) + "\n"


def _told(_: str, entry: Entry) -> Told:
    if isinstance(entry, PutWebhook):
        return Told(definition(entry).encode(), entry.by, DEFINITION)
    assert isinstance(entry, RemoveWebhook)
    return Told(None, entry.by, DEFINITION)


class Webhooks:
    """What server and command line may do with webhooks. Thread-safe.

    A change is an entry of the journal, then it is made; if the process dies between, the next
    start makes it. What names a webhook or a delivery raises :class:`.UnknownWebhook` or
    :class:`.UnknownDelivery` if there is none.
    """

    def __init__(
        self,
        registered: PostgresWebhooks,
        dispatcher: WebhookDispatcher,
        pipeline: Pipeline,
        clock: Clock,
        timeline: Timeline,
        url: Callable[[], str],
        announce: Callable[[], None],
    ) -> None:
        """``url`` is that of the database.

        ``announce`` is called when something has changed that receivers may be told of.
        """
        self._announce = announce
        self._registered = registered
        self._dispatcher = dispatcher
        self._pipeline = pipeline
        self._clock = clock
        self._timeline = timeline
        self._url = url
        self._changing = Lock()
        self.versions = Versions(
            url,
            _KINDS,
            _told,
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
        with closing(journal_changes(self._url(), _KINDS, None)) as rows:
            for row in rows:
                record = record_of(row)
                entry = entry_of(record)
                assert isinstance(entry, PutWebhook | RemoveWebhook)
                last[entry.webhook] = (record.seq, entry)
        there = self._registered.changes()
        for seq, entry in last.values():
            if isinstance(entry, RemoveWebhook):
                if entry.webhook in there:
                    self._registered.delete(entry.webhook, self._clock.now())
            elif seq > there.get(entry.webhook, 0):
                self._registered.put(self._webhook(entry, new_secret()), seq)
        self._registered.end_stale_alerts(self._clock.now())

    def register(
        self,
        url: str,
        secret: str | None = None,
        queries: Sequence[str] = (),
        format: str = CLOUD_EVENTS,
        by: str = "",
        changes: bool = False,
        group: Grouping | None = None,
        escalated: bool = False,
    ) -> Webhook:
        """Deliver alerts raised from now on to ``url``; makes a secret if the caller gives none.

        The reports of ``queries`` (names) are delivered too; the queries need not run yet. With
        ``changes``, so is what becomes of open alerts; with ``group`` groups of alerts are
        delivered, and no single ones; with ``escalated`` alerts that have escalated alone. ``by``
        is who wants it.

        Raises:
            WebhookError: the URL, the secret or the format is not acceptable, or there are too
                many webhooks.
            QueryError: a name is not a valid name of a query.
            Unavailable: the server is stopping or broken.
        """
        secret = new_secret() if secret is None else check_secret(secret)
        entry = self._entry(
            f"wh_{token_hex(8)}", url, queries, format, by, changes, group, escalated
        )
        with self._changing:
            return self._put(entry, secret)

    def put(
        self,
        webhook_id: str,
        url: str,
        queries: Sequence[str] = (),
        format: str = CLOUD_EVENTS,
        by: str = "",
        match: Match = None,
        changes: bool = False,
        group: Grouping | None = None,
        escalated: bool = False,
    ) -> Webhook | None:
        """Register a webhook by this id, or change the one that has it.

        It keeps its secret; a new one gets a new secret. ``match`` is whether the change is wanted,
        told the digest of the present :func:`definition`, or None.

        Returns:
            The webhook, if it is new.

        Raises:
            ChangedMeanwhile: ``match`` says no.
            WebhookError, QueryError, Unavailable: as for :meth:`register`, or no webhook can have
                this id.
        """
        entry = self._entry(webhook_id, url, queries, format, by, changes, group, escalated)
        with self._changing:
            now = self._present(webhook_id)
            text = None if now is None else definition(now)
            check_match(match, text, f"the webhook {webhook_id}")
            if now is None:
                return self._put(entry, new_secret())
            if text != definition(entry):
                self._put(entry, now.secret)
        return None

    def try_put(
        self,
        webhook_id: str,
        url: str,
        queries: Sequence[str] = (),
        format: str = CLOUD_EVENTS,
        changes: bool = False,
        group: Grouping | None = None,
        escalated: bool = False,
    ) -> SensorStreamError | None:
        """What would speak against :meth:`put`; nothing is put, and nothing is sent."""
        try:
            self._entry(webhook_id, url, queries, format, "", changes, group, escalated)
        except SensorStreamError as error:
            return error
        return None

    def _check_id(self, webhook_id: str) -> None:
        if not _ID.fullmatch(webhook_id):
            self.one(webhook_id)

    def _entry(
        self,
        webhook_id: str,
        url: str,
        queries: Sequence[str],
        format: str,
        by: str,
        changes: bool,
        group: Grouping | None,
        escalated: bool,
    ) -> PutWebhook:
        """The entry of a change that is acceptable."""
        if not _ID.fullmatch(webhook_id) or webhook_id.startswith(OUTPUT):
            raise WebhookError(
                f"'{webhook_id[:60]}' is not an id of a webhook: expected up to 64 letters, "
                f"digits, '_' and '-', and not '{OUTPUT}' at the beginning"
            )
        if format not in FORMATS:
            raise WebhookError(f"there is no format '{format}': expected {' or '.join(FORMATS)}")
        if queries and format == ALERTMANAGER:
            raise WebhookError(
                "an Alertmanager's format has alerts only, no reports of queries: expected no "
                f"queries, or the format {CLOUD_EVENTS}"
            )
        names = tuple(dict.fromkeys(map(checked_name, queries)))
        self._dispatcher.check(url)
        return PutWebhook(webhook_id, url, names, format, by, changes, group, escalated)

    def _put(self, entry: PutWebhook, secret: str) -> Webhook:
        there = self._registered.changes()
        if entry.webhook not in there and len(there) >= _MOST:
            raise WebhookError(f"there are {_MOST} webhooks already: delete one first")
        message = self._pipeline.change(entry).result().message
        webhook = self._webhook(entry, secret)
        self._registered.put(webhook, number_of_message(message.id))
        self._announce()
        return webhook

    def _webhook(self, entry: PutWebhook, secret: str) -> Webhook:
        return Webhook(
            id=entry.webhook,
            url=entry.url,
            secret=secret,
            created_at=self._clock.now(),
            queries=entry.queries,
            format=entry.format,
            changes=entry.changes,
            group=entry.group,
            escalated=entry.escalated,
        )

    def _present(self, webhook_id: str) -> Webhook | None:
        try:
            return self.one(webhook_id).webhook
        except UnknownWebhook:
            return None

    def all(self) -> Sequence[WebhookState]:
        """All registered webhooks, oldest first."""
        return self._registered.all()

    def one(self, webhook_id: str) -> WebhookState:
        """One registered webhook."""
        return self._registered.one(webhook_id)

    def delete(self, webhook_id: str, by: str = "", match: Match = None) -> None:
        """Stop delivering to a webhook, and forget it; ``match`` as in :meth:`put`.

        Raises:
            ChangedMeanwhile: ``match`` says no.
        """
        with self._changing:
            now = self.one(webhook_id).webhook
            check_match(match, definition(now), f"the webhook {webhook_id}")
            self._pipeline.change(RemoveWebhook(webhook_id, by)).result()
            self._registered.delete(webhook_id, self._clock.now())
            self._announce()

    def enable(self, webhook_id: str) -> WebhookState:
        """Deliver again to a webhook that was disabled."""
        self._registered.enable(webhook_id, self._clock.now())
        self._announce()
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
