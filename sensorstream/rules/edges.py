"""``when CONDITION becomes true``: the edge of a condition, how long it holds, and its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from sensorstream.errors import LanguageError
from sensorstream.language import syntax
from sensorstream.model.timeline import Timeline
from sensorstream.rules.condition_compiler import CompiledCondition, compile_condition
from sensorstream.rules.conditions import Solution
from sensorstream.rules.endings import endings_of
from sensorstream.rules.timers import Holding, SolutionKey
from sensorstream.rules.triggers import NOW, Moment, Solutions, Trigger, read_duration

_NOW_ONLY: Final = frozenset((NOW,))


@dataclass(frozen=True, slots=True)
class Edge:
    """A compiled ``when``: its trigger, and the conditions at its begin and at its end."""

    trigger: Trigger
    begins: CompiledCondition
    ends: CompiledCondition | None


def compile_edge(
    of: syntax.SemanticRule, when: syntax.When, file: syntax.RuleFile, line: Timeline
) -> Edge:
    """The trigger ``when`` of a rule.

    A solution begins when the condition has it and the end does not hold; it ends when the end
    holds or an individual of it leaves the window, or, without one, when the condition has it no
    longer. The trigger has each solution once, as soon as it has begun; with ``for``, as soon as
    the condition has had it for so long. At its end the alerts that told of it are cleared.

    Raises:
        LanguageError: as :func:`compile_condition`; or the length of time is not one above zero.
    """
    rule = of.name
    begins = compile_condition(when.condition, file, _NOW_ONLY)
    ends = None
    if when.until is not None:
        ends = compile_condition(when.until, file, _NOW_ONLY | begins.returned)
    length = 0
    if when.lasting is not None:
        length = read_duration(when.lasting, line)
        if length <= 0:
            raise LanguageError("expected a time above 0", position=when.lasting.position)
    clear = endings_of(of, begins.returned)
    reads_now = any(NOW in each.query.given for each in (begins, ends) if each and each.query)

    def trigger(moment: Moment) -> Solutions:
        run = moment.run
        fires: list[Solution] = []
        now = {NOW: moment.now(line)}
        due = run.due(rule)
        for key in due:
            # Until now it held: that it ends at this very moment is no break.
            fires.append({**dict(key), **now})
            held = run.holding(rule, key)
            assert held is not None
            run.hold(rule, key, Holding(held.since))
        is_new = run.begins(rule)
        if not (moment.delta or moment.departures or reads_now or is_new):
            return fires
        present = {_key(each): each for each in begins.test(run.host, (now,))}
        departed = {each.individual.name for each in moment.departures}

        def has_ended(solution: Solution) -> bool:
            if ends is None:
                return False
            # What is no longer known could never end, and would be remembered for ever.
            gone = not departed.isdisjoint(solution.values())
            return gone or bool(ends.test(run.host, ({**solution, **now},)))

        before = run.held(rule)
        ended: list[SolutionKey] = []
        for key, held in list(before.items()):
            waits = held.due is not None
            goes_on = key in present if ends is None or waits else True
            if not goes_on or has_ended(dict(key)):
                run.hold(rule, key, None)
                if not waits:
                    ended.append(key)
        for key, begun in present.items():
            if key not in before and not has_ended(begun):
                run.hold(rule, key, Holding(run.time, run.time + length if length else None))
                if not length:
                    fires.append({**begun, **now})

        def going_on() -> Iterator[SolutionKey]:
            return (key for key, each in run.held(rule).items() if each.due is None)

        clear(run, ended, going_on, due)
        return fires

    return Edge(trigger, begins, ends)


def _key(solution: Solution) -> SolutionKey:
    """A solution without the time, which is another one at each evaluation."""
    pairs = (each for each in solution.items() if each[0] != NOW)
    return tuple(sorted(pairs, key=itemgetter(0)))
