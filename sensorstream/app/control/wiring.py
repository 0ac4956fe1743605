"""Reads, compiles and connects the parts of an engine that the settings describe."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sensorstream.app.control.engine_settings import (
    ahead_of,
    disorder_spec,
    filters_of,
    kept_for,
    read_schemas,
    shedding_of,
    window_partition,
    window_spec,
)
from sensorstream.app.control.file_faults import question_faults
from sensorstream.app.control.file_texts import FileContents, FileTexts, read_file
from sensorstream.app.control.live_shapes import DeployedShapes, deployed_shapes
from sensorstream.app.control.mapping_files import (
    MappingFiles,
    is_rule_file,
    read_reference,
    read_tables,
)
from sensorstream.app.control.rule_files import (
    compiled_rule_sets,
    mapping_paths,
    parse_texts,
    read_rule_set_texts,
    read_texts,
    table_names,
    table_paths,
)
from sensorstream.clock import thread_seconds
from sensorstream.engine.engine import Engine
from sensorstream.engine.engine_queries import QueryTerms
from sensorstream.engine.engine_state import Parts
from sensorstream.engine.message_filters import EntryFilter
from sensorstream.engine.message_reading import Mapper, Spacing
from sensorstream.engine.reorder import Disorder
from sensorstream.engine.shedding import Shedding
from sensorstream.errors import SettingsError, TermError
from sensorstream.journal.records import OntologyVersion, message_id
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.language.rule_parser import parse
from sensorstream.language.syntax import RuleFile
from sensorstream.language.wellformed import same_names
from sensorstream.mapping.functions.function_definition import Definition
from sensorstream.mapping.mapping_compiler import compile_mapping
from sensorstream.mapping.mapping_plan import MappingPlan
from sensorstream.mapping.reference_data import ReferenceData
from sensorstream.model.frozen import field, frozen, replace
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.waits import SilentSource
from sensorstream.network.budget import Limits
from sensorstream.reasoning.dl.reasoner_process import Worker
from sensorstream.reasoning.ontology import Ontology, deployed_ontology
from sensorstream.reasoning.profiles import DESCRIPTION_LOGIC, check_profile, make_reasoner
from sensorstream.reasoning.reasoner import Reasoner, SchemaClosure
from sensorstream.reasoning.rulesets.rule_set import RuleSet
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.rules.rule_compiler import CompiledRule, compile_rules
from sensorstream.rules.rule_notes import check_classes_named
from sensorstream.settings.settings import LimitSettings, Settings
from sensorstream.shapes.shape_graph import ShapeGraph
from sensorstream.window.window import make_window
from sensorstream.window.window_partition import SOURCE, partition_of
from sensorstream.window.window_spec import WindowPartitioning, WindowSpec

if TYPE_CHECKING:
    from sensorstream.history.effects_writer import PipelineRunner


@frozen
class Stage:
    """Engines on Spark that take the events of others, with rules and queries of their own.

    ``sources`` are the queries whose events they take, each by its stage ("": the first engines)
    and its name. ``key`` is the property whose value chooses the engine; None: there is one engine.
    ``queries`` are texts by name.
    """

    name: str
    sources: frozenset[tuple[str, str]]
    key: IRI | None
    deployment: Deployment
    queries: Mapping[str, str]

    def registration(self, query: str) -> str:
        """The id of a query's registrations in all engines, by its text: above all real entries."""
        told = f"{self.name} {query} {self.queries[query]}"
        return message_id(1 << 62 | int.from_bytes(sha256(told.encode()).digest()[:7]))


