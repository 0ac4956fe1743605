"""Sends deliveries from the outbox to their receivers, at least once, in a separate thread.

The thread runs an event loop. One receiver is served by one task at a time: its events arrive in
order as long as no delivery fails, and a receiver that hangs delays no other receiver. The outbox
and the look-up of names block, so they have threads of their own.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from threading import Event, Thread
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from prometheus_client import CollectorRegistry, Counter, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from sensorstream.alerts.alert_formats import payload
from sensorstream.alerts.alert_records import Backlog, Delivery, Webhook
from sensorstream.alerts.poster import Attempt, Poster, WebhookConnections
from sensorstream.alerts.sender import OUTPUT, DeliveryFailure, EventSender
from sensorstream.alerts.signing import signed_headers
from sensorstream.alerts.targets import Resolver, place_of, resolve
from sensorstream.clock import Clock, ClockSetBack
from sensorstream.errors import HistoryError, SensorStreamError, Unavailable
from sensorstream.logs import concerning, trace_facts
from sensorstream.model.frozen import field, frozen
from sensorstream.model.timeline import Timeline
from sensorstream.settings.settings import WebhookSettings

_GAUGES: Final = {
    "outbox_deliveries": "Deliveries that wait, by receiver.",
    "outbox_oldest_seconds": "Seconds that the oldest of them has waited.",
    "receiver_enabled": "1 while a receiver is enabled, 0 while it is disabled.",
    "receiver_failing_seconds": "Seconds for which all attempts have failed; 0: none has.",
}


class BacklogMetrics(Collector):
    """The backlog when ``latest`` was set, without receivers that are gone."""

    def __init__(self, clock: Clock, registry: CollectorRegistry) -> None:
        self._clock = clock
        self.latest: Sequence[Backlog] = ()
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """See :class:`prometheus_client.registry.Collector`."""
        now = self._clock.now()

        def since(moment: datetime | None) -> float:
            return (now - moment).total_seconds() if moment else 0.0

        gauges = [
            GaugeMetricFamily(f"sensorstream_{name}", told, labels=["receiver"])
            for name, told in _GAUGES.items()
        ]
        for each in self.latest:
            values = (each.pending, since(each.oldest), each.enabled, since(each.failing_since))
            for gauge, value in zip(gauges, values, strict=True):
                gauge.add_metric([each.receiver], value)
        yield from gauges


_log = logging.getLogger(__name__)
_BATCH: Final = 256
_READERS: Final = 2
"""Threads for the outbox."""
_HOUSEKEEPING: Final = 15.0
"""Seconds between two looks at the backlog, after which old entries of the log are deleted."""

Schedule: TypeAlias = Callable[[int, str], timedelta]
Result = TypeVar("Result")

SCHEDULE: Final = (
    timedelta(seconds=5),
    *(timedelta(minutes=each) for each in (5, 30)),
    *(timedelta(hours=each) for each in (2, 5, 10, 14, 20, 24)),
)
"""The waits Standard Webhooks recommends ("Deliverability and reliability")."""

_SPREAD: Final = 0.1


def wait_after(attempts: int, identity: str) -> timedelta:
    """The wait after the ``attempts``-th failed attempt (from 1), the last one repeating.

    Up to a tenth is added, by a hash of ``identity``, so that a receiver that comes back does not
    get all deliveries at the same moment, and tests and readers of a log can compute it.
    """
    wait = SCHEDULE[min(attempts, len(SCHEDULE)) - 1]
    digest = hashlib.sha256(f"{identity}/{attempts}".encode()).digest()
    return wait * (1 + _SPREAD * int.from_bytes(digest[:4]) / 2**32)


class _Batch(NamedTuple):
    """Deliveries that receivers have, and the work after they are marked."""

    came: dict[int, Attempt]
    marked: asyncio.Future[None]


@frozen
class DeliveryTrace:
    """An attempt in a trace: headers that name it to the receiver, and its end."""

    headers: Mapping[str, str] = field(default_factory=dict)
    end: Callable[[Attempt], None] = lambda _: None


_UNTRACED: Final = DeliveryTrace()


@frozen
class DeliveryPlan:
    """The times and the means of sending deliveries.

    ``source`` is the CloudEvents source of this deployment, a URI reference. ``schedule`` gives the
    wait after the n-th failure of a delivery; ``poll`` are the seconds between two looks at the
    outbox. ``senders`` are those of outputs. ``trace`` begins an attempt's trace, and may block.
    """

    source: str
    timeline: Timeline
    senders: Mapping[str, EventSender[Any]] = field(default_factory=dict)
    schedule: Schedule = wait_after
    resolver: Resolver = resolve
    poll: float = 1.0
    trace: Callable[[Delivery], DeliveryTrace] | None = None


class WebhookDispatcher:
    """Sends the deliveries that are due; checks again when woken, or when the plan says so.

    ``disabling`` is told the id of a webhook that is about to be disabled, and why; it is disabled
    when the future is done. ``tending`` does what the wall clock does with alerts, and says how
    many it has changed.
    """

    def __init__(
        self,
        outbox: Outbox,
        settings: WebhookSettings,
        clock: Clock,
        plan: DeliveryPlan,
        *,
        metrics: CollectorRegistry,
        disabling: Callable[[str, str], Future[Any]],
        tending: Callable[[datetime], int] = lambda _: 0,
    ) -> None:
        self._outbox = outbox
        self._tending = tending
        self._settings = settings
        self._clock = clock
        self._plan = plan
        self._disabling = disabling
        self._away: dict[str, str] = {}
        told, name = "Attempts to deliver to webhooks, by result.", "sensorstream_webhook_attempts"
        self._attempts = Counter(name, told, ["result"], registry=metrics)
        told, name = "Attempts to deliver to outputs, by result.", "sensorstream_output_attempts"
        self._sent = Counter(name, told, ["output", "result"], registry=metrics)
        self._backlog = BacklogMetrics(clock, metrics)
        self._stopping = Event()
        self._poster = Poster(
            settings.timeout, settings.allow, clock, plan.resolver, self._stopping
        )
        self._busy: set[str] = set()
        # The count of the clock until which each receiver rests.
        self._resting: dict[str, float] = {}
        self._steps: ClockSetBack | None = None
        # The time by which the clock was set back, until the outbox knows of it.
        self._back = timedelta()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._news = asyncio.Event()
        self._batch = _Batch({}, self._loop.create_future())
        self._marking = asyncio.Lock()
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="outbox")
        self._thread = Thread(target=self._run, name="dispatcher", daemon=True)

    @property
    def running(self) -> bool:
        """Whether the thread is alive and was not asked to stop."""
        return self._thread.is_alive() and not self._stopping.is_set()

    def trouble(self, receiver: str) -> str:
        """The reason why a receiver takes nothing at the moment; empty while it does."""
        return self._away.get(receiver, "")

    def check(self, url: str) -> None:
        """Check that a webhook may have this URL now.

        Raises:
            WebhookError: it may not, or its host was not found in time.
            Unavailable: deliveries are stopping.
        """
        try:
            self._in_loop(self._poster.check(url)).result()
        except CancelledError:
            raise _stopping() from None

    def attempt(self, delivery: Delivery) -> Future[Attempt]:
        """Send a delivery that is not in the outbox, once; raises Unavailable while stopping."""
        return self._in_loop(self._attempt_alone(delivery))

    def start(self) -> None:
        """Start the thread; deliveries that an earlier run left in the outbox come first."""
        self._thread.start()

    def wake(self) -> None:
        """Note that new deliveries are committed; may be called from any thread, never blocks."""
        with suppress(RuntimeError):  # the loop is closed: it was stopped
            self._loop.call_soon_threadsafe(self._news.set)

    def stop(self) -> None:
        """Finish the attempts that are running and end; all other deliveries stay in the outbox."""
        self._stopping.set()
        self.wake()
        if self._thread.ident is not None:
            self._thread.join()
        else:
            self._loop.close()
        self._readers.shutdown(cancel_futures=True)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._dispatch())

    def _in_loop(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        if not self.running:
            work.close()
            raise _stopping()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _dispatch(self) -> None:
        housekeeping = asyncio.create_task(self._keep_house())
        while not self._stopping.is_set():
            self._news.clear()
            try:
                taken = await self._take()
            except HistoryError as error:
                _log.warning("the outbox cannot be read, trying again: %s", error)
                taken = ()
            for webhook, group in groupby(
                sorted(taken, key=lambda each: each.webhook.id), lambda each: each.webhook.id
            ):
                self._busy.add(webhook)
                task = asyncio.create_task(self._serve(tuple(group)))
                self._tasks.add(task)
                task.add_done_callback(partial(self._free, webhook))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._plan.poll):
                    await self._news.wait()
        while self._tasks:
            await asyncio.wait(self._tasks)
        housekeeping.cancel()
        for sender in self._plan.senders.values():
            await sender.disconnect()

    async def _keep_house(self) -> None:
        while True:
            try:
                if await self._blocking(self._tending, self._clock.now()):
                    self._news.set()
                await self._blocking(self._outbox.prune, self._clock.now())
                self._backlog.latest = await self._blocking(self._outbox.backlog)
            except HistoryError as error:
                _log.debug("the outbox cannot be looked at: %s", error)
            await asyncio.sleep(_HOUSEKEEPING)

    async def _take(self) -> Sequence[Delivery]:
        await self._heed_steps()
        now, count = self._clock.now(), self._clock.counter()
        self._resting = {each: until for each, until in self._resting.items() if until > count}
        room = _BATCH - len(self._busy)
        if room <= 0:
            return ()
        excluded = self._busy | self._resting.keys()
        return await self._blocking(self._outbox.due, now, room, excluded)

    async def _heed_steps(self) -> None:
        """Let no delivery wait longer if the clock was set back, also while no server ran."""
        if self._steps is None:
            self._steps = ClockSetBack(self._clock, await self._blocking(self._outbox.latest))
        self._back += self._steps.back()
        if self._back:
            now = self._clock.now()
            await self._blocking(self._outbox.move_back, now, self._back)
            _log.warning("the clock was set back by %s: deliveries do not wait for it", self._back)
            self._back = timedelta()

    async def _blocking(self, work: Callable[..., Result], *arguments: object) -> Result:
        return await self._loop.run_in_executor(self._readers, partial(work, *arguments))

    def _free(self, webhook: str, done: asyncio.Task[None]) -> None:
        self._tasks.discard(done)
        if not done.cancelled() and (error := done.exception()):
            _log.error("a delivery was interrupted, it will be tried again", exc_info=error)
            self._rest(webhook)
        self._busy.discard(webhook)
        self._news.set()

    async def _serve(self, deliveries: Sequence[Delivery]) -> None:
        """Deliver in order; after a failure keep the other deliveries of this webhook for later."""
        async with self._poster.connections() as connections:
            for delivery in deliveries:
                if self._stopping.is_set():
                    return
                trace = _UNTRACED
                if self._plan.trace is not None:
                    trace = await self._blocking(self._plan.trace, delivery)
                if delivery.webhook.output:
                    attempt = await self._send(delivery, trace.headers)
                else:
                    attempt = await self._call(connections, delivery, trace.headers)
                trace.end(attempt)
                if attempt.failure is not None:
                    self._rest(delivery.webhook.id, attempt.failure.wait)
                    with concerning(**trace_facts(trace.headers.get("traceparent", ""))):
                        await self._record(delivery, attempt, attempt.failure)
                    return
                await self._mark(delivery, attempt)
                self._count(delivery.webhook, "delivered")
                if self._away.pop(delivery.webhook.id, ""):
                    _log.warning("%s is there again", _name(delivery.webhook))

    async def _mark(self, delivery: Delivery, attempt: Attempt) -> None:
        """Mark a delivery as received, in one transaction with those that come meanwhile."""
        came, marked = self._batch
        came[delivery.id] = attempt
        async with self._marking:
            if not marked.done():
                self._batch = _Batch({}, self._loop.create_future())
                try:
                    await self._blocking(self._outbox.delivered, came)
                    marked.set_result(None)
                except BaseException as error:
                    marked.set_exception(error)
        await marked

    async def _call(
        self,
        connections: WebhookConnections,
        delivery: Delivery,
        more: Mapping[str, str],
    ) -> Attempt:
        content_type, body = payload(delivery, self._plan.source, self._plan.timeline)
        signed = signed_headers(delivery, body, self._clock.now())
        headers = {"content-type": content_type, **signed, **more}
        return await self._poster.post(connections, delivery.webhook.url, body, headers)

    async def _attempt_alone(self, delivery: Delivery) -> Attempt:
        async with self._poster.connections() as connections:
            return await self._call(connections, delivery, {})

    async def _send(self, delivery: Delivery, more: Mapping[str, str]) -> Attempt:
        """Send to an output."""
        _, body = payload(delivery, self._plan.source, self._plan.timeline)
        at, begun = self._clock.now(), self._clock.counter()
        sender = self._plan.senders[delivery.webhook.id]
        failure = await sender.deliver(delivery.event, body, more)
        return Attempt(at, self._clock.counter() - begun, failure)

    def _count(self, receiver: Webhook, result: str) -> None:
        if receiver.output:
            self._sent.labels(receiver.id.removeprefix(OUTPUT), result).inc()
        else:
            self._attempts.labels(result).inc()

    def _rest(self, webhook: str, wait: timedelta | None = None) -> None:
        least = self._plan.schedule(1, webhook)
        rest = max(least, wait or least)
        self._resting[webhook] = self._clock.counter() + rest.total_seconds()

    async def _record(self, delivery: Delivery, attempt: Attempt, failure: DeliveryFailure) -> None:
        receiver = delivery.webhook
        if failure.away:
            # The receiver is away, no fault of this delivery: it is tried until the receiver is
            # there again, and later ones wait, to keep the order.
            self._count(receiver, "away")
            if receiver.id not in self._away:
                _log.error("%s: %s; it is tried again", _name(receiver), failure.reason)
            self._away[receiver.id] = failure.reason
            since = await self._blocking(self._outbox.put_off, delivery.id, attempt)
        else:
            self._away.pop(receiver.id, "")
            attempts = delivery.attempts + 1
            dead = failure.final or attempts >= self._settings.max_attempts
            wait = self._plan.schedule(attempts, str(delivery.id))
            again = None if dead else self._clock.now() + wait
            since = await self._blocking(self._outbox.failed, delivery.id, attempt, again)
            self._count(receiver, "dead" if dead else "failed")
            _log.warning(
                "%s did not reach webhook %s (attempt %d, %s): %s",
                delivery.event.id,
                receiver.id,
                attempts,
                "given up" if dead else f"again at {again}",
                failure.reason,
            )
        if not receiver.output:
            await self._disable_if_lost(receiver, since, failure.reason)

    async def _disable_if_lost(self, receiver: Webhook, since: datetime, reason: str) -> None:
        now = self._clock.now()
        if now - since < timedelta(days=self._settings.disable_after):
            return
        text = (
            f"{_name(receiver)} is disabled: no delivery has reached it since "
            f"{since:%Y-%m-%d %H:%M} UTC ({reason}); what comes meanwhile is set aside"
        )
        try:
            # Told first: a kill in between tells it twice, but never disables in silence.
            await asyncio.wrap_future(self._disabling(receiver.id, text))
        except SensorStreamError as error:
            _log.error("%s; that cannot be told now, so it is tried on: %s", text, error)
            return
        await self._blocking(self._outbox.disable, receiver.id, now)
        _log.error("%s", text)


def _stopping() -> Unavailable:
    return Unavailable("the server is stopping: try again later")


def _name(receiver: Webhook) -> str:
    """A receiver for people; the path of a webhook's URL may be a secret."""
    return receiver.url if receiver.output else f"webhook {receiver.id} ({place_of(receiver.url)})"


