"""The events that one rule has consumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from sensorstream.model.timeline import Instant
from sensorstream.network.rows import Row

Event: TypeAlias = tuple[Instant, Row]
_SPARED = 16


class Consumed:
    """By label; ``keeps`` is how long a rule may ask for them, in units of the time line."""

    __slots__ = ("_gone", "_keeps", "_most")

    def __init__(self, keeps: Mapping[str, int]) -> None:
        self._keeps = keeps
        self._gone: dict[str, dict[Event, None]] = {label: {} for label in keeps}
        self._most = _SPARED

    def __len__(self) -> int:
        return sum(map(len, self._gone.values()))

    def of(self, label: str) -> Mapping[Event, None]:
        """The consumed events of a label."""
        return self._gone[label]

    def take(self, label: str, event: Event) -> None:
        """An event is gone."""
        self._gone[label][event] = None

    def forget(self, now: Instant) -> None:
        """Let go of those that no scope reaches: O(1) for each that was taken."""
        if len(self) <= self._most:
            return
        for label, gone in self._gone.items():
            oldest = now - self._keeps[label]
            self._gone[label] = {each: None for each in gone if each[0] >= oldest}
        self._most = 2 * len(self) + _SPARED

    def events(self) -> Iterator[tuple[str, Event]]:
        """All of them, with their labels."""
        for label, gone in self._gone.items():
            for event in gone:
                yield label, event
