"""The metrics of what waits for each receiver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from sensorstream.alerts.records import Backlog
from sensorstream.clock import Clock

_DEPTH: Final = "Deliveries that wait, by receiver."
_AGE: Final = "Seconds since the oldest delivery that waits was raised, by receiver."
_ENABLED: Final = "1 while a receiver is delivered to, 0 while it is disabled."
_FAILING: Final = "Seconds for which all attempts to reach a receiver have failed; 0: none has."


class BacklogMetrics(Collector):
    """As it was when ``latest`` was set; receivers that are gone are not in it."""

    def __init__(self, clock: Clock, registry: CollectorRegistry) -> None:
        self._clock = clock
        self.latest: Sequence[Backlog] = ()
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """See :class:`prometheus_client.registry.Collector`."""
        now = self._clock.now()
        depth = GaugeMetricFamily("sensorstream_outbox_deliveries", _DEPTH, labels=["receiver"])
        age = GaugeMetricFamily("sensorstream_outbox_oldest_seconds", _AGE, labels=["receiver"])
        enabled = GaugeMetricFamily("sensorstream_receiver_enabled", _ENABLED, labels=["receiver"])
        failing = GaugeMetricFamily(
            "sensorstream_receiver_failing_seconds", _FAILING, labels=["receiver"]
        )
        for each in self.latest:
            name = [each.receiver]
            depth.add_metric(name, each.pending)
            age.add_metric(name, (now - each.oldest).total_seconds() if each.oldest else 0.0)
            enabled.add_metric(name, each.enabled)
            since = each.failing_since
            failing.add_metric(name, (now - since).total_seconds() if since else 0.0)
        yield from (depth, age, enabled, failing)