class Outbox(Protocol):
    """Deliveries that wait for their time. Every method may be called from any thread.

    They are written in the transaction that commits their alert or report (transactional outbox),
    so each committed alert or report is delivered, at least once. All methods raise
    :class:`sensorstream.errors.HistoryError` when the store cannot be reached.
    """

    def due(self, now: datetime, limit: int, excluding: Collection[str] = ()) -> Sequence[Delivery]:
        """At most ``limit`` due deliveries, some of each receiver, its oldest ones in order.

        ``excluding`` are ids of receivers to leave out: those already being delivered to. Disabled
        receivers are left out, too.
        """

    def latest(self) -> datetime | None:
        """The latest time at which one that waits for its first attempt was added."""

    def move_back(self, now: datetime, by: timedelta) -> None:
        """Move waiting deliveries back by ``by``, after the clock was set back to ``now``."""

    def delivered(self, came: Mapping[int, Attempt]) -> None:
        """Mark deliveries as received; receivers fail no more. Many at once cost as much as one."""

    def failed(
        self, delivery_id: int, attempt: Attempt, next_attempt_at: datetime | None
    ) -> datetime:
        """Count a failed attempt and set the time of the next one (None: no more attempts); returns
        the time since when all attempts to reach the receiver have failed.
        """

    def put_off(self, delivery_id: int, attempt: Attempt) -> datetime:
        """Note an attempt that found the receiver away, which counts for the receiver alone;
        returns as :meth:`failed`.
        """

    def disable(self, receiver: str, now: datetime) -> None:
        """Deliver to a receiver no more, until it is enabled."""

    def prune(self, now: datetime) -> None:
        """Forget delivered ones that are too old, or too many."""

    def backlog(self) -> Sequence[Backlog]:
        """The state of each receiver and the deliveries that wait for it."""
