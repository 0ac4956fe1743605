"""The triggers of rules: ``on`` with its event, and ``every``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import time
from enum import Enum
from functools import cached_property
from itertools import product
from typing import Final, TypeAlias

from sensorstream.errors import LanguageError, TermError
from sensorstream.language import syntax
from sensorstream.model import rdf
from sensorstream.model.events import Delta, Departure
from sensorstream.model.schedules import DAYS, LocalTimes, Multiples, Schedule
from sensorstream.model.terms import IRI, Literal, Subject, Term
from sensorstream.model.timeline import Timeline
from sensorstream.rules.conditions import Solution
from sensorstream.rules.rule_effects import RulesRun

Solutions: TypeAlias = Sequence[Solution]

NO_SOLUTION: Final[Solutions] = ()
NOW: Final = "now"
"""The variable that is the event's time in every rule."""
LAST: Final = "last"
"""The variable of ``on silence`` for the time when the individual was last heard of, and of a
punctual ``every`` for the moment before.
"""


class Wake(Enum):
    """The kind of change that may trigger a rule that waits for a class."""

    INSERTION = "insertion"
    EXPIRY = "expiry"


@dataclass
class RoundChange:
    """The change that a round reacts to: a delta and departures, grouped by class on first use.

    ``by_message``: a message has come, and this is the first round that it causes.
    """

    run: RulesRun
    is_first: bool
    delta: Delta
    departures: Sequence[Departure]
    by_message: bool
    _now: Literal | None = field(default=None, init=False)

    def now(self, line: Timeline) -> Literal:
        """The event's time."""
        if self._now is None:
            self._now = line.literal(self.run.time)
        return self._now

    def changed(self, wake: Wake) -> Mapping[Term, dict[Subject, None]]:
        """The individuals with such a change, by class."""
        return self.arrivals if wake is Wake.INSERTION else self.losses

    @cached_property
    def arrivals(self) -> Mapping[Term, dict[Subject, None]]:
        """The individuals that became members of a class, asserted or inferred, by class."""
        members: dict[Term, dict[Subject, None]] = {}
        for subject, predicate, value in self.delta.added:
            if predicate == rdf.TYPE:
                members.setdefault(value, {})[subject] = None
        return members

    @cached_property
    def updates(self) -> Updates:
        """The replaced values and the values in their place, by property and individual."""
        went: dict[tuple[Subject, IRI], list[Term]] = {}
        for subject, predicate, value in self.delta.removed:
            went.setdefault((subject, predicate), []).append(value)
        found: dict[IRI, dict[Subject, tuple[list[Term], list[Term]]]] = {}
        for subject, predicate, value in self.delta.added if went else ():
            old = went.get((subject, predicate))
            if old is not None:
                of_property = found.setdefault(predicate, {})
                of_property.setdefault(subject, (old, []))[1].append(value)
        return found

    @cached_property
    def losses(self) -> Mapping[Term, dict[Subject, None]]:
        """The members that left the window by class, from the statements known at that time."""
        members: dict[Term, dict[Subject, None]] = {}
        for departure in self.departures:
            name = departure.individual.name
            for known in (departure.individual.statements, departure.inferred):
                for subject, predicate, value in known:
                    if subject == name and predicate == rdf.TYPE:
                        members.setdefault(value, {})[name] = None
        return members


Updates: TypeAlias = Mapping[IRI, Mapping[Subject, tuple[Sequence[Term], Sequence[Term]]]]


Trigger: TypeAlias = Callable[[RoundChange], Solutions]


def compile_trigger(
    trigger: syntax.OnChange
    | syntax.OnMessage
    | syntax.OnInsert
    | syntax.OnExpire
    | syntax.OnUpdate
    | syntax.Every,
    rule: str,
    file: syntax.RuleFile,
    line: Timeline,
) -> Trigger:
    """The solutions that a rule starts from at a moment; empty if the rule is not triggered.

    Each has the event's time as ``?now``: an integer, or an ``xsd:dateTime``. Raises LanguageError
    if the duration is not a length of the time line, or ``?now`` has another meaning in the
    trigger.
    """
    match trigger:
        case syntax.OnChange():
            return lambda moment: _once(moment, line) if moment.delta else NO_SOLUTION
        case syntax.OnMessage():
            return lambda moment: _once(moment, line) if moment.by_message else NO_SOLUTION
        case syntax.OnInsert() | syntax.OnExpire():
            wake, class_name = _woken_by(trigger, file)
            variable = check_free(trigger.variable)
            return lambda moment: [
                {variable: each, NOW: moment.now(line)}
                for each in moment.changed(wake).get(class_name, ())
            ]
        case syntax.OnUpdate():
            return _on_update(trigger, file.resolve(trigger.name), line)
        case syntax.Every():
            schedule = schedule_of(trigger, line)
            return _every(rule, schedule, line, punctual=is_punctual(trigger))


def _once(moment: RoundChange, line: Timeline) -> Solutions:
    return ({NOW: moment.now(line)},)


def check_free(variable: syntax.RuleVariable, *others: str) -> str:
    """The name of a variable that a trigger may give a value.

    Raises LanguageError if it is ``?now`` or among ``others``.
    """
    if variable.name == NOW or variable.name in others:
        told = "is the time of the event" if variable.name == NOW else "has another meaning here"
        raise LanguageError(
            f"?{variable.name} {told}: expected another name, such as ?it",
            position=variable.position,
        )
    return variable.name


