"""The metrics of the pipeline, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Final, TypeAlias

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sensorstream.engine.outcome import Outcome
from sensorstream.errors import Overrun
from sensorstream.journal.entry import Entry
from sensorstream.journal.message import TakeEvent, TakeMessage, Tick
from sensorstream.journal.registration import QueryStopped, RegisterQuery
from sensorstream.model.events import Status
from sensorstream.reasoning.dl.dl_reasoner import ResilientReasoner
from sensorstream.reasoning.rulesets.rule_reasoner import AtWork, RuleReasoner

_BUCKETS = (
    *(0.00001, 0.00002, 0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005),
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0),
)

Exemplar: TypeAlias = dict[str, str] | None
"""The labels that name a trace beside a value, in the OpenMetrics format; None: there is none."""

_MOST_NAMES: Final = 100
"""Names of queries with a count of their own, a time series for ever; others count together."""
_OTHER: Final = "(other)"


class Metrics:
    """The metrics of an application, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        counter = partial(Counter, registry=self.registry)
        timer = partial(Histogram, buckets=_BUCKETS, registry=self.registry)
        told = "Time per message (eq. 10): reasoning t_i, window t_w, mapping t_m, rules t_s."
        phases = timer("sensorstream_phase_seconds", told, ["phase"])
        self._phases = {name: phases.labels(name) for name in ("t_i", "t_w", "t_m", "t_s")}
        told = "Messages taken from the journal, by outcome."
        messages = counter("sensorstream_messages", told, ["status"])
        self._messages = {status: messages.labels(status.value) for status in Status}
        self._alerts = counter("sensorstream_alerts", "Alerts raised.")
        told = "Individuals that left the window for history."
        self._departures = counter("sensorstream_departures", told)
        told = "Time that messages waited for the engine: the lag."
        self.queue = timer("sensorstream_queue_seconds", told)
        told = "Held messages that were released: by a message, the clock, or an overflow."
        by = counter("sensorstream_released_messages", told, ["by"])
        self._released = {name: by.labels(name) for name in ("message", "clock", "overflow")}
        told = "Individuals that a filter kept out of the window."
        self._filtered = counter("sensorstream_filtered_individuals", told, ["filter"])
        told = "Individuals that load shedding kept out of the window."
        self._shed = counter("sensorstream_shed_individuals", told, ["class"])
        told = "What was over its limits; kinds: question, registration, query, message."
        self._overruns = counter("sensorstream_overruns", told, ["kind", "name"])
        self._overrun_names: set[str] = set()
        told = "Checkpoints that could not be read at the start."
        self.damaged_checkpoints = counter("sensorstream_damaged_checkpoints", told)
        told = "Messages and changes that were refused: PostgreSQL can never store them."
        self.refused = counter("sensorstream_refused_entries", told)
        sizes, told = (1, 2, 5, 10, 20, 50, 100, 200, 500), "Messages made durable together."
        self.group = Histogram(
            "sensorstream_group_messages", told, buckets=sizes, registry=self.registry
        )

    def tell(self, name: str, sentence: str, value: Callable[[], float]) -> None:
        """Add a gauge that is read at each request for the metrics. ``value`` must be quick."""
        Gauge(name, sentence, registry=self.registry).set_function(value)

    def tell_parts(
        self, name: str, sentence: str, label: str, values: Mapping[str, Callable[[], float]]
    ) -> None:
        """Add a gauge as by :meth:`tell` that has several parts with different labels."""
        gauge = Gauge(name, sentence, [label], registry=self.registry)
        for part, value in values.items():
            gauge.labels(part).set_function(value)

    def watch_reasoner(self, present: Callable[[], object]) -> None:
        """Add the metrics of the reasoner that is present when they are read."""
        self.registry.register(_ReasonerMetrics(present))

    def observe_entries(
        self,
        entries: Sequence[Entry],
        outcomes: Sequence[Outcome],
        exemplars: Iterable[Exemplar] = repeat(None),
    ) -> None:
        """Count a group of entries whose effects are stored; ``exemplars`` name their traces."""
        messages = 0
        for entry, outcome, exemplar in zip(entries, outcomes, exemplars, strict=False):
            match entry:
                case TakeEvent():
                    pass  # It was counted as a message when it came.
                case TakeMessage():
                    messages += 1
                    self._observe_one(outcome, exemplar)
                    self._observe_released(outcome, "message")
                case Tick():
                    # Its work on synopses.
                    self._alerts.inc(len(outcome.alerts))
                    self._departures.inc(len(outcome.departures))
                    self._observe_released(outcome, "clock")
                case QueryStopped(name):
                    self._overruns.labels("query", self._known(name)).inc()
                case RegisterQuery(name) if isinstance(outcome.rejection, Overrun):
                    self._overruns.labels("registration", self._known(name)).inc()
        if messages:
            self.group.observe(messages)

    def observe_question(self, on: str) -> None:
        """Count a question to the cache, history or archive that was over its limits."""
        self._overruns.labels("question", on).inc()

    def _known(self, name: str) -> str:
        if len(self._overrun_names) < _MOST_NAMES:
            self._overrun_names.add(name)
        return name if name in self._overrun_names else _OTHER

    def _observe_released(self, outcome: Outcome, by: str) -> None:
        """Count the messages that an entry released. A held message counts as held when it arrives,
        and by its outcome when it is released.
        """
        for each in outcome.released:
            self._observe_one(each)
        if outcome.released or outcome.forced:
            self._released["overflow"].inc(outcome.forced)
            self._released[by].inc(max(0, len(outcome.released) - outcome.forced))

    def _observe_one(self, outcome: Outcome, exemplar: Exemplar = None) -> None:
        for phase, seconds in outcome.timings.items():
            self._phases[phase].observe(seconds, exemplar)
        self._messages[outcome.status].inc()
        if outcome.alerts:
            self._alerts.inc(len(outcome.alerts))
        if outcome.departures:
            self._departures.inc(len(outcome.departures))
        if isinstance(outcome.rejection, Overrun):
            by = "mapping" if outcome.status is Status.SKIPPED else "rules"
            self._overruns.labels("message", by).inc()
        for each in outcome.filtered:
            self._filtered.labels(each.cause).inc()
        for each in outcome.shed:
            self._shed.labels(each.cause).inc()


