"""``sensorstream run``: recorded events or messages through an engine, without a server."""

from __future__ import annotations

import resource
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from sensorstream.cli.options import FILE, as_one, config_option, is_given
from sensorstream.cli.printers import EventPrinter, MessagePrinter, prefixes_of
from sensorstream.cli.terminal import lasting, print_json
from sensorstream.errors import SettingsError, UnsupportedQuery
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.rdf_formats import RDF_ENDINGS

if TYPE_CHECKING:
    from sensorstream.app.why.engine_trial import TrialTrace
    from sensorstream.engine.engine import Engine
    from sensorstream.engine.message_reading import Arrived, Mapper, UnmappedMessage
    from sensorstream.engine.outcome import Outcome
    from sensorstream.model.timeline import Timeline
    from sensorstream.sparql.algebra import Query
    from sensorstream.sparql.query_parser import Parsed
    from sensorstream.streams.background_graphs import Background
    from sensorstream.streams.continuous_query import ContinuousQuery

OVER_TIME: Final = ".dotr"
_DATALOG: Final = ".dlog"
_RUN: Final = 256
"""Events whose reports may come together."""


@frozen
class EngineOptions:
    """The options that make an engine: ``--rules --static --window --profile --lateness``."""

    rules: tuple[Path, ...]
    static: tuple[Path, ...]
    window: str
    profile: str
    lateness: str


engine_options: Final = as_one(
    "made_of",
    EngineOptions,
    click.option(
        "--rules",
        type=FILE,
        multiple=True,
        metavar="FILE",
        help="Semantic rules, which react to what enters the window, or DOTR's: rules over time "
        "(*.dotr) and Datalog (*.dlog); may be given several times.",
    ),
    click.option(
        "--static",
        type=FILE,
        multiple=True,
        metavar="FILE",
        help=f"The static graph of the knowledge base: {RDF_ENDINGS}.",
    ),
    click.option(
        "--window",
        default="none",
        show_default=True,
        metavar="WINDOW",
        help="What the knowledge base keeps of the events, for rules and for patterns outside "
        "WINDOW: 'landmark' (all), 'sliding 1000 individuals', 'sliding PT1M' or 'none'.",
    ),
    click.option(
        "--profile",
        "--ruleset",
        "profile",
        default="plain",
        show_default=True,
        metavar="PROFILE",
        help="What is inferred in the knowledge base: none, plain, hermit, pellet, or rule sets "
        "with commas between them: rdfs, owl2rl, …, or files (*.ru, *.dlog).",
    ),
    click.option(
        "--lateness",
        default="0",
        show_default=True,
        metavar="D",
        help="How late events may be: seconds, or a duration such as PT5S.",
    ),
)
"""The options of an engine."""


def offline_engine(
    queries: Sequence[Path],
    made_of: EngineOptions,
    background: Background,
    line: str = "datetime",
) -> tuple[Engine, list[ContinuousQuery]]:
    """An engine with the queries of some files, in their order.

    Raises:
        click.BadParameter: the lateness cannot be read.
        SensorStreamError: a file cannot be read, or is not valid.
    """
    from sensorstream.app.control.deployment_folder import check_query_files
    from sensorstream.app.control.file_texts import is_over_time
    from sensorstream.app.recorded_engine import build_engine, read_lateness, read_line
    from sensorstream.model.schema import Schema

    rules, lateness = made_of.rules, made_of.lateness
    try:
        read_lateness(lateness, read_line(line))
    except SettingsError as error:
        raise click.BadParameter(error.message, param_hint="--lateness") from None
    over_time = [each for each in (*queries, *rules) if is_over_time(each)]
    of_rules = rules_over_time([*(each for each in queries if each.suffix == OVER_TIME), *rules])
    named = read_queries((each for each in queries if each.suffix != OVER_TIME), background)
    for _, _, file, query in named:
        background.chosen(query.dataset, file)
    engine = build_engine(
        static=background,
        rules=semantic_rules(rules),
        window=made_of.window,
        profile=made_of.profile,
        lateness=lateness,
        line=line,
    )
    try:
        try:
            running = [engine.register(name, text) for name, text in of_rules]
        except UnsupportedQuery as error:
            # Its place is in a text made of several files; the reader wants the place in a file.
            faults = check_query_files(over_time, Schema(), line).faults
            raise next(iter(faults), error) from None
        return engine, [*running, *register_queries(engine, named)]
    except BaseException:
        engine.close()
        raise


def register_queries(
    engine: Engine, named: Iterable[tuple[str, str, Path, Query]]
) -> list[ContinuousQuery]:
    """Start queries of :func:`read_queries`; raises QueryError with the place if one cannot run."""
    from sensorstream.app.control.file_texts import placed
    from sensorstream.errors import Position

    running: list[ContinuousQuery] = []
    for name, text, file, _ in named:
        with placed(Position(str(file), 1, 1)):
            running.append(engine.register(name, text))
    return running


