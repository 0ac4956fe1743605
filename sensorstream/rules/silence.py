"""``on silence of CLASS``: who has said nothing for some time."""

from __future__ import annotations

from sensorstream.language import syntax
from sensorstream.model.terms import Literal, Subject
from sensorstream.model.timeline import Timeline
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.rules.conditions import Solution
from sensorstream.rules.endings import endings_of
from sensorstream.rules.timers import Holding, SolutionKey
from sensorstream.rules.triggers import (
    LAST,
    NOW,
    Moment,
    Solutions,
    Trigger,
    check_free,
    read_duration,
)


def compile_silence(
    of: syntax.SemanticRule, silence: syntax.OnSilence, file: syntax.RuleFile, line: Timeline
) -> Trigger:
    """The trigger ``on silence`` of a rule.

    Each member of the class is watched from the moment on at which it becomes one. What a message
    says of it, new or not, puts its time off. It has a solution once it has said nothing for so
    long, and another one after it has spoken again. One that leaves the window goes on to be
    watched until then; one that is deleted is forgotten.

    Raises:
        LanguageError: the length of time is not one of the line, or the variable has another
            meaning.
    """
    rule = of.name
    name = check_free(silence.variable, LAST)
    class_name = file.resolve(silence.class_name)
    length = read_duration(silence.duration, line)
    clear = endings_of(of, (name,))

    def key_of(individual: Subject) -> SolutionKey:
        return ((name, individual),)

    def trigger(moment: Moment) -> Solutions:
        run = moment.run
        heard = Holding(run.time, run.time + length)
        fires: list[Solution] = []
        fired = run.due(rule)
        for key in fired:
            held = run.holding(rule, key)
            assert held is not None
            last = line.literal(held.since)
            fires.append({**dict(key), LAST: last, NOW: moment.now(line)})
            individual = key[0][1]
            assert not isinstance(individual, Literal)
            is_member = (individual, RDF_TYPE, class_name) in run.host.kb
            run.hold(rule, key, Holding(held.since) if is_member else None)
        if run.begins(rule):
            for individual, _, _ in list(run.host.kb.match(None, RDF_TYPE, class_name)):
                run.hold(rule, key_of(individual), heard)
        for individual in moment.arrivals.get(class_name, ()):
            key = key_of(individual)
            if run.holding(rule, key) is None:
                run.hold(rule, key, heard)
        for individual in run.said if moment.is_first else ():
            key = key_of(individual)
            held = run.holding(rule, key)
            if held is not None:
                run.hold(rule, key, heard)
                if held.due is None:
                    clear(run, (key,), _nobody, fired)
        if moment.delta.removed:
            _forget(moment)
        return fires

    def _forget(moment: Moment) -> None:
        run = moment.run
        departed = {each.individual.name for each in moment.departures}
        for individual, predicate, value in moment.delta.removed:
            if predicate == RDF_TYPE and value == class_name:
                key = key_of(individual)
                held = run.holding(rule, key)
                # One that waits and has left the window will be told of.
                if held is not None and (held.due is None or individual not in departed):
                    run.hold(rule, key, None)

    return trigger


def _nobody(key: str) -> bool:
    """Each individual has an alert of its own."""
    return False