@frozen
class Deployment:
    """The files that the settings name, read and compiled; nothing has been started.

    ``texts`` are those of the rule files, by name, rule sets of the reasoner included; ``rule_set``
    are the rules of these, None for a profile that has none. ``put`` is the journal's id of the
    change that put them in force, empty for the files of the settings. ``tables`` are the texts of
    the files that these name (tables, and what RML joins messages with), by paths; see
    :func:`.table_names`. ``contents`` are those of the files of functions and schemas. ``workers``
    are those of :func:`.make_reasoner`, where the engines of many keys are in one thread. All
    engines begin with ``knowledge``, which nobody changes, and share it.
    """

    settings: Settings
    ontology: Ontology
    knowledge: KnowledgeBase
    reference: ReferenceData
    mapping: MappingPlan
    rules: tuple[CompiledRule, ...]
    window: WindowSpec
    partition: WindowPartitioning | None
    disorder: Disorder | None
    ahead: int | None
    filters: tuple[EntryFilter, ...]
    shedding: Shedding | None
    texts: Mapping[str, str]
    put: str = ""
    tables: Mapping[str, str] = field(default_factory=dict)
    rule_set: RuleSet | None = None
    shapes: DeployedShapes | None = None
    contents: FileContents = field(default_factory=FileContents)
    stages: tuple[Stage, ...] = ()
    workers: dict[bytes, Worker] | None = None

    @property
    def timeline(self) -> Timeline:
        return self.settings.time.timeline

    @property
    def substitutes(self) -> Substitutes:
        """Its texts and functions, so that it is read again with another part, not from disk."""
        return Substitutes(
            self.texts,
            self.put,
            self.tables,
            self.reference.functions,
            contents=self.contents,
            shapes=None if self.shapes is None else self.shapes.graph,
        )

    @property
    def names_only(self) -> bool:
        """Whether the members of classes are known for named classes only."""
        return self.settings.reasoning.profile in DESCRIPTION_LOGIC


@frozen
class Machine:
    """An engine, and the mapper of its messages."""

    engine: Engine
    mapper: Mapper


def runner_of(settings: Settings) -> PipelineRunner:
    """The runner that the settings ask for, as the history knows it.

    Raises:
        SettingsError: a setting of the window or of lateness is not valid.
    """
    # The driver takes long to import, and a deployment may be read without a database.
    from sensorstream.history.effects_writer import PipelineRunner

    partition = partition_of(settings.window.partition)
    by_source = partition is not None and partition.property is None
    window = window_spec(settings.window, settings.time.timeline)
    by_count = window.physical and disorder_spec(settings) is None and not settings.stages
    if settings.pipeline.runner == "spark":
        return PipelineRunner("spark", settings.pipeline.key, by_count)
    return PipelineRunner("engine", SOURCE if by_source else "", by_count)


def read_rules(files: Sequence[Path]) -> list[RuleFile]:
    """Parse the files that are in the rule language.

    Raises:
        LanguageError: a file is not in the rule language, or two rules share a name.
        SettingsError: a file cannot be read.
    """
    parsed = [
        parse(read_file(file, label="rules.files: "), str(file))
        for file in filter(is_rule_file, files)
    ]
    for clash in same_names(parsed):
        raise clash
    return parsed


def with_state_rules(files: Sequence[RuleFile], rule_set: RuleSet | None) -> list[RuleFile]:
    """Files of rules, and the rules of a rule set that delete, which act after the others.

    Raises:
        LanguageError: two rules share a name.
    """
    found = [*files, *(rule_set.state_rules if rule_set is not None else ())]
    for clash in same_names(found):
        raise clash
    return found


@frozen
class Substitutes:
    """Texts and functions that count instead of those of the settings' files; None: these do.

    ``texts`` are those of the rule files, as the ``change`` has put them in force, ``tables`` those
    of the files that they name, ``functions`` those of the Python files, which are not run. With
    ``rules`` no rule file is read. ``contents`` are those of files of functions and schemas,
    ``shapes`` the graph of all files of shapes.
    """

    texts: Mapping[str, str] | None = None
    change: str = ""
    tables: Mapping[str, str] | None = None
    functions: Mapping[str, Definition] | None = None
    rules: Sequence[RuleFile] | None = None
    contents: FileContents | None = None
    shapes: ShapeGraph | None = None


NOTHING: Final = Substitutes()


