"""Files of continuous queries and of rules over time: which there are, and what is wrong with them.

Rules over time (``.dotr``) know the Datalog rules (``.dlog``) of the same folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from sensorstream.analysis import Known, Note, query_notes, rules_notes
from sensorstream.app.file_kinds import DATALOG, OVER_TIME, is_over_time
from sensorstream.app.file_texts import based, placed
from sensorstream.app.recorded import build_engine
from sensorstream.dotr.reader import check_classes_named, read_program
from sensorstream.dotr.syntax import Program
from sensorstream.engine.engine import Engine
from sensorstream.errors import Position, SensorStreamError, SettingsError, UnsupportedQuery
from sensorstream.model.schema import Schema
from sensorstream.network.intervals.planning import is_in_time
from sensorstream.sparql.algebra import Query, Window
from sensorstream.sparql.described import check_named
from sensorstream.sparql.parser import Parsed, read_query
from sensorstream.sparql.walk import nodes


def query_files(folder: Path) -> list[Path]:
    """Those of a deployment, which are in ``queries`` beside its settings."""
    place = folder / "queries"
    return [each for end in ("rq", "dotr", "dlog") for each in sorted(place.glob(f"*.{end}"))]


@dataclass(frozen=True, slots=True)
class Found:
    """What is wrong with files, and what is worth knowing; each has a place."""

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
    """Check queries by themselves, and rules over time together.

    With rules over time, what their folders hold besides counts as known.

    Args:
        files: to check.
        schema: the names of the ontology.
        line: how times are written, ``datetime`` or ``integer``.
        unsaved: texts that count instead of those on disk.
        names_only: queries and rules must not describe classes; see :func:`.check_named`.
    """
    found = Found()
    texts = unsaved or {}
    programs: dict[Path, Program] = {}
    queries: dict[Path, Parsed[Query]] = {}
    with closing(build_engine(profile="none", line=line)) as engine:
        for path in files:
            try:
                text = _text(path, texts)
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
            found.notes.extend(query_notes(parsed, Known(schema, continuous=True, beside=beside)))
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
        text = _text(path, {})
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


def _beside(programs: Mapping[Path, Program], unsaved: Mapping[Path, str]) -> dict[Path, Program]:
    """The other files with rules over time of the same folders, as far as they can be read."""
    found: dict[Path, Program] = {}
    for folder in dict.fromkeys(path.parent for path in programs):
        for path in sorted(filter(is_over_time, folder.glob("*"))):
            if path not in programs:
                with suppress(SensorStreamError):
                    found[path] = _program(path, _text(path, unsaved))
    return found


def _check_rules(
    programs: Mapping[Path, Program],
    beside: Mapping[Path, Program],
    schema: Schema,
    engine: Engine,
    found: Found,
) -> None:
    known = Known(schema, continuous=True)
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
            engine.queries.processor.register_rules(str(path), "", whole, _nowhere)
        except SensorStreamError as error:
            found.faults.append(_placed(error, path))


def _nowhere(_report: object) -> None:
    """Nothing happens in a check."""


def _program(path: Path, text: str) -> Program:
    base = path.absolute().as_uri()
    return read_program(text, name=path.stem, start=Position(str(path), 1, 1), base=base)


def _text(path: Path, unsaved: Mapping[Path, str]) -> str:
    if path in unsaved:
        return unsaved[path]
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read {path}: {error}") from None


def _placed(error: SensorStreamError, path: Path) -> SensorStreamError:
    if error.position is None:
        error.position = Position(str(path), 1, 1)
    return error
