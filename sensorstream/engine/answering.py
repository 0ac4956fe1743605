"""The history has answered a rule: the rule is tried with the solutions, at the present."""

from __future__ import annotations

from dataclasses import replace

from sensorstream.engine.cycle import Cycle
from sensorstream.engine.elapsing import passed_over, turn_of
from sensorstream.engine.notices import RULE_FAILED
from sensorstream.engine.outcome import Outcome, Status
from sensorstream.errors import QueryError
from sensorstream.model.events import Cleared, Message
from sensorstream.model.timeline import Instant
from sensorstream.rules.answers import Answer, Asked
from sensorstream.rules.history import waiting
from sensorstream.rules.memory import News


def asked(cycle: Cycle) -> list[Asked]:
    """The questions of rules to the history that wait for their answers, the oldest first."""
    found = [
        each
        for rule in cycle.rules.rules
        if rule.question is not None
        for each in waiting(rule.name, rule.question, cycle.memory, cycle.timeline)
    ]
    return sorted(found, key=lambda each: each.now)


def answered(cycle: Cycle, entry: Message, answer: Answer) -> Outcome:
    """Let a rule have an answer, once; nothing happens if it does not wait for one.

    It happens at the present, for the moment that the answer is of has passed. What fails is told,
    and not tried again.
    """
    wanted = [each for each in asked(cycle) if _of(each) == _of(answer)]
    if not wanted:
        return Outcome(entry, Status.ACCEPTED)
    now, rule, before = cycle.present(wanted[0].now), answer.rule, cycle.degraded
    outcome = _told(cycle, entry, answer, now) if answer.failure else None
    if outcome is None:
        late = cycle.clock.note(wanted[0].now, entry.received)
        made = turn_of(cycle, (rule,), entry, now, entry.received, entry.id, late, answer=answer)
        if isinstance(made, Exception):
            outcome = passed_over(cycle, entry, now, made, entry.id, (rule,), with_window=False)
        else:
            # It works again, also if it found nothing to tell of.
            worked = cycle.notices.worked([rule])
            ends = (Cleared("", RULE_FAILED, each, now, entry.id) for each in worked)
            outcome = replace(made, cleared=(*ends, *made.cleared))
    cycle.memory.keep(now, News(held={rule: {answer.moment: None}}))
    cycle.memory.time = now
    outcome = cycle.with_queries(outcome)
    return cycle.with_reasoner(outcome, before)


def _of(told: Asked | Answer) -> tuple[object, ...]:
    return told.rule, told.digest, told.moment


def _told(cycle: Cycle, entry: Message, answer: Answer, now: Instant) -> Outcome:
    """Tell that there is no answer."""
    error = QueryError(answer.failure)
    error.rule = answer.rule
    alerts = cycle.notices.rule_failed(entry, error, now)
    return Outcome(entry, Status.ACCEPTED, alerts=alerts, warnings=(answer.failure,), time=now)