def _on_update(trigger: syntax.OnUpdate, name: IRI, line: Timeline) -> Trigger:
    """Values of a property, or of the members of a class, that replaced others.

    There is a solution for each individual and each pair of an old and a new value, as far as the
    trigger asks for them. New members of the class are left out: their values were not known
    before.
    """
    given: list[str] = []
    for variable in trigger.variables:
        given.append(check_free(variable, *given))
    who = trigger.variable.name
    both = enumerate((trigger.old, trigger.new))
    asked = {each.name: side for side, each in both if each is not None}

    def solutions(moment: RoundChange) -> Solutions:
        updates, now = moment.updates, moment.now(line)
        changed = list(updates.get(name, {}).items())
        if updates and (kb := moment.run.host.kb).count(rdf.TYPE, name):
            new_members = moment.arrivals.get(name, {})
            changed += [
                (individual, values)
                for predicate, of_property in updates.items()
                if predicate != name
                for individual, values in of_property.items()
                if (individual, rdf.TYPE, name) in kb and individual not in new_members
            ]
        return [
            {who: individual, NOW: now, **dict(zip(asked, pair, strict=True))}
            for individual, values in changed
            for pair in product(*(values[side] for side in asked.values()))
        ]

    return solutions


def read_duration(duration: syntax.WrittenDuration, line: Timeline) -> int:
    """The length of a written duration; raises LanguageError if it is not one of the time line."""
    try:
        return line.duration(duration.text)
    except TermError as error:
        raise LanguageError(error.message, position=duration.position) from None


def waits_for(rule: syntax.SemanticRule, file: syntax.RuleFile) -> tuple[Wake, IRI] | None:
    """The class whose changes can trigger a rule, and how; None: any change may trigger it."""
    if isinstance(rule.trigger, syntax.OnInsert | syntax.OnExpire):
        return _woken_by(rule.trigger, file)
    return None


def _woken_by(
    trigger: syntax.OnInsert | syntax.OnExpire, file: syntax.RuleFile
) -> tuple[Wake, IRI]:
    wake = Wake.INSERTION if isinstance(trigger, syntax.OnInsert) else Wake.EXPIRY
    return wake, file.resolve(trigger.class_name)


def schedule_of(trigger: syntax.Every, line: Timeline) -> Schedule:
    """The moments at which a rule is evaluated.

    Raises LanguageError for a length that is not one of the time line, or the time of a clock on
    the line of integers.
    """
    schedule = trigger.schedule
    if isinstance(schedule, syntax.WrittenDuration):
        return Multiples(read_duration(schedule, line))
    if line is Timeline.INTEGER:
        raise LanguageError(
            "the time line of integers has no days: expected a number of its units, such as "
            'every "3600", or line = "datetime" under [time] in the settings',
            position=schedule.position,
        )
    weekday = None if schedule.day == DAYS[0] else DAYS.index(schedule.day) - 1
    return LocalTimes(schedule.zone, time.fromisoformat(schedule.time), weekday)


def is_punctual(trigger: syntax.Trigger) -> bool:
    """Whether each moment of ``every`` is evaluated, before the message that is later than it."""
    return isinstance(trigger, syntax.Every) and (
        isinstance(trigger.schedule, syntax.LocalTime) or trigger.question is not None
    )


def bound_by(trigger: syntax.Trigger) -> frozenset[str]:
    """The variables that a trigger gives a value."""
    match trigger:
        case syntax.OnInsert() | syntax.OnExpire():
            return frozenset([trigger.variable.name, NOW])
        case syntax.OnSilence():
            return frozenset([trigger.variable.name, LAST, NOW])
        case syntax.OnUpdate():
            return frozenset([*(each.name for each in trigger.variables), NOW])
        case syntax.Every() if is_punctual(trigger):
            return frozenset([LAST, NOW])
    return frozenset([NOW])


def question_of(trigger: syntax.Trigger) -> syntax.Sparql | None:
    """The question of a trigger to the history; None: it has none."""
    return trigger.question if isinstance(trigger, syntax.Every) else None


def end_of(trigger: syntax.Trigger) -> syntax.Condition | None:
    """The condition that ends what a trigger has begun; None: it has none."""
    return trigger.until if isinstance(trigger, syntax.When) else None


def conditions_of(rule: syntax.SemanticRule) -> tuple[syntax.Condition, ...]:
    """The conditions of a rule, that of its trigger first; its end is left out."""
    begins = (rule.trigger.condition,) if isinstance(rule.trigger, syntax.When) else ()
    return (*begins, *rule.conditions)


def _every(rule: str, schedule: Schedule, line: Timeline, *, punctual: bool) -> Trigger:
    def trigger(moment: RoundChange) -> Solutions:
        run = moment.run
        if not moment.is_first or not run.is_in_turn(rule):
            return NO_SOLUTION
        last = run.memory.ticks.get(rule)
        if last is not None and run.time < schedule.moment(last + 1):
            return NO_SOLUTION
        tick = run.news.ticks[rule] = schedule.number(run.time)
        # The first message only starts the count.
        if last is None:
            return NO_SOLUTION
        if not punctual:
            return _once(moment, line)
        told, before = schedule.moment(tick), schedule.moment(last)
        return ({LAST: line.literal(before), NOW: line.literal(told)},)

    return trigger