def semantic_rules(rules: Sequence[Path]) -> list[Path]:
    """The files of rules that react to what enters the window."""
    return [each for each in rules if each.suffix not in (OVER_TIME, _DATALOG)]


def rules_over_time(rules: Sequence[Path]) -> list[tuple[str, str]]:
    """The names and texts of DOTR's rules; each knows the Datalog rules of all files.

    Raises:
        QueryError: a text is not valid.
        SettingsError: a file cannot be read.
    """
    from sensorstream.app.control.deployment_folder import completed_rules

    return [(file.stem, text) for file, text in completed_rules(rules, complete=True).items()]


def read_queries(
    files: Iterable[Path], background: Background
) -> list[tuple[str, str, Path, Query]]:
    """The name, the text, the file and the meaning of each query; notes on them go to stderr.

    Raises:
        QueryError: a text is not a valid query.
    """
    from sensorstream.analysis import QueryContext, query_notes
    from sensorstream.app.control.file_texts import based
    from sensorstream.errors import Position
    from sensorstream.model.schema import Schema
    from sensorstream.sparql.query_parser import read_query

    found: list[tuple[str, str, Path, Query]] = []
    read: list[Parsed[Query]] = []
    for file in files:
        base, text = file.absolute().as_uri(), file.read_text(encoding="utf-8")
        parsed = read_query(text, start=Position(str(file), 1, 1), base=base)
        registration = parsed.meaning.registration
        name = file.stem if registration is None else str(registration.name)
        # A text is complete without its file: relative IRIs resolve against the file.
        found.append((name, based(text, file), file, parsed.meaning))
        read.append(parsed)
    schema = Schema.of(background.triples())
    for parsed in read:
        beside = {name: query for name, _, _, query in found if query is not parsed.meaning}
        for note in query_notes(parsed, QueryContext(schema, continuous=True, beside=beside)):
            # "evaluated-anew" is said with the query's name when it is registered.
            if note.code != "evaluated-anew":
                click.echo(f"{note.position}: note: {note.text}", err=True)
    return found


_Given = TypeVar("_Given")
_Taken = TypeVar("_Taken")
_OF_SETTINGS: Final = ("rules", "static", "window", "profile", "lateness", "line")
"""Options that stand for what a deployment has in its settings."""


@click.command("run")
@click.option(
    "--query",
    "queries",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="A continuous query; may be given several times.",
)
@click.option(
    "--events",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="The events, as JSON Lines in order of arrival; - reads stdin.",
)
@click.option(
    "--messages",
    multiple=True,
    metavar="PATH",
    help="Instead: XML messages, a file, a folder or ZIP archive of *.xml files, or - for stdin; "
    "may be given several times.",
)
@config_option
@click.option(
    "--mapping",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Instead of the settings: the mapping rules of the messages, *.rules, RML or XSLT.",
)
@click.option(
    "--source",
    default="rest",
    show_default=True,
    metavar="NAME",
    help="The source that the messages come from: their stream.",
)
@click.option(
    "--line",
    type=click.Choice(["datetime", "integer"]),
    default="datetime",
    show_default=True,
    help="How the messages write their times.",
)
@click.option(
    "--shapes",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Shapes (SHACL): violations in the knowledge base that begin and end; may be given "
    "several times.",
)
@engine_options
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON for each message.")
@click.option("--watch", "watched", is_flag=True, help="Run again whenever a file changes.")
@click.option(
    "--stats",
    is_flag=True,
    help="Print on stderr what it took: time, CPU, memory, and the percentiles of an event's time.",
)
def command(events: Path | None, watched: bool, **given: Any) -> None:
    """Run messages through a deployment, or queries and rules over recorded events.

    With --messages, tells of each message what was made of it, inferred, alerted, replied and
    reported by queries. The deployment is that of the settings, whole; --mapping makes one of
    --mapping, --static, --rules, --window, --profile, --lateness and --line instead. Exits
    with 1 if a message is not accepted.

    With --events, each line of the output is one row of one query at one time ("+" added, "-"
    removed, "=" part of the whole result), or an alert or reply of a rule. An event whose
    rules fail is reported on stderr and has no effect. Events later than --lateness are left out
    and counted.

    With --shapes, each violation that begins ("op": "+") or ends ("-") is a line of JSON. With
    --events the window keeps everything then, unless --window says otherwise.

    Patterns outside WINDOW match the knowledge base: the static graph, what the window holds, and
    what follows from both.
    """
    options = _Options(**given)
    if options.shapes and not is_given("window"):
        # Shapes look at the window: without one there would be nothing to see.
        options = replace(options, made_of=replace(options.made_of, window="landmark"))
    messages, mapping = options.messages, options.mapping
    if (events is None) is (not messages):
        raise click.UsageError("expected --events FILE, or --messages PATH")
    if watched and "-" in (*messages, str(events)):
        raise click.UsageError("--watch reads files again: expected files instead of -")
    named = [name for name in _OF_SETTINGS if is_given(name)]
    if events is not None:
        if mapping:
            raise click.UsageError("--mapping goes with --messages: events are graphs already")
        if not options.queries and not options.made_of.rules and not options.shapes:
            raise click.UsageError("expected --query or --rules, or --shapes, with --events")
        if "line" in named:
            raise click.UsageError("--line is for --messages: events have numbers or xsd:dateTime")
        if is_given("config"):
            raise click.UsageError("-c goes with --messages: events need --static and --rules")
    elif not mapping and named:
        raise click.UsageError(f"--{named[0]} goes with --mapping; without it, the settings decide")

    def run() -> None:
        if events is not None:
            _run_events(events, options)
        else:
            _run_messages(options)

    if not watched:
        run()
        return
    from sensorstream.cli.file_watch import watch

    watch(run, lambda: _involved(events, options))