def read_deployment(
    settings: Settings, ontology: Ontology | None = None, put: Substitutes = NOTHING
) -> Deployment:
    """Read and compile all files that the settings name; ``ontology`` counts instead of theirs.

    Raises:
        SettingsError: a setting is not valid.
        OntologyError: an ontology cannot be loaded.
        LanguageError: a rule cannot be read or compiled.
    """
    timeline = settings.time.timeline
    window = window_spec(settings.window, timeline)
    kept_for(settings)
    check_profile(settings.reasoning.profile)
    if ontology is None:
        ontology = deployed_ontology(settings.ontology)
    if put.rules is not None:
        texts: Mapping[str, str] = read_rule_set_texts(settings)
        files = put.rules
    else:
        texts = read_texts(settings) if put.texts is None else put.texts
        files = parse_texts(settings, texts)
    tables = put.tables
    found = read_tables(files) if tables is None else table_paths(settings, tables)
    rule_set = compiled_rule_sets(settings, texts)
    paths = mapping_paths(settings, texts)
    named = FileTexts({**found, **paths}, replayed=tables is not None)
    contents = FileContents() if put.contents is None else put.contents
    own = settings.functions.files if put.functions is None else put.functions
    reference = read_reference(files, ontology.triples, own, found, contents)
    schemas = read_schemas(settings, settings.limits.mapping_seconds, contents)
    others = MappingFiles(
        tuple(paths),
        ontology.schema,
        timeline,
        settings.rules.base,
        reference.library_of(""),
        named,
        settings.limits.transform_seconds,
    )
    plan = compile_mapping(files, ontology.schema, timeline, reference, schemas)
    semantic = compile_rules(with_state_rules(files, rule_set), ontology.schema, timeline)
    for fault in question_faults(semantic, settings):
        raise fault
    if settings.reasoning.profile in DESCRIPTION_LOGIC:
        check_classes_named(files)
    stages: tuple[Stage, ...] = ()
    if settings.stages:
        # It reads the deployment of each.
        from sensorstream.app.control.pipeline_stages import read_stages

        stages = read_stages(settings, ontology, reference.functions, files)
    return Deployment(
        settings=settings,
        ontology=ontology,
        knowledge=_knowledge(settings, ontology),
        reference=reference,
        mapping=others.added_to(plan, files),
        rules=semantic,
        window=window,
        partition=window_partition(settings.window, ontology.schema),
        disorder=disorder_spec(settings),
        ahead=ahead_of(settings),
        filters=filters_of(settings, ontology.schema),
        shedding=shedding_of(settings, ontology.schema),
        texts=texts,
        put=put.change,
        tables=table_names(settings, {**found, **named.read}),
        rule_set=rule_set,
        shapes=deployed_shapes(settings, ontology.triples, put.shapes),
        contents=contents,
        stages=stages,
    )


def _knowledge(settings: Settings, ontology: Ontology) -> KnowledgeBase:
    found = KnowledgeBase()
    found.add(Origin.STATIC, ontology.triples)
    if settings.reasoning.profile == "plain":
        SchemaClosure(ontology.schema).start(found)
    return found


def shipped(deployment: Deployment) -> bytes:
    """A deployment for a machine with this package, but without its files; see :func:`unpacked`."""
    stages = [
        (each.name, each.sources, each.key, _packed(each.deployment), each.queries)
        for each in deployment.stages
    ]
    told = (deployment.ontology, _packed(deployment), stages)
    return zlib.compress(pickle.dumps(told), 1)


def _packed(deployment: Deployment) -> tuple[Settings, Substitutes]:
    settings = deployment.settings
    schema = settings.messages.schema
    # Links to files and folders are not there either, as those of a volume of Kubernetes.
    placed = replace(
        settings,
        stages=(),
        path=settings.folder.resolve() / settings.path.name,
        rules=replace(settings.rules, files=tuple(map(Path.resolve, settings.rules.files))),
        messages=replace(settings.messages, schema=schema and schema.resolve()),
        sources={
            name: replace(each, schema=each.schema and each.schema.resolve())
            for name, each in settings.sources.items()
        },
    )
    # Functions of Python are compiled there.
    return placed, replace(deployment.substitutes, functions=None)


def unpacked(content: bytes) -> Deployment:
    """The deployment that :func:`shipped` was given, compiled without its files.

    Raises:
        SensorStreamError: it cannot be compiled here.
    """
    ontology, (settings, put), stages = pickle.loads(zlib.decompress(content))
    found = read_deployment(settings, ontology, put)
    functions = found.reference.functions
    later = []
    for name, sources, key, (own, texts), queries in stages:
        there = read_deployment(own, ontology, replace(texts, functions=functions))
        later.append(Stage(name, sources, key, there, queries))
    return replace(found, stages=tuple(later))


