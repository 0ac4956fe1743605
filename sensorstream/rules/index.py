"""Rules by trigger: a rule that waits for a class costs nothing while its members stay the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter
from typing import TypeAlias

from sensorstream.model.terms import Term
from sensorstream.model.timeline import Instant
from sensorstream.rules.memory import RuleMemory
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.rules.triggers import Moment, Wake

_Numbered: TypeAlias = tuple[int, CompiledRule]


class RuleIndex:
    """The semantic rules of a deployment, in order."""

    __slots__ = ("_every", "_on_expiry", "_on_insertion", "_scheduled", "listen", "rules")

    def __init__(self, rules: Iterable[CompiledRule]) -> None:
        self.rules = tuple(rules)
        self.listen = any(rule.listens for rule in self.rules)
        """Whether one of them wants to know of whom a message says something."""
        self._scheduled = [
            (rule.name, rule.every, rule.punctual) for rule in self.rules if rule.every is not None
        ]
        self._every: list[_Numbered] = []
        self._on_insertion: dict[Term, list[_Numbered]] = {}
        self._on_expiry: dict[Term, list[_Numbered]] = {}
        waiting = {Wake.INSERTION: self._on_insertion, Wake.EXPIRY: self._on_expiry}
        for number, rule in enumerate(self.rules):
            if rule.waits_for is None:
                self._every.append((number, rule))
            else:
                wake, class_name = rule.waits_for
                waiting[wake].setdefault(class_name, []).append((number, rule))

    def due(self, memory: RuleMemory, *, waiting_only: bool = False) -> Instant | None:
        """From which instant on a rule fires by time alone; None: none does.

        A rule that is evaluated every so often begins with the first message. ``waiting_only``:
        without those whose moments are told by the message that comes later.
        """
        ticks = memory.ticks
        dues = [
            schedule.moment(ticks[name] + 1)
            for name, schedule, punctual in self._scheduled
            if name in ticks and (punctual or not waiting_only)
        ]
        waiting = memory.due
        return min(dues if waiting is None else [*dues, waiting], default=None)

    def due_by(self, memory: RuleMemory, time: Instant) -> list[str]:
        """The names of the rules of which something is due by a time, in their order."""
        return [
            rule.name
            for rule in self.rules
            if memory.due_by(rule.name, time)
            or (
                rule.every is not None
                and rule.name in memory.ticks
                and memory.ticks[rule.name] < rule.every.number(time)
            )
        ]

    def give_up(self, memory: RuleMemory, time: Instant, names: Collection[str]) -> None:
        """Pass over what of some rules is due by a time: it could not be carried out."""
        for rule in self.rules:
            if rule.name in names:
                memory.give_up(time, rule.name)
                if rule.every is not None and rule.name in memory.ticks:
                    passed = rule.every.number(time)
                    memory.ticks[rule.name] = max(memory.ticks[rule.name], passed)

    def awake(self, moment: Moment) -> Sequence[CompiledRule]:
        """The rules whose trigger may have a solution, in order; O(those, and the change)."""
        found = list(self._every)
        if self._on_insertion:
            for class_name in moment.arrivals:
                found += self._on_insertion.get(class_name, ())
        if self._on_expiry:
            for class_name in moment.losses:
                found += self._on_expiry.get(class_name, ())
        if len(found) > len(self._every):
            found.sort(key=itemgetter(0))
        return [rule for _, rule in found]
