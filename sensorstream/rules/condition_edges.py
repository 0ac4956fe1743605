"""``when CONDITION becomes true``: the edge of a condition, how long it holds, and its end.

A rule looks at the solutions that a change concerns, or at all of them where that is not known. The
fate of a solution depends on the present and on the memory of it alone, so both ways give the same
result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from operator import itemgetter
from typing import Final

from sensorstream.errors import LanguageError
from sensorstream.language import syntax
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import Term
from sensorstream.model.timeline import Timeline
from sensorstream.rules.condition_reader import CompiledCondition, compile_condition
from sensorstream.rules.conditions import ConditionQuery, Solution
from sensorstream.rules.followed_solutions import Followed
from sensorstream.rules.rule_effects import RulesRun
from sensorstream.rules.rule_memory import SolutionKey, WaitingRule
from sensorstream.rules.templates import CompiledTemplate, Var, compile_parts, shown
from sensorstream.rules.triggers import NOW, RoundChange, Solutions, Trigger, read_duration


@frozen
class Endings:
    """Clears the alerts that a rule raised for a solution, as far as their keys identify it.

    ``keys`` are the keys of its alerts. A key with other variables than those of the trigger, or
    with ``{new}``, is left out: it cannot be made again.
    """

    rule: str
    keys: tuple[CompiledTemplate, ...]

    def __call__(
        self,
        run: RulesRun,
        ended: Iterable[SolutionKey],
        goes_on: Callable[[str], bool],
        fired: Collection[SolutionKey] = (),
    ) -> None:
        """Clear the alerts of solutions that have ended.

        Args:
            run: the message at hand.
            ended: the solutions that had fired and have ended.
            goes_on: whether a solution that has fired and goes on has this key: it is the same
                alert.
            fired: the solutions that fire at this moment; they are cleared after that.
        """
        for solution in ended:
            for key in dict.fromkeys(self.texts((solution,))):
                if goes_on(key):
                    continue
                if solution in fired:
                    run.endings.append((self.rule, key))
                else:
                    run.clear(self.rule, key)

    def texts(self, solutions: Iterable[SolutionKey]) -> Iterator[str]:
        """The keys of the alerts about some solutions."""
        for solution in solutions:
            values = {name: shown(value) for name, value in solution}
            for text in self.keys:
                yield "".join(
                    values.get(piece, "") if isinstance(piece, Var) else str(piece)
                    for piece in text.pieces
                )


def endings_of(rule: syntax.SemanticRule, remembered: Collection[str]) -> Endings:
    """The endings of a rule that remembers the values of some variables."""
    keys: list[CompiledTemplate] = []
    for action in rule.actions:
        if isinstance(action, syntax.AlertAction):
            parts = (action.text if action.key is None else action.key).parts
            holes = [each for each in parts if isinstance(each, syntax.Hole)]
            if all(each.text.removeprefix("?") in remembered for each in holes):
                keys.append(compile_parts(parts, remembered))
    return Endings(rule.name, tuple(keys))


_NOW_ONLY: Final = frozenset((NOW,))


@frozen
class Edge:
    """The compiled conditions of a ``when``, for its begin and its end."""

    begins: CompiledCondition
    ends: CompiledCondition | None

    @property
    def reads_now(self) -> bool:
        """Whether time alone may change the result of the conditions."""
        return any(
            NOW in each.query.given for each in (self.begins, self.ends) if each and each.query
        )

    @property
    def has_solutions(self) -> bool:
        """Whether the begin may have several solutions."""
        return bool(self.begins.returned)

    @property
    def end_query(self) -> ConditionQuery | None:
        """The query of the end, if it has one."""
        return None if self.ends is None else self.ends.query

    def followed(self, run: RulesRun) -> Followed | None:
        """The solutions that a change concerns; None: all must be looked at."""
        if self.begins.query is None or not self.has_solutions or self.reads_now:
            return None
        evaluator, has_end = run.host.evaluator, self.ends is not None
        return evaluator.follow(self.begins.query, self.end_query, has_end=has_end)

    def is_over(self, run: RulesRun) -> bool | None:
        """Whether the end holds for all solutions alike; None: it depends on the solution."""
        ends = self.ends
        if ends is None or (ends.query is not None and ends.query.given):
            return None
        if ends.query is None:
            return bool(ends.test(run.host, ({},)))
        return run.host.evaluator.ask(ends.query, {}) is not ends.negated


def compile_edge(
    of: syntax.SemanticRule, when: syntax.When, file: syntax.RuleFile, line: Timeline
) -> tuple[Trigger, Edge]:
    """The trigger ``when`` of a rule, and its conditions.

    A solution begins when the condition has it and the end does not hold; it ends when the end
    holds or an individual of it leaves the window, or, without an end, when the condition has it no
    longer. The trigger has each solution once, as soon as it has begun; with ``for``, as soon as
    the condition has had it for that long. At its end the alerts about it are cleared. Raises
    LanguageError as :func:`compile_condition` does, or if the length of time is not above zero.
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
            raise LanguageError(
                "a condition cannot last for no time: expected a time above 0",
                position=when.lasting.position,
            )
    clear = endings_of(of, begins.returned)
    edge = Edge(begins, ends)
    reads_now = edge.reads_now

    def trigger(moment: RoundChange) -> Solutions:
        run = moment.run
        fires: list[Solution] = []
        now = {NOW: moment.now(line)}
        due = run.due(rule)
        for key, begun in due.items():
            # It held until now: its end at this very moment is no interruption.
            fires.append({**dict(key), **now})
            run.hold(rule, key, WaitingRule(begun.since))
        is_new = run.begins(rule)
        if not (moment.delta or moment.departures or reads_now or is_new):
            return fires
        departed = {each.individual.name for each in moment.departures}
        state = _looking(edge, run, rule, departed, clear, now)
        ended: list[SolutionKey] = []
        for key in state.keys:
            held = run.holding(rule, key)
            waits = held is not None and held.due is not None
            goes_on = state.holds(key) or (held is not None and ends is not None and not waits)
            if goes_on and ends is not None:
                # A solution that is no longer known could never end, and would be kept for ever.
                gone = not departed.isdisjoint(value for _, value in key)
                goes_on = not gone and not state.ends(key)
            if held is None and goes_on:
                run.hold(rule, key, WaitingRule(run.time, run.time + length if length else None))
                if not length:
                    fires.append({**dict(key), **now})
            elif held is not None and not goes_on:
                run.hold(rule, key, None)
                if not waits:
                    ended.append(key)
        if state.followed is not None:
            state.followed.looked_at(run, rule, state.keys, clear.texts)
        clear(run, ended, state.is_told, due)
        return fires

    return trigger, edge


