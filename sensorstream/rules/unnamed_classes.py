"""Semantic rules that describe a class where the reasoner knows classes by their names alone.

What such a query asks for never has a member: the rule would never fire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from sensorstream.errors import LanguageError
from sensorstream.language import syntax
from sensorstream.rules.history import read_history_query
from sensorstream.rules.notes import given_by, updates_of
from sensorstream.rules.reading import in_rule_file, parsed_condition
from sensorstream.rules.triggers import conditions_of
from sensorstream.sparql.algebra import Ask, Modify, Query
from sensorstream.sparql.described import check_named
from sensorstream.sparql.places import Places


def unnamed_class_faults(files: Iterable[syntax.RuleFile]) -> Iterator[LanguageError]:
    """The first description of a class in each semantic rule, with its place.

    Rules with other faults are left out.
    """
    for file in files:
        for rule in file.semantic_rules:
            try:
                queries = list(_queries(rule, file))
            except LanguageError:
                continue
            try:
                for query in queries:
                    in_rule_file(partial(check_named, query))
            except LanguageError as error:
                yield error


def check_classes_named(files: Iterable[syntax.RuleFile]) -> None:
    """Refuse semantic rules that describe a class.

    Raises:
        LanguageError: the first one, with its place and the definition to write.
    """
    for fault in unnamed_class_faults(files):
        raise fault


def _queries(rule: syntax.SemanticRule, file: syntax.RuleFile) -> Iterator[Query]:
    """What a rule asks: conditions, the history, its end, and the WHERE parts of its updates."""
    if isinstance(rule.trigger, syntax.Every) and rule.trigger.question is not None:
        yield read_history_query(rule.trigger.question, file).parsed.meaning
    ends = rule.trigger.until if isinstance(rule.trigger, syntax.When) else None
    for condition in (*conditions_of(rule), *([] if ends is None else [ends])):
        if isinstance(condition, syntax.Select | syntax.Ask):
            yield parsed_condition(condition.query, file).meaning
    for update in updates_of(rule, file, given_by(rule, file)):
        places = Places(update.start, update.places, update.operations)
        for operation in update.meaning.operations:
            if isinstance(operation, Modify):
                yield Query(Ask(operation.pattern), places=places)
