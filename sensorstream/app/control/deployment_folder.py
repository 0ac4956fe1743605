"""The files of a deployment's folder: rules, ontology, queries and webhooks for a server. Rules
over time (``.dotr``) use the Datalog rules (``.dlog``) of the same folder.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

from sensorstream.analysis import Note, QueryContext, query_notes, rules_notes
from sensorstream.app.control.file_texts import (
    DATALOG,
    OVER_TIME,
    based,
    is_over_time,
    placed,
    read_file,
)
from sensorstream.app.control.rule_files import read_texts
from sensorstream.app.recorded_engine import build_engine
from sensorstream.engine.engine import Engine
from sensorstream.errors import (
    Position,
    QueryError,
    SensorStreamError,
    SettingsError,
    UnsupportedQuery,
    WebhookError,
)
from sensorstream.model.frozen import field, fields, frozen, replace
from sensorstream.model.schema import Schema
from sensorstream.model.webhook_definition import FORMATS, WebhookDefinition
from sensorstream.network.intervals.interval_planner import is_in_time
from sensorstream.reasoning.ontology import deployed_ontology
from sensorstream.settings.settings import Settings
from sensorstream.sparql.algebra import Query, Window
from sensorstream.sparql.described import check_named
from sensorstream.sparql.dotr.dotr_reader import check_classes_named, read_program
from sensorstream.sparql.dotr.dotr_syntax import TimedProgram
from sensorstream.sparql.query_parser import Parsed, parse_query, read_query
from sensorstream.sparql.walk import nodes


def query_files(folder: Path) -> list[Path]:
    """The query files of a deployment, in ``queries`` beside its settings."""
    place = folder / "queries"
    return [each for end in ("rq", "dotr", "dlog") for each in sorted(place.glob(f"*.{end}"))]


@frozen
class Found:
    """Faults of files, and notes on them; each has a place."""

    faults: list[SensorStreamError] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def check_query_files(
    files: Iterable[Path],
    schema: Schema,
    line: str,
    unsaved: Mapping[Path, str] | None = None,
    *,
    names_only: bool = False,
) -> Found:
    """Check queries by themselves, and rules over time together with the others of their folders.
    ``unsaved`` are texts that count instead of those on disk; ``names_only``: queries and rules
    must not describe classes; see :func:`.check_named`.
    """
    found = Found()
    texts = unsaved or {}
    programs: dict[Path, TimedProgram] = {}
    queries: dict[Path, Parsed[Query]] = {}
    with closing(build_engine(profile="none", line=line)) as engine:
        for path in files:
            try:
                text = read_file(path, texts)
                if is_over_time(path):
                    programs[path] = _program(path, text)
                    if names_only:
                        check_classes_named(programs[path])
                else:
                    parsed = queries[path] = _check_query(path, text, engine)
                    if names_only:
                        check_named(parsed.meaning)
            except SensorStreamError as error:
                found.faults.append(_placed(error, path))
        for path, parsed in queries.items():
            beside = {each.stem: queries[each].meaning for each in queries if each != path}
            found.notes.extend(
                query_notes(parsed, QueryContext(schema, continuous=True, beside=beside))
            )
        if programs:
            _check_rules(programs, _beside(programs, texts), schema, engine, found)
    return found


def completed_rules(files: Iterable[Path], *, complete: bool = False) -> dict[Path, str]:
    """The texts of the files with rules over time, each with all Datalog rules before it.
    ``complete``: relative IRIs are resolved against the file.

    Raises:
        QueryError: a text is not valid.
        SettingsError: a file cannot be read.
    """
    texts: dict[Path, str] = {}
    for path in filter(is_over_time, files):
        text = read_file(path)
        _program(path, text)
        texts[path] = f"BASE <{path.absolute().as_uri()}> {text}" if complete else text
    known = "\n".join(text for path, text in texts.items() if path.suffix.lower() == DATALOG)
    return {
        path: f"{known}\n{text}" if known else text
        for path, text in texts.items()
        if path.suffix.lower() == OVER_TIME
    }


def _check_query(path: Path, text: str, engine: Engine) -> Parsed[Query]:
    start = Position(str(path), 1, 1)
    parsed = read_query(text, start=start, base=path.absolute().as_uri())
    if _is_continuous(parsed.meaning):
        try:
            with placed(start):
                engine.queries.check("query", based(text, path))
        except UnsupportedQuery:
            raise
        except SensorStreamError:
            pass  # It may need files, or another time line, which a run is told.
    return parsed


def _is_continuous(query: Query) -> bool:
    """Whether a query is for registration; others may also be answered at once."""
    return (
        query.registration is not None
        or is_in_time(query)
        or any(isinstance(part, Window) for part in nodes(query))
    )


def _beside(
    programs: Mapping[Path, TimedProgram], unsaved: Mapping[Path, str]
) -> dict[Path, TimedProgram]:
    """The other files with rules over time of the same folders, as far as they can be read."""
    found: dict[Path, TimedProgram] = {}
    for folder in dict.fromkeys(path.parent for path in programs):
        for path in sorted(filter(is_over_time, folder.glob("*"))):
            if path not in programs:
                with suppress(SensorStreamError):
                    found[path] = _program(path, read_file(path, unsaved))
    return found


def _check_rules(
    programs: Mapping[Path, TimedProgram],
    beside: Mapping[Path, TimedProgram],
    schema: Schema,
    engine: Engine,
    found: Found,
) -> None:
    known = QueryContext(schema, continuous=True)
    everything = {**beside, **programs}
    everywhere = tuple(
        clause
        for path, program in everything.items()
        if path.suffix.lower() == DATALOG
        for clause in program.clauses
    )
    for path, program in programs.items():
        found.notes.extend(rules_notes(program, known, everything.values()))
        if path.suffix.lower() == DATALOG:
            continue
        whole = replace(program, clauses=(*everywhere, *program.clauses))
        try:
            engine.queries.processor.register(str(path), "", whole, lambda _: None)
        except SensorStreamError as error:
            found.faults.append(_placed(error, path))


def _program(path: Path, text: str) -> TimedProgram:
    base = path.absolute().as_uri()
    return read_program(text, name=path.stem, start=Position(str(path), 1, 1), base=base)


def _placed(error: SensorStreamError, path: Path) -> SensorStreamError:
    if error.position is None:
        error.position = Position(str(path), 1, 1)
    return error


@frozen
class Folder:
    """Texts by name; the ontology of all files together, as N-Triples.

    The ontology and the rule files are those that the settings name. Beside the settings file,
    ``queries/*.rq`` are continuous queries, ``queries/*.dotr`` rules over time, each with the
    Datalog rules of all ``queries/*.dlog``, and ``webhooks/*.toml`` webhooks; the name of one is
    that of its file, or for a query that of its REGISTER clause.
    """

    ontology: str
    rules: Mapping[str, str]
    queries: Mapping[str, str]
    webhooks: Mapping[str, str]


def read_folder(settings: Settings) -> Folder:
    """Read the texts of a deployment's folder.

    Raises:
        QueryError: rules over time cannot be read.
        SettingsError: a file cannot be read, or is not a definition of a webhook.
        OntologyError: the ontology cannot be read.
    """
    return Folder(
        deployed_ontology(settings.ontology).ntriples().decode(),
        read_texts(settings),
        texts_of(query_files(settings.folder)),
        _by_name(_webhooks(settings.folder)),
    )


def folder_files(folder: Path) -> list[Path]:
    """The files of queries and webhooks that are there now."""
    return [*query_files(folder), *sorted((folder / "webhooks").glob("*.toml"))]


def texts_of(files: Sequence[Path]) -> dict[str, str]:
    """The texts of the queries and rules over time in some files, by the names of the queries.

    Raises:
        QueryError: rules over time cannot be read.
        SettingsError: a file cannot be read, or two have one name.
    """
    return _by_name(_queries(files))


def _queries(files: Sequence[Path]) -> Iterator[tuple[str, str, Path]]:
    yield from ((path.stem, text, path) for path, text in completed_rules(files).items())
    for path in files:
        if is_over_time(path):
            continue
        text = read_file(path)
        name = path.stem
        try:
            registration = parse_query(text).registration
            if registration is not None:
                name = str(registration.name)
        except QueryError:
            pass  # The server says what is wrong with it.
        yield name, text, path


def _webhooks(folder: Path) -> Iterator[tuple[str, str, Path]]:
    for path in sorted((folder / "webhooks").glob("*.toml")):
        try:
            told = tomllib.loads(read_file(path))
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{path}: not TOML: {error}") from None
        if "secret" in told:
            raise SettingsError(
                f"{path}: a secret has no place in a file: the server makes one when the webhook "
                "is new, and 'sensorstream webhooks rotate' sets another"
            )
        known = {each.name: each.default for each in fields(WebhookDefinition)}
        unknown = told.keys() - known.keys()
        flags = [told.get(name, each) for name, each in known.items() if isinstance(each, bool)]
        wrong = not (
            isinstance(told.get("url"), str)
            and isinstance(told.get("queries", []), list)
            and all(isinstance(each, bool) for each in flags)
        )
        if unknown or wrong:
            formats = " or ".join(f'"{each}"' for each in FORMATS)
            raise SettingsError(
                f'{path}: expected url = "…", and maybe queries = ["…"], '
                f"format = {formats}, changes = true, escalated = true and "
                'group = { by = ["rule"], wait = 30, interval = 300 }, no more'
                + (f"; not {', '.join(sorted(unknown))}" if unknown else "")
            )
        try:
            text = WebhookDefinition.read(told).text()
        except WebhookError as error:
            raise SettingsError(f"{path}: {error}") from None
        yield path.stem, text, path


def _by_name(found: Iterator[tuple[str, str, Path]]) -> dict[str, str]:
    texts: dict[str, str] = {}
    paths: dict[str, Path] = {}
    for name, text, path in found:
        if name in texts:
            raise SettingsError(f"{path} and {paths[name]} have one name: {name}")
        texts[name], paths[name] = text, path
    return texts