@frozen
class _Looking:
    """The solutions to look at: those that a change concerns, or all of them."""

    keys: Collection[SolutionKey]
    holds: Callable[[SolutionKey], bool]
    """Whether the condition has the solution."""
    ends: Callable[[SolutionKey], bool]
    """Whether the end, if there is one, holds for a solution that holds or has begun."""
    is_told: Callable[[str], bool]
    """Whether a solution that has fired and goes on has an alert of this key."""
    followed: Followed | None = None


def _looking(
    edge: Edge, run: RulesRun, rule: str, departed: Collection[Term], clear: Endings, now: Solution
) -> _Looking:
    followed = edge.followed(run)
    if followed is not None:
        over = edge.is_over(run)
        keys = followed.look(run, rule, departed, over)
        if keys is not None:
            return _changed(edge, run, rule, followed, keys, over)
    return _whole(edge, run, rule, clear, now)


def _changed(
    edge: Edge,
    run: RulesRun,
    rule: str,
    followed: Followed,
    keys: Collection[SolutionKey],
    over: bool | None,
) -> _Looking:
    """The solutions that a change concerns."""
    negated = edge.ends is not None and edge.ends.negated

    def ends(key: SolutionKey) -> bool:
        return followed.ends(key) is not negated if over is None else over

    def is_told(text: str) -> bool:
        return followed.goes_on(run, rule, text)

    return _Looking(keys, followed.holds, ends, is_told, followed)


def _whole(edge: Edge, run: RulesRun, rule: str, clear: Endings, now: Solution) -> _Looking:
    """The solutions of the condition and those that have begun."""
    present = dict.fromkeys(map(_key, edge.begins.test(run.host, (now,))))
    every = {**dict.fromkeys(run.held(rule)), **present}

    def ends(key: SolutionKey) -> bool:
        return edge.ends is not None and bool(edge.ends.test(run.host, ({**dict(key), **now},)))

    @cache
    def told() -> frozenset[str]:
        held = run.held(rule).items()
        return frozenset(clear.texts(key for key, each in held if each.due is None))

    return _Looking(every, present.__contains__, ends, lambda text: text in told())


def _key(solution: Solution) -> SolutionKey:
    """A solution without the time, which differs at each evaluation."""
    pairs: Iterable[tuple[str, Term]] = (each for each in solution.items() if each[0] != NOW)
    return tuple(sorted(pairs, key=itemgetter(0)))
