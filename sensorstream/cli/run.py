"""``sensorstream run``: recorded events or messages through the engine, without a server."""

from __future__ import annotations

import resource
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Final, TypeVar

import click

from sensorstream.cli.offline import FILE, engine_options, offline_engine
from sensorstream.cli.options import config_option

if TYPE_CHECKING:
    from sensorstream.engine.arrival import Arrived, Mapper, Unmapped
    from sensorstream.engine.engine import Engine
    from sensorstream.language.syntax import RuleFile
    from sensorstream.model.timeline import Timeline
    from sensorstream.streams.continuous_query import ContinuousQuery

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
@engine_options
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON for each message.")
@click.option("--watch", "watched", is_flag=True, help="Run again whenever a file changes.")
@click.option(
    "--stats",
    is_flag=True,
    help="Print on stderr what it took: time, CPU, memory, and the percentiles of an event's time.",
)
@click.pass_context
def command(
    context: click.Context,
    queries: tuple[Path, ...],
    events: Path | None,
    messages: tuple[str, ...],
    config: Path,
    mapping: tuple[Path, ...],
    source: str,
    line: str,
    rules: tuple[Path, ...],
    static: tuple[Path, ...],
    window: str,
    profile: str,
    lateness: str,
    as_json: bool,
    watched: bool,
    stats: bool,
) -> None:
    """Run messages through a deployment, or queries and rules over recorded events.

    With --messages, tells of each message what was made of it, inferred, alerted, replied and
    reported by queries. The deployment is that of the settings, whole; --mapping makes one of
    --mapping, --static, --rules, --window, --profile, --lateness and --line instead. Exits
    with 1 if a message is not accepted.

    With --events, each line of the output is one row of one query at one time ("+" added, "-"
    removed, "=" part of the whole result), or an alert or reply of a rule. An event whose
    rules fail is reported on stderr and has no effect. Events later than --lateness are left out
    and counted.

    Patterns outside WINDOW match the knowledge base: the static graph, what the window holds, and
    what follows from both.
    """
    if (events is None) is (not messages):
        raise click.UsageError("expected --events FILE, or --messages PATH")
    if watched and "-" in (*messages, str(events)):
        raise click.UsageError("--watch reads files again: expected files instead of -")
    given = [name for name in _OF_SETTINGS if _is_given(context, name)]
    options = _Options(
        queries, rules, static, window, profile, lateness, line, source, as_json, stats
    )
    if events is not None:
        if mapping:
            raise click.UsageError("--mapping goes with --messages: events are graphs already")
        if not queries and not rules:
            raise click.UsageError("expected --query or --rules with --events")
        if "line" in given:
            raise click.UsageError("--line is for --messages: events have numbers or xsd:dateTime")
        if _is_given(context, "config"):
            raise click.UsageError("-c goes with --messages: events need --static and --rules")
        file = events

        def run() -> None:
            _run_events(file, options)

        def involved() -> list[Path]:
            from sensorstream.app.control.rule_files import rule_set_files
            from sensorstream.cli.watching import files_of_rules

            sets = rule_set_files(profile, Path())
            return [file, *queries, *static, *files_of_rules(rules), *sets]

    else:
        if not mapping and given:
            raise click.UsageError(
                f"--{given[0]} goes with --mapping; without it, the settings decide"
            )

        def run() -> None:
            _run_messages(messages, mapping, config, options)

        def involved() -> list[Path]:
            from sensorstream.app.control.rule_files import rule_set_files
            from sensorstream.cli.watching import (
                files_of_messages,
                files_of_rules,
                files_of_settings,
            )

            sets = rule_set_files(profile, Path())
            named = [*queries, *static, *files_of_rules((*mapping, *rules)), *sets]
            settings = [] if mapping else files_of_settings(config)
            return [*named, *settings, *files_of_messages(messages)]

    if watched:
        from sensorstream.cli.watching import watch

        watch(run, involved)
    else:
        run()


@dataclass(frozen=True, slots=True)
class _Options:
    queries: tuple[Path, ...]
    rules: tuple[Path, ...]
    static: tuple[Path, ...]
    window: str
    profile: str
    lateness: str
    line: str
    source: str
    as_json: bool
    stats: bool


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _run_events(file: Path, options: _Options) -> None:
    from sensorstream.app.life.memory import spare_what_stays
    from sensorstream.app.recorded import read_background, recorded_events
    from sensorstream.cli.event_printer import EventPrinter
    from sensorstream.streams.event_lines import EventLines

    lines = EventLines(str(file))
    printer = EventPrinter(lines.format)
    with ExitStack() as stack:
        source: Iterable[str] = sys.stdin
        if str(file) != "-":
            source = stack.enter_context(file.open(encoding="utf-8"))
        source = lines.begin(source)
        engine, running = offline_engine(
            options.queries,
            rules=options.rules,
            background=read_background(options.static),
            window=options.window,
            profile=options.profile,
            lateness=options.lateness,
            line=lines.line.value,
        )
        stack.enter_context(closing(engine))
        _say_reasons(running)
        spare_what_stays()
        costs = _Costs()
        for event in recorded_events(lines, source):
            printer.print(costs.of(engine.take, event))
        printer.print(engine.finish())
        costs.end()
    printer.say_counts(options.lateness)
    _end(engine, costs, printer.stopped, options)


