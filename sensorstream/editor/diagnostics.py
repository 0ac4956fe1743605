"""The faults and notes of a file and of the deployment around it, as ``check`` finds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sensorstream.analysis import Known, query_notes
from sensorstream.app.faults import faults
from sensorstream.app.mapping_files import is_rule_file
from sensorstream.app.recorded import build_engine
from sensorstream.cli.check import deployment_notes
from sensorstream.editor.deployment import Deployment, Ontologies, deployment_of
from sensorstream.editor.document import is_query
from sensorstream.errors import Position, QueryError, SensorStreamError, UnsupportedQuery
from sensorstream.language.parser import parse
from sensorstream.rules.rule_compiler import compile_rules
from sensorstream.settings import Settings
from sensorstream.sparql.algebra import Query, Window
from sensorstream.sparql.parser import read_query
from sensorstream.sparql.walk import nodes


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A fault, or a note, which is no fault but worth knowing."""

    position: Position
    code: str
    message: str
    is_fault: bool = True


def diagnostics(
    file: Path, unsaved: Mapping[Path, str], ontologies: Ontologies
) -> dict[Path, list[Diagnostic]]:
    """The diagnostics of a file, and of all rule files of its deployment, by file.

    Files without any are named too. ``unsaved`` are texts that count instead of those on disk.
    """
    deployment = deployment_of(file)
    if is_query(file):
        return {file: list(_of_query(file, unsaved[file], deployment, ontologies))}
    settings = deployment.settings
    found: dict[Path, list[Diagnostic]] = {
        path: [] for path in settings.rules.files if is_rule_file(path)
    }
    for each in _of_rules(deployment, unsaved, ontologies):
        found.setdefault(Path(each.position.file), []).append(each)
    if deployment.fault is not None:
        fault = _fault(deployment.fault, settings.path)
        found.setdefault(Path(fault.position.file), []).append(fault)
    elif not deployment.is_part and settings.path.is_file():
        text = f"{settings.path.name} does not name this file in rules.files: checked by itself"
        note = Diagnostic(Position(str(file), 1, 1), "not-in-settings", text, is_fault=False)
        found[file].append(note)
    return found


def _of_rules(
    deployment: Deployment, unsaved: Mapping[Path, str], ontologies: Ontologies
) -> Iterator[Diagnostic]:
    settings = deployment.settings
    found = list(faults(settings, unsaved, ontologies.load))
    yield from (_fault(error, settings.path) for error in found)
    if not found:
        yield from _notes(settings, unsaved, ontologies)


def _notes(
    settings: Settings, unsaved: Mapping[Path, str], ontologies: Ontologies
) -> Iterator[Diagnostic]:
    ontology = ontologies.load(settings.ontology.files)
    files = [
        parse(unsaved[path] if path in unsaved else path.read_text("utf-8"), str(path))
        for path in settings.rules.files
        if is_rule_file(path)
    ]
    rules = compile_rules(files, ontology.schema, settings.time.timeline)
    for note in deployment_notes(settings, files, ontology, rules):
        yield Diagnostic(note.position, note.code, note.text, is_fault=False)


def _of_query(
    file: Path, text: str, deployment: Deployment, ontologies: Ontologies
) -> Iterable[Diagnostic]:
    try:
        base = file.absolute().as_uri()
        parsed = read_query(text, start=Position(str(file), 1, 1), base=base)
    except QueryError as error:
        return [_fault(error, file)]
    if _is_continuous(parsed.meaning):
        line = deployment.settings.time.line if deployment.settings.path.is_file() else "datetime"
        refused = _refused(f"BASE <{base}> {text}", line)
        if refused is not None:
            return [_fault(refused, file)]
    schema = ontologies.names(deployment.settings.ontology.files).schema
    return [
        Diagnostic(note.position, note.code, note.text, is_fault=False)
        for note in query_notes(parsed, Known(schema, continuous=True))
    ]


def _is_continuous(query: Query) -> bool:
    """Whether a query is for registration; others may also be answered at once."""
    return query.registration is not None or any(isinstance(part, Window) for part in nodes(query))


def _refused(text: str, line: str) -> UnsupportedQuery | None:
    """Why no stream can answer a query, if that is so."""
    engine = build_engine(profile="none", line=line)
    try:
        engine.register("query", text)
    except UnsupportedQuery as error:
        return error
    except SensorStreamError:  # it may need files, or another time line, which a run is told
        return None
    finally:
        engine.close()
    return None


def _fault(error: SensorStreamError, settings: Path) -> Diagnostic:
    """A fault without a place belongs to the settings as a whole."""
    position = error.position or Position(str(settings), 1, 1)
    return Diagnostic(position, error.code, error.message)
