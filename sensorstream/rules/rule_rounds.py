"""Rounds: rules react to a message, then to what they changed, until nothing changes.

A rule that waits for a class costs nothing while its members stay the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import TypeAlias

from sensorstream.errors import Overrun, RuleCycle, SensorStreamError
from sensorstream.model.events import Delta, Departure, Event
from sensorstream.model.schedules import Schedule
from sensorstream.model.terms import Term
from sensorstream.model.timeline import Instant
from sensorstream.rules.conditions import as_text
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.rules.rule_effects import Requested, RuleFiring, RulesRun
from sensorstream.rules.rule_memory import RuleMemory
from sensorstream.rules.triggers import RoundChange, Wake

_Numbered: TypeAlias = tuple[int, CompiledRule]


class RuleIndex:
    """The semantic rules of a deployment, in order."""

    __slots__ = ("_every", "_scheduled", "_waiting", "listen", "rules")

    def __init__(self, rules: Iterable[CompiledRule]) -> None:
        self.rules = tuple(rules)
        self.listen = any(rule.lineage.silent for rule in self.rules)
        """Whether one of them wants to know of whom a message says something."""
        self._scheduled = [(each, each.every) for each in self.rules if each.every is not None]
        self._every: list[_Numbered] = []
        self._waiting: dict[Wake, dict[Term, list[_Numbered]]] = {}
        for number, rule in enumerate(self.rules):
            if rule.waits_for is None:
                self._every.append((number, rule))
            else:
                wake, class_name = rule.waits_for
                of_class = self._waiting.setdefault(wake, {}).setdefault(class_name, [])
                of_class.append((number, rule))

    def due(self, memory: RuleMemory, *, waiting_only: bool = False) -> Instant | None:
        """The instant from which a rule fires by time alone; None: none does.

        The schedule of an ``every`` begins with the first message. ``waiting_only``: without the
        rules whose moments are evaluated with the message that comes later.
        """
        waiting = memory.due
        if not self._scheduled:
            return waiting
        dues = [
            every.moment(tick + 1)
            for rule, every, tick in self._begun(memory)
            if rule.punctual or not waiting_only
        ]
        return min(dues if waiting is None else [*dues, waiting], default=None)

    def due_by(self, memory: RuleMemory, time: Instant) -> list[str]:
        """The names of the rules with something due by a time, in their order."""
        passed = {
            rule.name for rule, every, tick in self._begun(memory) if tick < every.number(time)
        }
        names = (rule.name for rule in self.rules)
        return [name for name in names if name in passed or memory.due_by(name, time)]

    def give_up(self, memory: RuleMemory, time: Instant, names: Collection[str]) -> None:
        """Drop the due work of some rules up to a time: it could not be carried out."""
        for name in names:
            memory.give_up(time, name)
        for rule, every, tick in self._begun(memory):
            if rule.name in names:
                memory.ticks[rule.name] = max(tick, every.number(time))

    def _begun(self, memory: RuleMemory) -> Iterator[tuple[CompiledRule, Schedule, int]]:
        """The rules with a schedule, with the moment that has passed."""
        for rule, every in self._scheduled:
            if rule.name in memory.ticks:
                yield rule, every, memory.ticks[rule.name]

    def awake(self, moment: RoundChange) -> Sequence[CompiledRule]:
        """The rules whose trigger may have a solution, in order; O(result and change)."""
        if not self._waiting:
            return self.rules
        found = list(self._every)
        for wake, waiting in self._waiting.items():
            for class_name in moment.changed(wake):
                found += waiting.get(class_name, ())
        return [rule for _, rule in sorted(found, key=itemgetter(0))]


def run_rules(
    rules: RuleIndex,
    run: RulesRun,
    delta: Delta,
    departures: Sequence[Departure],
    *,
    max_rounds: int = 16,
    silent: bool = False,
) -> None:
    """Let the rules react to a message that their host has taken in (paper section 4.4).

    In each round every rule sees the state at the round's beginning; all changes are then made
    together, and the next round sees their delta. Within one message a rule fires once for
    each distinct solution.

    Args:
        rules: in the order in which their actions are to be carried out.
        run: their work for the message, of which nothing is done yet; what they make is added.
        delta: what the message changed in the union of the graphs.
        departures: the individuals that left the window because of the message.
        max_rounds: how many rounds may change the knowledge base.
        silent: no message has come, only time has passed.

    Raises:
        RuleCycle: the rules still request changes after ``max_rounds`` rounds.
        RuleError: an action cannot be carried out.
        Overrun: the conditions take more than they may.
    """
    host = run.host
    # Changes must not accumulate when no rule evaluates a condition.
    host.evaluator.begin()
    host.evaluator.settle()
    latest: list[list[str]] = []
    moment = RoundChange(run, True, delta, departures, by_message=not silent)
    while True:
        run.changes = Requested()
        latest.append(_round(rules, moment))
        if not run.changes:
            break
        if len(latest) > max_rounds:
            raise _cycle(latest, rules.rules, max_rounds)
        departed = len(host.departures)
        delta = _apply(run)
        departures = tuple(host.departures[departed:])
        if not delta and not departures:
            break
        moment = RoundChange(run, False, delta, departures, by_message=False)


def _round(rules: RuleIndex, moment: RoundChange) -> list[str]:
    """Evaluate every triggered rule once and carry out the actions of its new solutions.

    Returns the rules that requested a change of the knowledge base.
    """
    run = moment.run
    changing: list[str] = []
    for rule in rules.awake(moment):
        before = len(run.changes.inserted) + len(run.changes.removed)
        try:
            _fire(rule, moment)
        except SensorStreamError as error:
            error.rule = rule.name
            raise
        if len(run.changes.inserted) + len(run.changes.removed) > before:
            changing.append(rule.name)
    for rule_name, alert_key in run.endings:
        run.clear(rule_name, alert_key)
    run.endings.clear()
    return changing


def _fire(rule: CompiledRule, moment: RoundChange) -> None:
    """Carry out the actions of a rule for each solution that is new in this message."""
    run, host = moment.run, moment.run.host
    try:
        solutions = rule.trigger(moment)
        for condition in rule.conditions:
            if not solutions:
                break
            solutions = condition(host, solutions)
    except Overrun as error:
        raise Overrun(f"rule {rule.name} ({rule.position}): {error.message}") from None
    if not solutions:
        return
    seen = run.fired.get(rule.name, set())
    fresh = {key: each for each in solutions if (key := frozenset(each.items())) not in seen}
    if not fresh:
        return
    run.fired[rule.name] = seen | fresh.keys()
    for solution in sorted(fresh.values(), key=as_text):
        firing = RuleFiring(run, solution, rule.lineage)
        there = len(run.changes.inserted)
        for action in rule.actions:
            action(firing)
        for triple in islice(run.changes.inserted, there, None):
            if triple not in host.kb:
                run.made.setdefault(triple, firing)


def _apply(run: RulesRun) -> Delta:
    changes = run.changes
    event = None
    if changes.inserted:
        event = Event(
            tuple(changes.inserted),
            run.time,
            run.message.id,
            frozenset(changes.replaced),
            run.message.source,
        )
    return run.host.apply(event, tuple(changes.removed))


def _cycle(
    latest: Sequence[Sequence[str]], rules: Sequence[CompiledRule], max_rounds: int
) -> RuleCycle:
    # The rules of the last rounds are the cycle; those of the first rounds only led into it.
    turning = {name for names in latest[len(latest) // 2 :] for name in names}
    named = [rule for rule in rules if rule.name in turning]
    names = ", ".join(f"{rule.name} ({rule.position})" for rule in named)
    error = RuleCycle(
        f"rules kept changing the knowledge base for {max_rounds} rounds: {names}",
        position=named[0].position,
    )
    error.rule = named[0].name
    return error