def _run_messages(
    paths: Sequence[str], mapping: Sequence[Path], config: Path, options: _Options
) -> None:
    from sensorstream.app.life.memory import spare_what_stays
    from sensorstream.app.why.trial import Trial
    from sensorstream.cli.lasting import lasting
    from sensorstream.cli.message_printer import MessagePrinter

    with lasting("starting the engine", quiet=options.as_json):
        tried = _of_files(mapping, options) if mapping else _of_settings(config, options.queries)
    printer = MessagePrinter(tried.timeline, tried.prefixes, options.as_json)
    with closing(tried.engine):
        _say_reasons(tried.running)
        trial = Trial(tried.engine)
        spare_what_stays()
        costs = _Costs()
        for arrived in _arriving(paths, tried, options.source, printer.names):
            printer.print(costs.of(trial.take, arrived))
        printer.print(trial.finish())
        costs.end()
    printer.say_counts()
    _end(tried.engine, costs, printer.stopped, options)
    if printer.faulty:
        raise click.exceptions.Exit(1)


@dataclass(frozen=True, slots=True)
class _Tried:
    """What messages are run through."""

    engine: Engine
    mapper: Mapper
    timeline: Timeline
    prefixes: Mapping[str, str]
    running: list[ContinuousQuery]


def _of_files(mapping: Sequence[Path], options: _Options) -> _Tried:
    from sensorstream.app.control.wiring import read_rules
    from sensorstream.app.recorded import parse_mapping, read_background, read_line
    from sensorstream.cli.offline import semantic_rules
    from sensorstream.engine.arrival import Mapper

    background = read_background(options.static)
    mapper = Mapper(parse_mapping(*mapping, static=background, line=options.line))
    engine, running = offline_engine(
        options.queries,
        rules=options.rules,
        background=background,
        window=options.window,
        profile=options.profile,
        lateness=options.lateness,
        line=options.line,
    )
    prefixes = _prefixes(read_rules([*mapping, *semantic_rules(options.rules)]))
    return _Tried(engine, mapper, read_line(options.line), prefixes, running)


def _of_settings(config: Path, queries: Sequence[Path]) -> _Tried:
    from sensorstream.app.control.wiring import build_machine, read_deployment, read_rules
    from sensorstream.cli.offline import read_queries, register_queries
    from sensorstream.settings_file import load_settings
    from sensorstream.streams.background import Background

    settings = load_settings(config)
    deployment = read_deployment(settings)
    for rule in deployment.rules:
        if rule.question is not None:
            told = f"rule {rule.name} asks the history, and there is none here: it does not fire"
            click.echo(f"{rule.position}: {told}", err=True)
    named = read_queries(queries, Background())
    machine = build_machine(deployment, perf_counter)
    try:
        running = register_queries(machine.engine, named)
    except BaseException:
        machine.engine.close()
        raise
    prefixes = _prefixes(read_rules(settings.rules.files))
    return _Tried(machine.engine, machine.mapper, deployment.timeline, prefixes, running)


def _arriving(
    paths: Sequence[str], tried: _Tried, source: str, names: dict[str, str]
) -> Iterator[Arrived | Unmapped]:
    """The mapping result of each message; ``names`` gets the name of its file."""
    from sensorstream.cli.sources import sources
    from sensorstream.clock import SystemClock
    from sensorstream.model.events import Message

    # They arrive one right after the other, however slow this machine is: else a source could seem
    # to fall silent, and what waits for a late message would not wait any longer.
    moment = SystemClock().now()
    for number, each in enumerate(sources(paths), 1):
        id_ = f"m{number}"
        names[id_] = each.name
        received = tried.timeline.of(moment + timedelta(microseconds=number))
        yield tried.mapper.map(Message(id_, each.read(), received, source))


def _prefixes(files: Iterable[RuleFile]) -> dict[str, str]:
    from sensorstream.model.xsd import XSD

    return {"xsd": XSD} | {each.name: each.iri for file in files for each in file.prefixes}


def _say_reasons(running: Iterable[ContinuousQuery]) -> None:
    for each in running:
        if each.reason:
            told = f"{each.name}: evaluated anew at each change: {each.reason}"
            click.echo(told, err=True)


class _Costs:
    """What a run takes: all of it, and the engine for each event or message."""

    def __init__(self) -> None:
        self._each = array("d")
        self._start, self._cpu_start = perf_counter(), process_time()
        self.seconds = self.cpu = 0.0

    def of(self, take: Callable[[_Given], _Taken], given: _Given) -> _Taken:
        """What is made of an event or message; its time is noted."""
        start = perf_counter()
        taken = take(given)
        self._each.append(perf_counter() - start)
        return taken

    def end(self) -> None:
        """The run is over."""
        self.seconds = perf_counter() - self._start
        self.cpu = process_time() - self._cpu_start

    def text(self, events: int) -> str:
        """All of it on one line; percentiles are those of what the engine took for an event."""
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