@frozen
class _Options:
    queries: tuple[Path, ...]
    messages: tuple[str, ...]
    config: Path
    mapping: tuple[Path, ...]
    source: str
    line: str
    shapes: tuple[Path, ...]
    made_of: EngineOptions
    as_json: bool
    stats: bool


def _involved(events: Path | None, options: _Options) -> list[Path]:
    """The files that a run depends on."""
    from sensorstream.app.control.rule_files import rule_set_files
    from sensorstream.cli.file_watch import files_of_messages, files_of_rules, files_of_settings

    made_of, mapping = options.made_of, options.mapping
    named = [
        *options.queries,
        *options.shapes,
        *made_of.static,
        *files_of_rules((*mapping, *made_of.rules)),
    ]
    named += rule_set_files(made_of.profile, Path())
    if events is not None:
        return [events, *named]
    settings = [] if mapping else files_of_settings(options.config)
    return [*named, *settings, *files_of_messages(options.messages)]


def _run_events(file: Path, options: _Options) -> None:
    from sensorstream.app.control.live_shapes import LiveShapes
    from sensorstream.app.life.process_memory import spare_what_stays
    from sensorstream.app.recorded_engine import read_background, recorded_events
    from sensorstream.streams.event_lines import EventLines

    lines = EventLines(str(file))
    printer = EventPrinter(lines.format)
    with ExitStack() as stack:
        source: Iterable[str] = sys.stdin
        if str(file) != "-":
            source = stack.enter_context(file.open(encoding="utf-8"))
        source = lines.begin(source)
        background = read_background(options.made_of.static)
        engine, running = offline_engine(
            options.queries, options.made_of, background, lines.line.value
        )
        stack.enter_context(closing(engine))
        _say_reasons(running)
        shapes = LiveShapes(engine, options.shapes)
        _print_each(shapes.begun())
        spare_what_stays()
        costs = _Costs()

        def show(outcome: Outcome) -> None:
            violations = list(shapes.take(outcome, lines.format))
            printer.print(outcome)
            _print_each(violations)

        runs = file.is_file() and options.made_of.window == "none"
        for number, event in enumerate(recorded_events(lines, source), 1):
            engine.queries.processor.more = runs and number % _RUN != 0
            show(costs.of(engine.take, event))
        show(engine.finish())
        costs.end()
    printer.say_counts(options.made_of.lateness)
    _end(engine, costs, printer.stopped, options)


def _run_messages(options: _Options) -> None:
    from sensorstream.alerts.alert_formats import plain_time
    from sensorstream.app.control.live_shapes import LiveShapes
    from sensorstream.app.life.process_memory import spare_what_stays
    from sensorstream.app.why.engine_trial import EngineTrial

    with lasting("starting the engine"):
        tried = _of_files(options) if options.mapping else _of_settings(options)
    printer = MessagePrinter(tried.timeline, tried.prefixes, options.as_json)
    with closing(tried.engine):
        _say_reasons(tried.running)
        shapes = LiveShapes(tried.engine, tried.shapes)
        _print_each(shapes.begun())
        trial = EngineTrial(tried.engine)
        spare_what_stays()
        costs = _Costs()

        def show(trace: TrialTrace) -> None:
            written = partial(plain_time, timeline=tried.timeline)
            violations = list(shapes.take(trace.outcome, written))
            printer.print(trace)
            _print_each(violations)

        for arrived in _arriving(options, tried, printer.names):
            show(costs.of(trial.take, arrived))
        show(trial.finish())
        costs.end()
    printer.say_counts()
    _end(tried.engine, costs, printer.stopped, options)
    if printer.faulty:
        raise click.exceptions.Exit(1)


