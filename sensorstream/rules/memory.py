"""The state that rules keep from message to message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sensorstream.model.timeline import Instant

AlertKey: TypeAlias = tuple[str, str]
"""Rule name and key: alerts that share them are the same alert."""


@dataclass(frozen=True, slots=True)
class RuleMemory:
    """Until when alerts are held back, and the last tick of each ``every`` rule.

    A message's rules never change the memory they are given: they return another one, or the
    same object when nothing changed. A failed message leaves nothing behind.
    """

    quiet: Mapping[AlertKey, Instant] = field(default_factory=dict)
    """The instant from which on the alert may be raised again."""
    ticks: Mapping[str, int] = field(default_factory=dict)
    """Rule name to the number of the last multiple of its duration that was passed."""

    def after(
        self, time: Instant, quiet: Mapping[AlertKey, Instant], ticks: Mapping[str, int]
    ) -> RuleMemory:
        """The memory after a message, without the entries that have expired at ``time``.

        O(keys that are held back) when ``quiet`` is not empty, else O(1).
        """
        if not quiet and not ticks:
            return self
        held = self.quiet
        if quiet:
            held = {key: until for key, until in held.items() if until > time} | dict(quiet)
        return RuleMemory(held, {**self.ticks, **ticks} if ticks else self.ticks)
