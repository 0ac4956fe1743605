"""Shared by ``run`` and ``explain``: an engine from options, with queries from files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sensorstream.cli.options import FILE, Command, all_of
from sensorstream.errors import SettingsError, UnsupportedQuery

if TYPE_CHECKING:
    from sensorstream.engine.engine import Engine
    from sensorstream.sparql.algebra import Query
    from sensorstream.sparql.parser import Parsed
    from sensorstream.streams.background import Background
    from sensorstream.streams.continuous_query import ContinuousQuery

OVER_TIME: Final = ".dotr"
_DATALOG: Final = ".dlog"
_options: Final = all_of(
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
        help="The static graph of the knowledge base: .ttl, .nt, .rdf.",
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


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What an engine is made of: ``--rules --static --window --profile --lateness``."""

    rules: tuple[Path, ...]
    static: tuple[Path, ...]
    window: str
    profile: str
    lateness: str


ENGINE_OPTIONS: Final = tuple(each.name for each in fields(EngineOptions))


def engine_options(command: Command) -> Command:
    """The options of an engine, given to the command as ``made_of``."""

    @wraps(command)
    def gathered(**given: Any) -> Any:
        made_of = EngineOptions(**{name: given.pop(name) for name in ENGINE_OPTIONS})
        return command(made_of=made_of, **given)

    return _options(gathered)  # type: ignore[return-value]


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
    from sensorstream.app.control.file_texts import is_over_time
    from sensorstream.app.control.folder import check_query_files
    from sensorstream.app.recorded import build_engine, read_lateness, read_line
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
        background.named(query.dataset, file)
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
            # Its place is one in a text made of several: whoever reads it wants that in a file.
            faults = check_query_files(over_time, Schema(), line).faults
            raise next(iter(faults), error) from None
        return engine, [*running, *register_queries(engine, named)]
    except BaseException:
        engine.close()
        raise


def register_queries(
    engine: Engine, named: Iterable[tuple[str, str, Path, Query]]
) -> list[ContinuousQuery]:
    """Start queries of :func:`read_queries`.

    Raises:
        QueryError: one cannot run; it has its place in the file.
    """
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
    from sensorstream.app.control.folder import completed_rules

    return [(file.stem, text) for file, text in completed_rules(rules, complete=True).items()]


def read_queries(
    files: Iterable[Path], background: Background
) -> list[tuple[str, str, Path, Query]]:
    """The name, the text, the file and the meaning of each query; notes on them go to stderr.

    Raises:
        QueryError: a text is not a valid query.
    """
    from sensorstream.analysis import Known, query_notes
    from sensorstream.app.control.file_texts import based
    from sensorstream.errors import Position
    from sensorstream.model.schema import Schema
    from sensorstream.sparql.parser import read_query

    found: list[tuple[str, str, Path, Query]] = []
    read: list[Parsed[Query]] = []
    for file in files:
        base, text = file.absolute().as_uri(), file.read_text(encoding="utf-8")
        parsed = read_query(text, start=Position(str(file), 1, 1), base=base)
        registration = parsed.meaning.registration
        name = file.stem if registration is None else str(registration.name)
        # This makes the text complete without its file: relative IRIs resolve against the file.
        found.append((name, based(text, file), file, parsed.meaning))
        read.append(parsed)
    schema = Schema.of(background.triples())
    for parsed in read:
        beside = {name: query for name, _, _, query in found if query is not parsed.meaning}
        for note in query_notes(parsed, Known(schema, continuous=True, beside=beside)):
            # "evaluated-anew" is said with the query's name when it is registered.
            if note.code != "evaluated-anew":
                click.echo(f"{note.position}: note: {note.text}", err=True)
    return found
