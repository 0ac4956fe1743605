"""Reads the stages of a pipeline on Spark: the rules and queries of each, and its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sensorstream.app.control.deployment_folder import check_query_files, query_files, texts_of
from sensorstream.app.control.wiring import (
    Deployment,
    Stage,
    Substitutes,
    build_machine,
    read_deployment,
    read_rules,
)
from sensorstream.clock import thread_seconds
from sensorstream.engine.engine import Engine
from sensorstream.errors import LanguageError, QueryError, SettingsError
from sensorstream.language.syntax import RuleFile
from sensorstream.mapping.functions.function_definition import Definition
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI
from sensorstream.reasoning.ontology import Ontology
from sensorstream.reasoning.reasoner import NoReasoner
from sensorstream.settings.settings import PipelineStage, Settings
from sensorstream.sparql.algebra import Construct, Relation
from sensorstream.sparql.dotr.dotr_reader import is_rules
from sensorstream.sparql.query_parser import parse_query


def read_stages(
    settings: Settings,
    ontology: Ontology,
    functions: Mapping[str, Definition],
    files: Sequence[RuleFile],
) -> tuple[Stage, ...]:
    """The stages that the settings name, in their order; each with the ontology of all. ``files``
    are the rules in force, whose prefixes a key may use.

    Raises:
        SettingsError: a setting of a stage is not valid, with the place of the stage.
        LanguageError: a rule or a query cannot be read or compiled.
    """
    found: list[Stage] = []
    queries: dict[str, Mapping[str, str]] = {"": texts_of(query_files(settings.folder))}
    for given in settings.stages:
        try:
            stage = _stage(settings, given, ontology, functions, queries, files)
        except (SettingsError, QueryError) as error:
            told = f"pipeline.stages.{given.head.name}: {error.message}"
            raise SettingsError(told, position=error.position or given.place) from None
        queries[stage.name] = stage.queries
        found.append(stage)
    return tuple(found)


def _stage(
    settings: Settings,
    given: PipelineStage,
    ontology: Ontology,
    functions: Mapping[str, Definition],
    queries: Mapping[str, Mapping[str, str]],
    files: Sequence[RuleFile],
) -> Stage:
    """A stage; ``queries`` are the texts of those before, by stage and name."""
    head = given.head
    if settings.pipeline.runner != "spark":
        raise SettingsError(
            "stages are for pipeline.runner = 'spark'. One engine sees all keys: name the rules of "
            "the stages in rules.files, and move their queries into the folder 'queries'"
        )
    if not head.rules and not head.queries:
        raise SettingsError("it does nothing: expected rules, queries or both")
    own = replace(settings, stages=(), rules=replace(settings.rules, files=head.rules))
    deployment = read_deployment(own, ontology, Substitutes(functions=functions))
    for mapping in deployment.mapping.rules:
        raise SettingsError(
            f"rules: '{mapping.name}' is a mapping rule, and a stage takes events, no messages: "
            "name its file in rules.files"
        )
    line, by_names = settings.time.line, deployment.names_only
    for fault in check_query_files(head.queries, ontology.schema, line, names_only=by_names).faults:
        raise LanguageError(fault.message, position=fault.position)
    texts = texts_of(head.queries)
    sources = frozenset(_source(name, queries) for name in head.from_)
    every = [*files, *read_rules(head.rules)]
    key = _property(head.key, every, ontology.schema) if head.key else None
    stage = Stage(head.name, sources, key, deployment, texts)
    engine_of(stage).close()
    return stage


def engine_of(stage: Stage) -> Engine:
    """Make an engine as those of a stage, without a reasoner, for what its queries are like.

    Raises:
        SettingsError: a query cannot run.
    """
    engine = build_machine(stage.deployment, thread_seconds, NoReasoner()).engine
    for name, text in stage.queries.items():
        try:
            engine.queries.check(name, text)
            engine.register(name, text, stage.registration(name))
        except QueryError as error:
            engine.close()
            raise SettingsError(f"queries: '{name}': {error}") from None
    return engine


def _source(name: str, queries: Mapping[str, Mapping[str, str]]) -> tuple[str, str]:
    """The stage and the name of a query before, the nearest of this name, that makes events."""
    for stage, texts in reversed(list(queries.items())):
        if name in texts:
            if not _makes_events(texts[name]):
                raise SettingsError(
                    f"from: '{name}' makes no events: expected CONSTRUCT (without DSTREAM), or "
                    "rules over time"
                )
            return stage, name
    known = ", ".join(f"'{each}'" for texts in queries.values() for each in texts) or "none"
    raise SettingsError(
        f"from: no query '{name}' in the folder 'queries' or in a stage before; there are: {known}"
    )


def _makes_events(text: str) -> bool:
    if is_rules(text):
        return True
    query = parse_query(text)
    relation = None if query.registration is None else query.registration.relation
    return isinstance(query.form, Construct) and relation is not Relation.DSTREAM


def _property(text: str, files: Sequence[RuleFile], schema: Schema) -> IRI:
    """The property with a name: an IRI, or a name with a prefix of a rule file."""
    prefixes = {each.name: each.iri for file in files for each in file.prefixes}
    prefix, colon, local = text.partition(":")
    name = IRI(prefixes[prefix] + local) if colon and prefix in prefixes else IRI(text)
    if name not in schema.object_properties | schema.datatype_properties:
        raise SettingsError(
            f"key: the ontology declares no property <{name}>: expected its IRI, or a name with a "
            "prefix of the rule files"
        )
    return name


def stage_of(deployment: Deployment, key: str) -> Stage | None:
    """The stage of an engine's key; None: it is one of the first engines. An engine of a stage that
    the settings do not name any more keeps what it holds until that leaves it.
    """
    name, of_stage, _ = key.partition("=")
    if not name or not of_stage:
        return None
    known = {each.name: each for each in deployment.stages}
    gone = Stage("", frozenset(), None, replace(deployment, rules=()), {})
    return known.get(name, gone)
