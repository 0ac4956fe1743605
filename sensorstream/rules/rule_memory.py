"""The state that rules keep from message to message, and their questions to the history."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sensorstream.model.frozen import frozen, mutable
from sensorstream.model.terms import Term
from sensorstream.model.timeline import Instant
from sensorstream.network.agenda import TimeQueue

SolutionKey: TypeAlias = tuple[tuple[str, Term], ...]
"""The variables of a solution with their values, by name."""


@frozen
class WaitingRule:
    """A wait of a rule: since a solution has begun, or an individual was last heard of.

    ``since`` is the time of that. ``due`` is when the rule fires by time alone; None: it has fired,
    or has nothing to wait for.
    """

    since: Instant
    due: Instant | None = None


class _Timers(TimeQueue[SolutionKey]):
    """The times at which the waits of a rule are due."""

    def __init__(self, held: Mapping[SolutionKey, WaitingRule]) -> None:
        super().__init__()
        for key, holding in held.items():
            self.put(key, holding.due)

    def until(self, time: Instant) -> list[SolutionKey]:
        """The waits that are due by a time, in order of their times; they stay in the queue."""
        found: dict[SolutionKey, Instant] = {}
        while (due := self.next) is not None and due <= time:
            found[self.pop()] = due
        for key, due in found.items():
            self.put(key, due)
        return list(found)


AlertKey: TypeAlias = tuple[str, str]
"""Rule name and key, which identify an alert."""


@mutable
class RuleMemoryChange:
    """The changes of the memory that the rules of a message request; None: forget."""

    quiet: dict[AlertKey, Instant] = field(default_factory=dict)
    ticks: dict[str, int] = field(default_factory=dict)
    held: dict[str, dict[SolutionKey, WaitingRule | None]] = field(default_factory=dict)
    is_kept: bool = field(default=False, compare=False)
    """Whether they are in the memory, which needs a message that is sure to stay."""


@dataclass
class RuleMemory:
    """The memory of suppressed alerts and of rules that wait.

    The rules of a message do not change it: their news are given to :meth:`keep` when the message
    is sure to stay.
    """

    quiet: dict[AlertKey, Instant] = field(default_factory=dict)
    """The instant from which the alert may be raised again."""
    ticks: dict[str, int] = field(default_factory=dict)
    """Rule name to the number of the last multiple of its duration that was passed."""
    held: dict[str, dict[SolutionKey, WaitingRule]] = field(default_factory=dict)
    """The solutions of each ``when`` rule that have begun and not ended; the individuals that each
    ``on silence`` rule watches.
    """
    time: Instant | None = None
    """The latest time at which rules were evaluated because time had passed."""

    def __post_init__(self) -> None:
        self._timers = {rule: _Timers(held) for rule, held in self.held.items()}

    def keep(self, time: Instant, news: RuleMemoryChange) -> None:
        """Take in the news of a message's rules at ``time``; O(news, alerts held back)."""
        if news.quiet:
            for over in [same for same, until in self.quiet.items() if until <= time]:
                del self.quiet[over]
            self.quiet.update(news.quiet)
        self.ticks.update(news.ticks)
        news.is_kept = True
        for rule, changes in news.held.items():
            held = self.held.get(rule)
            if held is None:
                held = self.held[rule] = {}
                self._timers[rule] = _Timers(held)
            timers = self._timers[rule]
            for key, holding in changes.items():
                if holding is None:
                    held.pop(key, None)
                else:
                    held[key] = holding
                timers.put(key, None if holding is None else holding.due)

    def forget_but(self, rules: Collection[str]) -> None:
        """Forget the waits of all rules except these, by name."""
        self.ticks = {name: tick for name, tick in self.ticks.items() if name in rules}
        self.held = {name: each for name, each in self.held.items() if name in rules}
        self._timers = {name: each for name, each in self._timers.items() if name in rules}

    @property
    def due(self) -> Instant | None:
        """The time when the first waiting solution is due; O(rules that wait)."""
        if not self._timers:
            return None
        dues = [due for each in self._timers.values() if (due := each.next) is not None]
        return min(dues, default=None)

    def due_by(self, rule: str, time: Instant) -> list[SolutionKey]:
        """The solutions of a rule that are due by a time."""
        timers = self._timers.get(rule)
        return [] if timers is None else timers.until(time)

    def give_up(self, time: Instant, rule: str) -> None:
        """Drop the waits of a rule that are due by a time: they could not be carried out."""
        for key in self.due_by(rule, time):
            held = self.held[rule]
            held[key] = WaitingRule(held[key].since)
            self._timers[rule].forget(key)

    def copy(self) -> RuleMemory:
        """The memory as it is now; O(memory)."""
        held = {rule: dict(each) for rule, each in self.held.items()}
        return RuleMemory(dict(self.quiet), dict(self.ticks), held, self.time)


class Remembering:
    """The memory of rules, as the message at hand has left it so far."""

    __slots__ = ()

    memory: RuleMemory
    news: RuleMemoryChange

    def holding(self, rule: str, key: SolutionKey) -> WaitingRule | None:
        """The wait of a rule for a key, as this message has left it so far."""
        news = self.news.held.get(rule)
        if news is not None and key in news:
            return news[key]
        known = self.memory.held.get(rule)
        return None if known is None else known.get(key)

    def held(self, rule: str) -> Mapping[SolutionKey, WaitingRule]:
        """The waits of a rule by key; do not keep a reference."""
        known = self.memory.held.get(rule, {})
        news = self.news.held.get(rule)
        if not news:
            return known
        return {key: each for key, each in {**known, **news}.items() if each is not None}

    def hold(self, rule: str, key: SolutionKey, holding: WaitingRule | None) -> None:
        """Set the wait of a rule for a key; None removes it."""
        self.news.held.setdefault(rule, {})[key] = holding

    def begins(self, rule: str) -> bool:
        """Whether a rule that waits is evaluated for the first time; it is not, then."""
        if rule in self.memory.held or rule in self.news.held:
            return False
        self.news.held[rule] = {}
        return True


@frozen
class HistoryQuestion:
    """A question of a rule that waits for its answer.

    ``digest`` is that of the question; ``moment`` has ``?last`` and ``?now``, the instants ``last``
    and ``now``.
    """

    rule: str
    digest: str
    moment: SolutionKey
    last: Instant
    now: Instant


@frozen
class Answer:
    """The answer to a question, with the question's ``rule``, ``digest`` and ``moment``.

    ``failure`` says why there is none; it is empty if there is one.
    """

    rule: str
    digest: str
    moment: SolutionKey
    solutions: tuple[SolutionKey, ...] = ()
    failure: str = ""
