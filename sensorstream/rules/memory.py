"""The state that rules keep from message to message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sensorstream.model.terms import Term
from sensorstream.model.timeline import Instant

AlertKey: TypeAlias = tuple[str, str]
"""Rule name and key: alerts that share them are the same alert."""


SolutionKey: TypeAlias = tuple[tuple[str, Term], ...]
"""The variables of a solution with their values, by name."""


@dataclass(frozen=True, slots=True)
class Holding:
    """A solution of a condition that has become true: since when, and whether its rule fired."""

    since: Instant
    fired: bool


@dataclass(frozen=True, slots=True)
class RuleMemory:
    """What is remembered of alerts held back, and of ``every`` and ``when`` rules.

    A message's rules never change the memory they are given: they return another one, or the
    same object when nothing changed. A failed message leaves nothing behind.
    """

    quiet: Mapping[AlertKey, Instant] = field(default_factory=dict)
    """The instant from which on the alert may be raised again."""
    ticks: Mapping[str, int] = field(default_factory=dict)
    """Rule name to the number of the last multiple of its duration that was passed."""
    held: Mapping[str, Mapping[SolutionKey, Holding]] = field(default_factory=dict)
    """For each ``when`` rule the solutions that have begun and not ended."""
    timers: Mapping[str, Instant | None] = field(default_factory=dict)
    """When the first solution of a ``when`` rule will have held for its time; None: none waits."""

    def after(
        self,
        time: Instant,
        quiet: Mapping[AlertKey, Instant],
        ticks: Mapping[str, int],
        held: Mapping[str, Mapping[SolutionKey, Holding]],
        timers: Mapping[str, Instant | None],
    ) -> RuleMemory:
        """The memory after a message, without the entries that have expired at ``time``.

        O(keys that are held back) when ``quiet`` is not empty, else O(1).
        """
        if not quiet and not ticks and not held:
            return self
        back = self.quiet
        if quiet:
            back = {key: until for key, until in back.items() if until > time} | dict(quiet)
        return RuleMemory(
            back, {**self.ticks, **ticks}, {**self.held, **held}, {**self.timers, **timers}
        )
