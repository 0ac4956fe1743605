"""Sends deliveries from the outbox to their webhooks, at least once, in a separate thread.

One webhook is served by one worker at a time: its events arrive in order as long as no delivery
fails, and a receiver that hangs delays no other receiver.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from threading import Event, Lock, Thread
from typing import Final, TypeAlias

import httpx
from prometheus_client import CollectorRegistry, Counter

from sensorstream.alerts import backoff
from sensorstream.alerts.cloudevents import CONTENT_TYPE, cloud_event
from sensorstream.alerts.outbox import Outbox
from sensorstream.alerts.records import Delivery, Webhook
from sensorstream.alerts.sender import OUTPUT, DeliveryFailure, Sender
from sensorstream.alerts.signing import signed_headers
from sensorstream.alerts.targets import Resolver, Target, check_target, resolve
from sensorstream.clock import Clock
from sensorstream.errors import HistoryError, WebhookError
from sensorstream.model.timeline import Timeline
from sensorstream.settings import WebhookSettings

_log = logging.getLogger(__name__)
_BATCH: Final = 100
_WORKERS: Final = 8
_GONE: Final = 410

Schedule: TypeAlias = Callable[[int, str], timedelta]


class WebhookDispatcher:
    """Sends the deliveries that are due; checks again when woken or after ``poll`` seconds.

    ``source`` is the CloudEvents source of this deployment, a URI reference. ``schedule``
    gives the wait after the n-th failure of a delivery.
    """

    def __init__(
        self,
        outbox: Outbox,
        settings: WebhookSettings,
        clock: Clock,
        *,
        source: str,
        timeline: Timeline,
        metrics: CollectorRegistry,
        schedule: Schedule = backoff.wait_after,
        resolver: Resolver = resolve,
        poll: float = 1.0,
        senders: Mapping[str, Sender] | None = None,
    ) -> None:
        self._outbox = outbox
        self._settings = settings
        self._clock = clock
        self._source = source
        self._timeline = timeline
        self._schedule = schedule
        self._resolver = resolver
        self._poll = poll
        self._senders = {} if senders is None else senders
        self._away: dict[str, str] = {}
        self._attempts = Counter(
            "sensorstream_webhook_attempts",
            "Attempts to deliver an alert or a report to a webhook, by result.",
            ["result"],
            registry=metrics,
        )
        self._sent = Counter(
            "sensorstream_output_attempts",
            "Attempts to send an alert or a report to an output, by result.",
            ["output", "result"],
            registry=metrics,
        )
        self._news = Event()
        self._stopping = Event()
        self._lock = Lock()
        self._busy: set[str] = set()
        self._resting: dict[str, datetime] = {}
        self._client = httpx.Client(
            timeout=settings.timeout,
            follow_redirects=False,  # a redirect could avoid the check of the target
            trust_env=False,
        )
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="webhook")
        self._thread = Thread(target=self._run, name="dispatcher", daemon=True)

    @property
    def running(self) -> bool:
        """Whether the thread is alive and was not asked to stop."""
        return self._thread.is_alive() and not self._stopping.is_set()

    def trouble(self, receiver: str) -> str:
        """Why a receiver cannot be reached at the moment; empty while it can."""
        return self._away.get(receiver, "")

    def start(self) -> None:
        """Start the thread; deliveries that an earlier run left in the outbox come first."""
        self._thread.start()

    def wake(self) -> None:
        """New deliveries are committed; may be called from any thread, never blocks."""
        self._news.set()

    def stop(self) -> None:
        """Finish the attempts that are running and end; all other deliveries stay in the outbox."""
        self._stopping.set()
        self._news.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._workers.shutdown(wait=True, cancel_futures=True)
        self._client.close()
        for sender in self._senders.values():
            sender.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._news.clear()
            try:
                taken = self._take()
            except HistoryError as error:
                _log.warning("the outbox cannot be read, trying again: %s", error)
                taken = ()
            for webhook, group in groupby(
                sorted(taken, key=lambda each: each.webhook.id), lambda each: each.webhook.id
            ):
                with self._lock:
                    self._busy.add(webhook)
                done = self._workers.submit(self._serve, tuple(group))
                done.add_done_callback(partial(self._free, webhook))
            self._news.wait(self._poll)

    def _take(self) -> Sequence[Delivery]:
        now = self._clock.now()
        with self._lock:
            self._resting = {each: until for each, until in self._resting.items() if until > now}
            excluded = self._busy | self._resting.keys()
        return self._outbox.due(now, _BATCH, excluded)

    def _free(self, webhook: str, done: Future[None]) -> None:
        if not done.cancelled() and (error := done.exception()):
            _log.error("a delivery was interrupted, it will be tried again", exc_info=error)
            self._rest(webhook)
        with self._lock:
            self._busy.discard(webhook)
        self._news.set()

    def _serve(self, deliveries: Sequence[Delivery]) -> None:
        """Deliver in order; after a failure keep the other deliveries of this webhook for later."""
        for delivery in deliveries:
            if self._stopping.is_set():
                return
            failure = self._attempt(delivery)
            if failure is None:
                self._outbox.delivered(delivery.id)
                self._count(delivery.webhook, "delivered")
                if self._away.pop(delivery.webhook.id, ""):
                    _log.warning("%s is there again", delivery.webhook.url)
                continue
            self._rest(delivery.webhook.id)
            if failure.away:
                # No fault of this delivery: it is tried until the receiver is there again, and
                # those after it wait, so that the order stays.
                self._count(delivery.webhook, "away")
                if delivery.webhook.id not in self._away:
                    _log.error("%s: %s; it is tried again", delivery.webhook.url, failure.reason)
                self._away[delivery.webhook.id] = failure.reason
            else:
                self._record(delivery, failure)
            return

    def _count(self, receiver: Webhook, result: str) -> None:
        if receiver.output:
            self._sent.labels(receiver.id.removeprefix(OUTPUT), result).inc()
        else:
            self._attempts.labels(result).inc()

    def _rest(self, webhook: str) -> None:
        until = self._clock.now() + self._schedule(1, webhook)
        with self._lock:
            self._resting[webhook] = until

    def _record(self, delivery: Delivery, failure: DeliveryFailure) -> None:
        attempts = delivery.attempts + 1
        dead = failure.final or attempts >= self._settings.max_attempts
        wait = self._schedule(attempts, str(delivery.id))
        again = None if dead else self._clock.now() + wait
        self._outbox.failed(delivery.id, failure.reason, again)
        self._count(delivery.webhook, "dead" if dead else "failed")
        _log.warning(
            "%s did not reach webhook %s (attempt %d, %s): %s",
            delivery.event.id,
            delivery.webhook.id,
            attempts,
            "given up" if dead else f"again at {again}",
            failure.reason,
        )

    def _attempt(self, delivery: Delivery) -> DeliveryFailure | None:
        if delivery.webhook.output:
            body = cloud_event(delivery.event, self._source, self._timeline)
            return self._senders[delivery.webhook.id].send(delivery.event, body)
        return self._call(delivery)

    def _call(self, delivery: Delivery) -> DeliveryFailure | None:
        try:
            target = check_target(
                delivery.webhook.url,
                allow_private=self._settings.allow_private,
                resolver=self._resolver,
            )
        except WebhookError as error:
            return DeliveryFailure(error.message)
        body = cloud_event(delivery.event, self._source, self._timeline)
        headers = {
            "host": target.authority,
            "content-type": CONTENT_TYPE,
            "user-agent": "SensorStream",
            **signed_headers(delivery, body, self._clock.now()),
        }
        try:
            status = self._post(target, body, headers)
        except httpx.HTTPError as error:
            return DeliveryFailure(f"{type(error).__name__}: {error}")
        if 200 <= status < 300:
            return None
        told = " (redirects are not followed)" if 300 <= status < 400 else ""
        return DeliveryFailure(f"answered {status}{told}", final=status == _GONE)

    def _post(self, target: Target, body: bytes, headers: Mapping[str, str]) -> int:
        """The HTTP status from the first address that accepts the connection."""
        *others, last = target.connect_to
        for address in others:
            try:
                return self._post_to(address, target, body, headers)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                _log.debug("%s does not answer at %s: %s", target.authority, address.host, error)
        return self._post_to(last, target, body, headers)

    def _post_to(
        self, address: httpx.URL, target: Target, body: bytes, headers: Mapping[str, str]
    ) -> int:
        extensions = {"sni_hostname": target.host} if target.secure else {}
        with self._client.stream(
            "POST", address, content=body, headers=headers, extensions=extensions
        ) as response:  # the status is the answer; its body is left unread
            return response.status_code
