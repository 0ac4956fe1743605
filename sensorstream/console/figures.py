"""What ``GET /metrics`` says, as figures and as rates between two readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from prometheus_client.parser import text_string_to_metric_families

_Labels: TypeAlias = tuple[tuple[str, str], ...]
TOGETHER: Final = 5.0
"""Seconds between two readings that say a rate."""
_SHORT: Final = "sensorstream_"


@dataclass(frozen=True, slots=True)
class Figures:
    """One reading; ``at`` is in seconds of any clock that does not go back."""

    at: float
    samples: Mapping[tuple[str, _Labels], float]

    def value(self, name: str, **labels: str) -> float | None:
        """One sample, by its name without ``sensorstream_``; None if there is none."""
        key = tuple(sorted(labels.items()))
        samples = self.samples
        found = samples.get((_SHORT + name, key))
        return samples.get((name, key)) if found is None else found

    def total(self, name: str) -> float:
        """The sum of a metric over all labels."""
        return sum(value for (each, _), value in self.samples.items() if each == _SHORT + name)

    def by(self, name: str, label: str) -> dict[str, float]:
        """The samples of a metric by one label."""
        found: dict[str, float] = {}
        for (each, labels), value in self.samples.items():
            if each == _SHORT + name:
                of = dict(labels).get(label, "")
                found[of] = found.get(of, 0.0) + value
        return found


def read(text: str, at: float) -> Figures:
    """The figures of a text in Prometheus' form."""
    samples: dict[tuple[str, _Labels], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if not sample.name.endswith(("_bucket", "_created")):
                samples[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return Figures(at, samples)


def rate(before: Figures | None, now: Figures, name: str) -> float | None:
    """By how much a counter grew a second, rounded; None if the readings do not say.

    So it is if there is no earlier one, if the server's process, and with it the counter, began
    anew between them, and if they are more than :data:`TOGETHER` seconds apart: nobody knows when
    in that time it grew.
    """
    if before is None or not 0 < now.at - before.at <= TOGETHER:
        return None
    grown = now.total(name) - before.total(name)
    return round(grown / (now.at - before.at), 2) if grown >= 0 else None


def mean(before: Figures | None, now: Figures, histogram: str, **labels: str) -> float | None:
    """The mean of what a histogram took in between two readings; None if that is nothing."""
    number = _growth(before, now, f"{histogram}_count", labels)
    return _growth(before, now, f"{histogram}_sum", labels) / number if number > 0 else None


def _growth(before: Figures | None, now: Figures, name: str, labels: Mapping[str, str]) -> float:
    after = now.value(name, **labels) or 0.0
    return after - (0.0 if before is None else before.value(name, **labels) or 0.0)
