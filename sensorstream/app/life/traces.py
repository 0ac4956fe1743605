"""Traces of messages, for OpenTelemetry: from the arrival to the delivery of what they raised.

The trace of an entry of the journal follows from its id and its time of arrival, unless its sender
gave one (``traceparent``), which the entry's facts keep: deliveries after a restart belong to the
trace of their message. The spans are made when the effects are stored, of times that are measured
anyway; the engine knows nothing of them.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from threading import local
from typing import Any, Final
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, TraceIdRatioBased
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from sensorstream.alerts.alert_records import Delivery, RaisedAlert
from sensorstream.alerts.dispatcher import DeliveryTrace
from sensorstream.alerts.poster import Attempt
from sensorstream.app.life.entry_queue import WaitingEntry
from sensorstream.clock import counter_start
from sensorstream.engine.outcome import Outcome
from sensorstream.errors import SensorStreamError, SettingsError, shortened
from sensorstream.history.postgres_reader import PostgresReader
from sensorstream.journal.message import TakeMessage
from sensorstream.journal.records import Record
from sensorstream.logs import trace_facts, without_secrets
from sensorstream.model.events import Status as MessageStatus
from sensorstream.settings.settings import TraceSettings

_FACT: Final = "traceparent"
_MOST_EVENTS: Final = 10_000
"""Alerts and reports whose messages are remembered; those of older alerts are looked up."""
_MOST_SPANS: Final = 16_384
"""Spans that wait for the collector; more are dropped, and the log says so."""
_PHASES: Final = ("mapping", "window", "reasoning", "rules")
_LOW: Final = (1 << 64) - 1


class EntryTrace:
    """The part of an entry in its trace. ``begun``, ``journalled``, ``start`` and ``end`` (of the
    engine's work) are counts of ``time.perf_counter``.
    """

    def __init__(self, own: SpanContext, parent: SpanContext | None, begun: float) -> None:
        self.own = own
        self.parent = parent
        self.begun = begun
        self.journalled = self.start = self.end = time.perf_counter()

    @property
    def came(self) -> Mapping[str, str]:
        """The fact to keep: the trace that the sender gave, if it did."""
        return {_FACT: _header(self.parent)} if self.parent is not None else {}

    @cached_property
    def facts(self) -> Mapping[str, str]:
        """The facts that the log adds."""
        return trace_facts(_header(self.own))

    @cached_property
    def exemplar(self) -> dict[str, str] | None:
        """The labels of an exemplar; None: it is not among those that are traced."""
        names = ("trace_id", "span_id")
        return {each: self.facts[each] for each in names} if self.own.trace_flags.sampled else None


class Traces:
    """The traces of a deployment; thread-safe. Spans go to the collector in a thread of their own.

    ``deployment`` is its name, ``reader`` looks up messages of before the start.
    """

    def __init__(self, settings: TraceSettings, deployment: str, reader: PostgresReader) -> None:
        """Connect nothing yet; raises SettingsError if a setting cannot be used."""
        if settings.share > 1:
            raise SettingsError(f"traces.share: expected 0 to 1, not {settings.share:g}")
        self._deployment = deployment
        self._reader = reader
        self._bound = TraceIdRatioBased.get_bound_for_rate(settings.share)
        self._ids = _Ids()
        names = {"service.name": "sensorstream", "service.instance.id": deployment}
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource.create(names),
            id_generator=self._ids,
            shutdown_on_exit=False,
        )
        exporter = OTLPSpanExporter(_address(settings.endpoint))
        self._provider.add_span_processor(BatchSpanProcessor(exporter, _MOST_SPANS))
        self._tracer = self._provider.get_tracer("sensorstream")
        # The entries that raised events, by the events' ids; and the messages that are held.
        self._events: OrderedDict[str, SpanContext] = OrderedDict()
        self._held: dict[str, SpanContext] = {}
        self._zero = counter_start()

    def stop(self) -> None:
        """Send the spans that wait, if the collector takes them, and end."""
        self._provider.shutdown()

    # -- the way of a message ---------------------------------------------------------------------

    def begin(self, record: Record, waiting: WaitingEntry, begun: float) -> None:
        """Note that an entry is in the journal; ``begun`` is when its group was taken."""
        told = waiting.concerned
        came = None
        if "trace_flags" in told:
            came = _context(told["trace_id"], told["span_id"], told["trace_flags"])
        own = self._own(record.message.id, record.received_at, came)
        waiting.trace = EntryTrace(own, came, begun)

    def applied(self, waiting: WaitingEntry, outcome: Outcome, seconds: float) -> None:
        """Note the engine's work for an entry, before its effects are stored."""
        trace = waiting.trace
        if trace is None:
            return
        trace.end = time.perf_counter()
        trace.start = trace.end - seconds
        for each in (outcome, *outcome.released):
            own = trace.own if each is outcome else self._held.get(each.message.id, trace.own)
            for ids in (each.alerts, each.reports):
                self._events.update((event.id, own) for event in ids)
        while len(self._events) > _MOST_EVENTS:
            self._events.popitem(last=False)
        if outcome.status is MessageStatus.HELD:
            self._held[outcome.message.id] = trace.own

    def end(self, waiting: WaitingEntry, outcome: Outcome) -> None:
        """Make the spans of an entry whose effects are stored."""
        trace, stored = waiting.trace, time.perf_counter()
        if trace is None:
            return
        # One for all spans of an entry: the clock may be set.
        self._zero = counter_start()
        for each in outcome.released:
            held = self._held.pop(each.message.id, None)
            if held is not None and held.trace_flags.sampled:
                self._phases(self._span("engine", held, trace.start), each, trace.start, trace.end)
        if not trace.own.trace_flags.sampled:
            return
        entry, begin, own = waiting.entry, waiting.since, trace.own
        read = 0.0
        if isinstance(entry, TakeMessage) and entry.reading is not None:
            read = entry.reading.seconds
        root = self._span(
            entry.kind,
            trace.parent,
            begin - read,
            own=own,
            kind=SpanKind.CONSUMER,
            attributes={
                "sensorstream.id": outcome.message.id,
                "sensorstream.source": _text(outcome.message.source),
                "sensorstream.status": outcome.status.value,
                "sensorstream.alerts": len(outcome.alerts),
            },
        )
        if outcome.rejection is not None:
            root.set_status(Status(StatusCode.ERROR, _text(str(outcome.rejection))))
        if read:
            self._whole("reading", own, begin - read, begin)
        self._whole("queue", own, begin, trace.begun)
        self._whole("journal", own, trace.begun, trace.journalled)
        engine = self._span("engine", own, trace.start)
        self._phases(engine, outcome, trace.start, trace.end, read)
        self._whole("storing", own, trace.end, stored)
        root.end(self._wall(stored))

    def _phases(
        self, engine: Span, outcome: Outcome, start: float, end: float, read: float = 0.0
    ) -> None:
        """Make the spans of the phases (eq. 10), of which rules may cause some again: each has its
        whole time, one after the other. The rest of the engine's time is that of queries.
        """
        told = outcome.phases
        seconds_of = (max(0.0, told.t_m - read), told.t_w, told.t_i, told.t_s)
        for name, seconds in zip(_PHASES, seconds_of, strict=True):
            if seconds:
                self._whole(name, engine.get_span_context(), start, start + seconds)
            start += seconds
        engine.end(self._wall(max(start, end)))

    # -- deliveries -------------------------------------------------------------------------------

    def of_delivery(self, delivery: Delivery) -> DeliveryTrace:
        """Begin an attempt to deliver, in the trace of the message that caused it. A change of an
        alert or of a group has a trace of its own. It may wait for the database.
        """
        event = delivery.event
        cause = self._events.get(event.id)
        if cause is None and isinstance(event, RaisedAlert):
            cause = self._looked_up(event.alert.message)
        own = cause
        if own is None:
            own = self._sampled(self._ids.generate_trace_id(), self._ids.generate_span_id())
        if not own.trace_flags.sampled:
            return DeliveryTrace({_FACT: _header(own)})
        span = self._span(
            "deliver",
            cause,
            time.perf_counter(),
            own=own if cause is None else None,
            kind=SpanKind.CLIENT,
            attributes={
                "sensorstream.event": event.id,
                "sensorstream.receiver": delivery.webhook.id,
                "sensorstream.attempt": delivery.attempts + 1,
            },
        )

        def end(attempt: Attempt) -> None:
            if attempt.status is not None:
                span.set_attribute("http.response.status_code", attempt.status)
            if attempt.failure is not None:
                span.set_status(Status(StatusCode.ERROR, _text(attempt.failure.reason)))
            span.end(self._wall(time.perf_counter()))

        return DeliveryTrace({_FACT: _header(span.get_span_context())}, end)

    def _looked_up(self, message: str) -> SpanContext | None:
        """The trace of a message of before the start; None: it cannot be known."""
        try:
            kept = self._reader.kept_message(message)
        except SensorStreamError:
            return None
        told = trace_facts((kept.facts or {}).get(_FACT, ""))
        return self._own(kept.id, kept.received_at, _context(*told.values()) if told else None)

    # -- spans ------------------------------------------------------------------------------------

    def _own(self, id_: str, at: datetime, came: SpanContext | None) -> SpanContext:
        """The span of an entry, in the trace that came with it or in its own."""
        digest = sha256(f"{self._deployment}\0{id_}\0{at.timestamp()}".encode()).digest()
        trace, span = int.from_bytes(digest[:16]), int.from_bytes(digest[16:24])
        if came is None:
            return self._sampled(trace, span)
        return SpanContext(came.trace_id, span, is_remote=False, trace_flags=came.trace_flags)

    def _sampled(self, trace: int, span: int) -> SpanContext:
        """A span with these ids, and the decision whether it is among the share to trace."""
        flags = TraceFlags(TraceFlags.SAMPLED if trace & _LOW < self._bound else 0)
        return SpanContext(trace, span, is_remote=False, trace_flags=flags)

    def _wall(self, counted: float) -> int:
        """A count of ``time.perf_counter`` as nanoseconds since 1970."""
        return self._zero + round(counted * 1e9)

    def _whole(self, name: str, parent: SpanContext, start: float, end: float) -> None:
        self._span(name, parent, start).end(self._wall(end))

    def _span(
        self,
        name: str,
        parent: SpanContext | None,
        start: float,
        *,
        own: SpanContext | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Mapping[str, Any] | None = None,
    ) -> Span:
        """Begin a span; with the ids of ``own``, if they are given."""
        context = Context()
        if parent is not None:
            context = set_span_in_context(NonRecordingSpan(parent), context)
        at = self._wall(start)
        self._ids.next.own = own
        try:
            return self._tracer.start_span(name, context, kind, attributes, start_time=at)
        finally:
            self._ids.next.own = None


class _Ids(RandomIdGenerator):
    """Random ids, or those of ``next.own`` where a thread has set it."""

    def __init__(self) -> None:
        self.next = local()

    def generate_span_id(self) -> int:
        own = getattr(self.next, "own", None)
        return super().generate_span_id() if own is None else own.span_id

    def generate_trace_id(self) -> int:
        own = getattr(self.next, "own", None)
        return super().generate_trace_id() if own is None else own.trace_id


def _address(endpoint: str) -> str:
    """The address for spans of a collector; without a path it is the standard's."""
    try:
        parts = urlsplit(endpoint)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        told = f"not {without_secrets(endpoint)!r}"
        raise SettingsError(f"traces.endpoint: expected e.g. http://127.0.0.1:4318, {told}")
    return endpoint if parts.path.strip("/") else f"{endpoint.rstrip('/')}/v1/traces"


def _context(trace_id: str, span_id: str, flags: str) -> SpanContext:
    # A receiver knows no flag but the first (section 3.2.2.5).
    sampled = TraceFlags(int(flags, 16) & TraceFlags.SAMPLED)
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=sampled)


def _header(of: SpanContext) -> str:
    return f"00-{of.trace_id:032x}-{of.span_id:016x}-{of.trace_flags:02x}"


def _text(text: str) -> str:
    """A text that a collector may have: without secrets, short, and UTF-8, for one bad text would
    make it refuse all spans sent with it.
    """
    return shortened(without_secrets(text)).encode("utf-8", "replace").decode()
