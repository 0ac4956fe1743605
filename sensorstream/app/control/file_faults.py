"""The faults of a deployment's files, for ``check``, editors, and rules that are to be put."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from sensorstream.analysis import Note
from sensorstream.app.control.engine_settings import read_schemas
from sensorstream.app.control.file_texts import NOTHING_UNSAVED, FileTexts, read_file
from sensorstream.app.control.live_shapes import deployed_shapes
from sensorstream.app.control.mapping_files import MappingFiles, is_rule_file, read_reference
from sensorstream.app.control.rule_files import misplaced, rule_set_faults, state_rules_of
from sensorstream.errors import (
    LanguageError,
    OntologyError,
    Position,
    QueryError,
    SensorStreamError,
    SettingsError,
    TermError,
)
from sensorstream.language.rule_parser import parse_with_recovery
from sensorstream.language.syntax import Every, IndividualAction, RuleFile, WrittenName
from sensorstream.language.wellformed import same_names
from sensorstream.mapping.functions.function_definition import Definition
from sensorstream.mapping.mapping_check import check as mapping_faults
from sensorstream.mapping.mapping_notes import mapping_notes
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.reasoning.ontology import Ontology, deployed_ontology
from sensorstream.reasoning.profiles import DESCRIPTION_LOGIC, says_axiom, told_to
from sensorstream.rules.history_rules import HistoryQuery
from sensorstream.rules.rule_compiler import CompiledRule, compile_rule, rule_faults
from sensorstream.rules.rule_notes import evaluated_anew, rule_notes, unnamed_class_faults
from sensorstream.rules.triggers import LAST, NOW
from sensorstream.settings.settings import OntologySettings, Settings
from sensorstream.sparql.algebra import Variable
from sensorstream.sparql.walk import nodes

_MOMENT: Final[Instant] = 1_000_000


def question_faults(rules: Iterable[CompiledRule], settings: Settings) -> Iterator[LanguageError]:
    """The reasons why rules cannot ask the history: a fault for each rule. The text is compiled,
    but the history is not asked: the duration stays unknown.
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
    """The :func:`question_faults` of the rules in some files; their other faults are left out."""
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
        LanguageError: a rule does, with the place of its question.
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
    from sensorstream.history.asking.checked_question import question_before
    from sensorstream.history.asking.history_relations import scope_of
    from sensorstream.history.asking.split_question import sql_question
    from sensorstream.sql.sparql.query_forms import compile_query

    parsed = question.at(((LAST, line.literal(0)), (NOW, line.literal(_MOMENT))))
    time = question.parsed.meaning.valid_time
    ends = () if time is None else (time.start, time.end)
    if any(isinstance(each, Variable) for each in ends):
        # Whether it is an interval depends on the moment.
        for each in ends:
            if isinstance(each, str):
                try:
                    line.instant(each)
                except TermError as error:
                    raise QueryError(error.message) from None
        parsed = replace(parsed, meaning=replace(parsed.meaning, valid_time=None))
    asked = sql_question(question_before(parsed, line, _MOMENT))
    compile_query(asked.query, scope_of(asked.time, {}, live=True))


_PROFILES: Final = frozenset({"plain", "hermit", "pellet"})


def axiom_notes(files: Iterable[RuleFile], profile: str) -> Iterator[Note]:
    """A note for each name of an axiom that a rule states of its individuals."""
    if profile not in _PROFILES:
        return
    for file in files:
        for rule in file.rules:
            for name in _said(rule):
                if name.is_constant and says_axiom(word := file.resolve(name)):
                    yield Note(
                        "axiom-unread",
                        f"rule {rule.name}: nothing follows from {word.n3} in a message: the "
                        f"profile {profile} reads axioms from the ontology alone: put it into the "
                        "ontology, or choose a profile with rule sets that read it",
                        name.position,
                    )


def _said(rule: object) -> Iterator[WrittenName]:
    for action in nodes(rule, IndividualAction):
        yield from action.classes
        yield from (each.property for each in action.properties)


def deployment_notes(
    settings: Settings,
    files: Sequence[RuleFile],
    ontology: Ontology,
    rules: Sequence[CompiledRule],
    own: Container[str] = (),
) -> Iterator[Note]:
    """The notes on files that are not at fault; ``rules`` are the semantic rules of ``files``.
    ``own`` are the names of the user's own functions.
    """
    for remark in ontology.remarks:
        yield Note(remark.code, remark.text, Position(str(remark.file), 1, 1))
    yield from mapping_notes(files, own)
    yield from axiom_notes(files, settings.reasoning.profile)
    yield from rule_notes(
        files,
        ontology.schema,
        ontology.triples,
        settings.time.timeline,
        others_make=not all(map(is_rule_file, settings.rules.files)),
    )
    for rule, told in evaluated_anew(rules):
        yield Note("evaluated-anew", f"rule {rule.name}: {told}", rule.position)


def faults(
    settings: Settings,
    unsaved: Mapping[Path, str] = NOTHING_UNSAVED,
    read_ontology: Callable[[OntologySettings], Ontology] | None = None,
    functions: Mapping[str, Definition] | None = None,
    rule_sets: Mapping[str, str] | None = None,
) -> Iterator[SensorStreamError]:
    """The faults of the files that the settings name, except those that another fault hides.

    ``unsaved`` are the texts of rule files and rule sets that count instead of those on disk;
    ``read_ontology`` is by default :func:`.deployed_ontology`. ``functions`` count instead of those
    of the Python files, ``rule_sets``, texts by name, instead of those of the profile.
    """

    found_misplaced = list(misplaced(settings))
    if found_misplaced:
        yield from found_misplaced
        return
    yield from rule_set_faults(settings, unsaved, rule_sets)
    files: list[RuleFile] = []
    for path in filter(is_rule_file, settings.rules.files):
        try:
            text = read_file(path, unsaved, "rules.files: ")
        except SettingsError as error:
            yield error
            continue
        tree, found = parse_with_recovery(text, str(path))
        yield from found
        if tree is not None:
            files.append(tree)
    try:
        ontology = (read_ontology or deployed_ontology)(settings.ontology)
    except SensorStreamError as error:
        yield error
        return
    for read in (read_schemas, partial(deployed_shapes, ontology=ontology.triples)):
        try:
            read(settings)
        except SensorStreamError as error:
            yield error
    schema = ontology.schema
    own = settings.functions.files if functions is None else functions
    unread: list[SensorStreamError] = []
    reference = read_reference(files, ontology.triples, own, faults=unread)
    yield from unread
    yield from mapping_faults(files, schema, reference)
    state_rules = state_rules_of(settings, unsaved, rule_sets)
    sets = {file.file for file in state_rules}
    for clash in same_names([*files, *state_rules]):
        if clash.position is not None and clash.position.file in sets:
            yield clash
    yield from rule_faults([*files, *state_rules], schema, settings.time.timeline)
    yield from question_faults_of(files, schema, settings)
    if settings.reasoning.profile in DESCRIPTION_LOGIC:
        yield from unnamed_class_faults(files)
        try:
            told_to(settings.reasoning.profile, ontology)
        except OntologyError as error:
            yield error
    others = MappingFiles(
        settings.rules.files,
        schema,
        settings.time.timeline,
        settings.rules.base,
        reference.library_of(""),
        FileTexts(unsaved),
    )
    yield from others.faults(files)
