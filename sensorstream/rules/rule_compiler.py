"""Semantic rules from syntax tree to functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sensorstream.errors import LanguageError, Position
from sensorstream.language import syntax
from sensorstream.language.ontology_names import unknown_names
from sensorstream.language.rule_printer import print_node
from sensorstream.model import rdf
from sensorstream.model.frozen import frozen
from sensorstream.model.schedules import Schedule
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Subject
from sensorstream.model.timeline import Timeline
from sensorstream.rules.condition_edges import Edge, compile_edge, endings_of
from sensorstream.rules.condition_reader import Condition, compile_condition
from sensorstream.rules.conditions import ConditionQuery, Solution
from sensorstream.rules.history_rules import (
    HistoryQuery,
    compile_question,
    read_history_query,
    text_digest,
)
from sensorstream.rules.lineage import Lineage, PatternBlock, trigger_blocks
from sensorstream.rules.rule_actions import Action, ActionCompiler
from sensorstream.rules.rule_memory import SolutionKey, WaitingRule
from sensorstream.rules.triggers import (
    LAST,
    NOW,
    RoundChange,
    Solutions,
    Trigger,
    Wake,
    bound_by,
    check_free,
    compile_trigger,
    is_punctual,
    read_duration,
    schedule_of,
    waits_for,
)


def compile_silence(
    of: syntax.SemanticRule, silence: syntax.OnSilence, file: syntax.RuleFile, line: Timeline
) -> Trigger:
    """The trigger ``on silence`` of a rule.

    A member of the class is watched from the moment when it becomes one. Each message about it, new
    or not, postpones its time. It has a solution when it has been silent for that long, and again
    after it has spoken and been silent. A member that leaves the window is still watched until its
    time; a deleted one is forgotten. Raises LanguageError if the length of time is not one of the
    line, or the variable has another meaning.
    """
    rule = of.name
    name = check_free(silence.variable, LAST)
    class_name = file.resolve(silence.class_name)
    length = read_duration(silence.duration, line)
    clear = endings_of(of, (name,))

    def key_of(individual: Subject) -> SolutionKey:
        return ((name, individual),)

    def trigger(moment: RoundChange) -> Solutions:
        run = moment.run
        heard = WaitingRule(run.time, run.time + length)
        fires: list[Solution] = []
        fired = run.due(rule)
        for key, watched in fired.items():
            last = line.literal(watched.since)
            fires.append({**dict(key), LAST: last, NOW: moment.now(line)})
            individual = key[0][1]
            assert not isinstance(individual, Literal)
            is_member = (individual, rdf.TYPE, class_name) in run.host.kb
            run.hold(rule, key, WaitingRule(watched.since) if is_member else None)
        if run.begins(rule):
            for individual, _, _ in list(run.host.kb.match(None, rdf.TYPE, class_name)):
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
                    # Each individual has its own alert.
                    clear(run, (key,), lambda _: False, fired)
        if moment.delta.removed:
            _forget(moment)
        return fires

    def _forget(moment: RoundChange) -> None:
        run = moment.run
        departed = {each.individual.name for each in moment.departures}
        for individual, predicate, value in moment.delta.removed:
            if predicate == rdf.TYPE and value == class_name:
                key = key_of(individual)
                held = run.holding(rule, key)
                # An individual that waits and has left the window is still reported.
                if held is not None and (held.due is None or individual not in departed):
                    run.hold(rule, key, None)

    return trigger


@frozen
class CompiledRule:
    """A semantic rule, ready to run; conditions stand in the order of evaluation.

    ``waits_for`` is the class whose members must arrive or leave before the trigger has a solution.
    ``every`` are the moments of evaluation; a ``punctual`` rule is evaluated before a message that
    comes later than a moment. ``queries`` are the SPARQL queries of its conditions, ``lineage``
    their patterns.
    """

    name: str
    position: Position
    trigger: Trigger
    waits_for: tuple[Wake, IRI] | None
    every: Schedule | None
    conditions: tuple[Condition, ...]
    queries: tuple[ConditionQuery, ...]
    actions: tuple[Action, ...]
    lineage: Lineage
    waits: str = ""
    """The text of a trigger that remembers something, else ""."""
    edge: Edge | None = None
    """The conditions of a ``when``."""
    punctual: bool = False
    question: HistoryQuery | None = None
    """The question to the history."""


def compile_rules(
    files: Iterable[syntax.RuleFile], schema: Schema, timeline: Timeline
) -> tuple[CompiledRule, ...]:
    """Compile the semantic rules of files, in order; raises LanguageError at the first fault."""
    rules = []
    for file in files:
        if file.semantic_rules:
            for fault in unknown_names(file, schema):
                raise fault
        rules += [compile_rule(rule, file, schema, timeline) for rule in file.semantic_rules]
    return tuple(rules)


def rule_faults(
    files: Iterable[syntax.RuleFile], schema: Schema, timeline: Timeline
) -> Iterator[LanguageError]:
    """The first fault of each semantic rule, except names that the ontology does not declare."""
    for file in files:
        for rule in file.semantic_rules:
            try:
                compile_rule(rule, file, schema, timeline)
            except LanguageError as error:
                yield error


def digest_of(rule: syntax.SemanticRule, file: syntax.RuleFile) -> str:
    """A digest of the whole rule: rules of the same digest do the same."""
    return text_digest(file, print_node(rule))


def compile_rule(
    rule: syntax.SemanticRule, file: syntax.RuleFile, schema: Schema, timeline: Timeline
) -> CompiledRule:
    """Compile a rule of a file.

    Raises LanguageError for invalid SPARQL, a variable without a value, an invalid length of time,
    a value that is not of its datatype, or a reply that is not well-formed XML.
    """
    bound = bound_by(rule.trigger)
    # Conditions have no effects, so the cheap ones are evaluated first: often one of them fails.
    cheap: list[Condition] = []
    costly: list[Condition] = []
    queries: list[ConditionQuery] = []
    matched: list[PatternBlock] = list(trigger_blocks(rule, file))
    edge: Edge | None = None
    waiting: Collection[str] = ()
    question: HistoryQuery | None = None
    silent = ""
    if isinstance(rule.trigger, syntax.When):
        trigger, edge = compile_edge(rule, rule.trigger, file, timeline)
        waiting = edge.begins.returned
        bound |= waiting
        matched += edge.begins.blocks
        queries += [each.query for each in (edge.begins, edge.ends) if each and each.query]
    elif isinstance(rule.trigger, syntax.OnSilence):
        silent = rule.trigger.variable.name
        waiting = (silent,)
        trigger = compile_silence(rule, rule.trigger, file, timeline)
    elif isinstance(rule.trigger, syntax.Every) and rule.trigger.question is not None:
        question = read_history_query(rule.trigger.question, file)
        bound |= question.returned
        trigger = compile_question(rule, rule.trigger, file, timeline)
    else:
        trigger = compile_trigger(rule.trigger, rule.name, file, timeline)
    for condition in rule.conditions:
        compiled = compile_condition(condition, file, bound)
        bound |= compiled.returned
        matched += compiled.blocks
        (cheap if compiled.query is None else costly).append(compiled.test)
        if compiled.query is not None:
            queries.append(compiled.query)
    compiler = ActionCompiler(rule, file, bound, schema, timeline)
    return CompiledRule(
        rule.name,
        rule.position,
        trigger,
        waits_for(rule, file),
        schedule_of(rule.trigger, timeline) if isinstance(rule.trigger, syntax.Every) else None,
        (*cheap, *costly),
        tuple(queries),
        tuple(compiler.compile(action) for action in rule.actions),
        Lineage(
            rule.name,
            digest_of(rule, file),
            tuple(matched),
            frozenset(waiting) - {NOW},
            silent,
        ),
        print_node(rule.trigger) if question or edge or silent else "",
        edge,
        punctual=is_punctual(rule.trigger),
        question=question,
    )