class _ReasonerMetrics(Collector):
    """The metrics of the present reasoner; its counters begin anew with each, as with a process."""

    def __init__(self, present: Callable[[], object]) -> None:
        self._present = present

    def collect(self) -> Iterator[Metric]:
        present = self._present()
        reasoner = present if isinstance(present, ResilientReasoner) else None
        degraded = reasoner is not None and bool(reasoner.degraded)
        told = "1 while the plain profile replaces a reasoner that failed."
        yield GaugeMetricFamily("sensorstream_reasoner_degraded", told, float(degraded))
        told = "Requests for which the reasoner's process was started again."
        restarts = 0 if reasoner is None else reasoner.restarts
        yield CounterMetricFamily("sensorstream_reasoner_restarts", told, restarts)
        told = "The most individuals asked about together (an island); 0: no reasoner is used."
        largest = 0 if reasoner is None or degraded else reasoner.largest_island
        yield GaugeMetricFamily("sensorstream_reasoner_largest_island", told, largest)
        memo = CounterMetricFamily(
            "sensorstream_reasoner_memo",
            "Islands of individuals: hit, the answer was remembered; miss, it was computed.",
            labels=["result"],
        )
        memo.add_metric(["hit"], 0 if reasoner is None else reasoner.memo.hits)
        memo.add_metric(["miss"], 0 if reasoner is None else reasoner.memo.misses)
        yield memo
        yield from _rule_sets(present if isinstance(present, RuleReasoner) else None)


def _rule_sets(reasoner: RuleReasoner | None) -> Iterator[Metric]:
    at_work = AtWork() if reasoner is None else reasoner.at_work
    rules = GaugeMetricFamily(
        "sensorstream_reasoner_rules",
        "Rules of the rule sets: looked-up (one premise), or joining what streams.",
        labels=["run"],
    )
    rules.add_metric(["looked-up"], at_work.looked_up)
    rules.add_metric(["joining"], at_work.joining)
    yield rules
    yield GaugeMetricFamily(
        "sensorstream_reasoner_unspecialised",
        "1 while what streams alters the schema: rules run as written, exact but slower.",
        float(reasoner is not None and reasoner.unspecialised),
    )