def cross_check_period(settings: Settings) -> float | None:
    """Seconds between two cross-checks; None: there are none.

    Raises:
        SettingsError: not a duration, or a profile that cannot be cross-checked.
    """
    reasoning = settings.reasoning
    if not reasoning.cross_check:
        return None
    if reasoning.profile not in ("hermit", "pellet"):
        raise SettingsError(
            f"reasoning.cross_check: the profile '{reasoning.profile}' is not cross-checked: "
            "expected hermit or pellet"
        )
    try:
        return Timeline.DATETIME.duration(reasoning.cross_check) / 1_000_000
    except TermError as error:
        raise SettingsError(f"reasoning.cross_check: {error}") from None


def reasoner_of(deployment: Deployment) -> Reasoner:
    """A new reasoner of the deployment's profile; nothing is started."""
    reasoning = deployment.settings.reasoning
    return make_reasoner(
        reasoning.profile,
        deployment.ontology,
        java=reasoning.java,
        timeout=reasoning.timeout,
        heap=reasoning.heap,
        explain=reasoning.explain,
        rule_set=deployment.rule_set,
        limits=message_limits(deployment.settings.limits, thread_seconds),
        workers=deployment.workers,
    )


def version_of(deployment: Deployment, seq: int, valid_from: Instant | None) -> OntologyVersion:
    """The ontology of the settings' files, as it is recorded when an engine starts with it. It is
    in force for the journal's entries after ``seq``, from ``valid_from`` on.
    """
    content = deployment.ontology.ntriples()
    return OntologyVersion(seq, valid_from, content, "application/n-triples")


def message_limits(limits: LimitSettings, spent: Callable[[], float]) -> Limits:
    """The limits of a message in rules, by the settings."""
    return Limits(limits.message_rows, limits.message_seconds, spent, "limits.message")


def build_machine(
    deployment: Deployment,
    counter: Callable[[], float],
    reasoner: Reasoner | None = None,
    turn: Callable[[str], None] | None = None,
    *,
    spent: Callable[[], float] = thread_seconds,
    shared: bool = False,
    live: bool = False,
) -> Machine:
    """A new engine with an empty window, its reasoner started.

    ``reasoner`` is used instead of a new one of the deployment's profile: that of an engine that is
    not used any more, whose process goes on, or none for an engine that holds nothing. ``turn`` is
    that of :class:`.Engine`. ``spent`` tells the processor time of the thread that works, which the
    limits count. ``shared``: several clients use it, so the total of all continuous queries is
    limited, too. ``live``: messages come as they happen, and are refused if they are of the future.

    Raises:
        ReasonerError: the reasoner does not start.
    """
    settings = deployment.settings
    knowledge = KnowledgeBase(deployment.knowledge)
    limits, rows = message_limits(settings.limits, spent), settings.limits.query_rows
    seconds, together = settings.limits.query_seconds, settings.limits.query_seconds_together
    of_query = Limits(rows, seconds, spent, kept=rows, wall=counter)
    if reasoner is None:
        reasoner = reasoner_of(deployment)
    try:
        parts = Parts(
            knowledge=knowledge,
            window=make_window(deployment.window, deployment.partition),
            reasoner=reasoner,
            rules=deployment.rules,
            evaluator=ConditionEvaluator(knowledge, limits),
            max_rounds=settings.rules.max_rounds,
            timeline=deployment.timeline,
            counter=counter,
            turn=turn,
            disorder=deployment.disorder,
            filters=deployment.filters,
            shedding=deployment.shedding,
            queries=QueryTerms(
                limits=replace(of_query, together=together) if shared else of_query,
                anew=settings.limits.evaluate_anew,
            ),
            silence=SilentSource(settings.time.silence),
        )
        engine = Engine(parts)
    except BaseException:
        reasoner.close()
        raise
    mapper = Mapper(
        deployment.mapping,
        settings.server.max_depth,
        counter,
        settings.server.max_message_bytes,
        settings.limits.mapping_seconds,
        (Spacing() if deployment.ahead is None else deployment.ahead) if live else None,
        None if deployment.shapes is None else deployment.shapes.door,
    )
    return Machine(engine, mapper)