@frozen
class _Tried:
    """The engine and the mapping that messages are run through."""

    engine: Engine
    mapper: Mapper
    timeline: Timeline
    prefixes: Mapping[str, str]
    running: list[ContinuousQuery]
    shapes: Sequence[Path]


def _of_files(options: _Options) -> _Tried:
    from sensorstream.app.control.wiring import read_rules
    from sensorstream.app.recorded_engine import parse_mapping, read_background, read_line
    from sensorstream.engine.message_reading import Mapper

    mapping, made_of = options.mapping, options.made_of
    background = read_background(made_of.static)
    mapper = Mapper(parse_mapping(*mapping, static=background, line=options.line))
    engine, running = offline_engine(options.queries, made_of, background, options.line)
    prefixes = prefixes_of(read_rules([*mapping, *semantic_rules(made_of.rules)]))
    return _Tried(engine, mapper, read_line(options.line), prefixes, running, options.shapes)


def _of_settings(options: _Options) -> _Tried:
    from sensorstream.app.control.wiring import build_machine, read_deployment, read_rules
    from sensorstream.settings.settings_file import load_settings
    from sensorstream.streams.background_graphs import Background

    settings = load_settings(options.config)
    deployment = read_deployment(settings)
    for rule in deployment.rules:
        if rule.question is not None:
            told = f"rule {rule.name} asks the history, and there is none here: it does not fire"
            click.echo(f"{rule.position}: {told}", err=True)
    named = read_queries(options.queries, Background())
    machine = build_machine(deployment, perf_counter)
    try:
        running = register_queries(machine.engine, named)
    except BaseException:
        machine.engine.close()
        raise
    prefixes = prefixes_of(read_rules(settings.rules.files))
    live = settings.shapes.files if settings.shapes.live else ()
    shapes = options.shapes or live
    return _Tried(machine.engine, machine.mapper, deployment.timeline, prefixes, running, shapes)


def _arriving(
    options: _Options, tried: _Tried, names: dict[str, str]
) -> Iterator[Arrived | UnmappedMessage]:
    """The mapping result of each message; ``names`` gets the name of its file."""
    from sensorstream.cli.send_command import sources
    from sensorstream.clock import SystemClock
    from sensorstream.model.events import Message

    # They arrive one right after the other, even on a slow machine; otherwise a source could seem
    # silent, and messages held for a late one would be released.
    moment = SystemClock().now()
    for number, each in enumerate(sources(options.messages), 1):
        id_ = f"m{number}"
        names[id_] = each.name
        received = tried.timeline.of(moment + timedelta(microseconds=number))
        yield tried.mapper.map(Message(id_, each.read(), received, options.source))


def _print_each(lines: Iterable[Mapping[str, Any]]) -> None:
    for each in lines:
        print_json(each)


def _say_reasons(running: Iterable[ContinuousQuery]) -> None:
    for each in running:
        if each.reason:
            told = f"{each.name}: evaluated anew at each change: {each.reason}"
            click.echo(told, err=True)


class _Costs:
    """The costs of a run, and the time of the engine for each event or message."""

    def __init__(self) -> None:
        self._each = array("d")
        self._start, self._cpu_start = perf_counter(), process_time()
        self.seconds = self.cpu = 0.0

    def of(self, take: Callable[[_Given], _Taken], given: _Given) -> _Taken:
        """Take an event or message in, and note the time."""
        start = perf_counter()
        taken = take(given)
        self._each.append(perf_counter() - start)
        return taken

    def end(self) -> None:
        """Note the end of the run."""
        self.seconds = perf_counter() - self._start
        self.cpu = process_time() - self._cpu_start

    def text(self, events: int) -> str:
        """The costs on one line; percentiles are of the engine's time for an event."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        parts = [
            f"{events} events",
            f"{self.seconds:.2f} s",
            f"{self.cpu:.2f} s CPU",
            f"{events / max(self.seconds, 1e-9):.0f} events/s",
        ]
        if ordered := sorted(self._each):
            last = len(ordered) - 1
            at = {f"p{part}": ordered[round(part / 100 * last)] for part in (50, 95, 99)}
            told = {**at, "max": ordered[last]}
            parts.append(
                " ".join(f"{name} {1000 * each:.2f}" for name, each in told.items()) + " ms"
            )
        return ", ".join([*parts, f"{peak:.0f} MiB peak memory"])


def _end(engine: Engine, costs: _Costs, stopped: Sequence[str], options: _Options) -> None:
    from sensorstream.errors import InternalFault

    if options.stats:
        click.echo(costs.text(engine.queries.processor.counts.events), err=True)
    if stopped:
        raise InternalFault("; ".join(stopped))
