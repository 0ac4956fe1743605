"""Whether the questions of rules to the history can be answered by a deployment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from sensorstream.errors import LanguageError, QueryError, TermError
from sensorstream.language.syntax import Every, RuleFile
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.rules.history import HistoryQuery
from sensorstream.rules.rule_compiler import CompiledRule, compile_rule
from sensorstream.rules.triggers import LAST, NOW
from sensorstream.settings import Settings
from sensorstream.sparql.algebra import Variable

_MOMENT: Final[Instant] = 1_000_000


def question_faults(rules: Iterable[CompiledRule], settings: Settings) -> Iterator[LanguageError]:
    """Why the history cannot be asked by some rules: a fault for each.

    The text is compiled as it will be; nobody is asked, so how long it takes is not known.
    """
    for rule in rules:
        if rule.question is None:
            continue
        place = rule.question.parsed.start
        if settings.pipeline.runner == "spark":
            yield LanguageError(
                f"rule {rule.name} asks the history, and the engines run on Spark, one for each "
                "key: leave the rule out and let a timer ask /sparql, or run the engine in the "
                "server (pipeline.runner)",
                position=place,
            )
            continue
        try:
            _check_sql(rule.question, settings.time.timeline)
        except QueryError as error:
            yield LanguageError(error.message, position=error.position or place)


def question_faults_of(
    files: Iterable[RuleFile], schema: Schema, settings: Settings
) -> Iterator[LanguageError]:
    """The same for the rules of some files; other faults of them are told elsewhere."""
    for file in files:
        for rule in file.semantic_rules:
            if not isinstance(rule.trigger, Every) or rule.trigger.question is None:
                continue
            try:
                compiled = compile_rule(rule, file, schema, settings.time.timeline)
            except LanguageError:
                continue
            yield from question_faults((compiled,), settings)


def check_without_history(rules: Iterable[CompiledRule]) -> None:
    """Check that no rule asks the history, where there is none.

    Raises:
        LanguageError: one does, with the place of its question.
    """
    for rule in rules:
        if rule.question is not None:
            raise LanguageError(
                f"rule {rule.name} asks the history, and there is none here: leave the rule out, "
                "or try it on a server ('sensorstream serve')",
                position=rule.question.parsed.start,
            )


def _check_sql(question: HistoryQuery, line: Timeline) -> None:
    # What builds SQL takes long to import, and few rules ask the history.
    from sensorstream.history.asking.question import question_before
    from sensorstream.history.asking.relations import scope_of
    from sensorstream.sql.sparql.forms import compile_query

    parsed = question.at(((LAST, line.literal(0)), (NOW, line.literal(_MOMENT))))
    time = question.parsed.meaning.valid_time
    ends = () if time is None else (time.start, time.end)
    if any(isinstance(each, Variable) for each in ends):
        # Whether it is an interval depends on the moment.
        for each in ends:
            if isinstance(each, str):
                _check_time(each, line)
        parsed = replace(parsed, meaning=replace(parsed.meaning, valid_time=None))
    asked = question_before(parsed, line, _MOMENT)
    compile_query(asked.query, scope_of(asked.time, {}, live=True))


def _check_time(text: str, line: Timeline) -> None:
    try:
        line.instant(text)
    except TermError as error:
        raise QueryError(error.message) from None
