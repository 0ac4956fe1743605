"""The faults and notes of a file and of the deployment around it, as ``check`` finds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sensorstream.app.control.faults import faults
from sensorstream.app.control.file_texts import is_query_file, is_rule_set
from sensorstream.app.control.folder import check_query_files
from sensorstream.app.control.mapping_files import is_rule_file
from sensorstream.app.control.rule_files import faults_of
from sensorstream.cli.check import deployment_notes
from sensorstream.editor.files import Deployment, Ontologies, deployment_of
from sensorstream.errors import Position, SensorStreamError
from sensorstream.language.parser import parse
from sensorstream.reasoning.profiles import DESCRIPTION_LOGIC
from sensorstream.rules.rule_compiler import compile_rules
from sensorstream.settings import Settings


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
    if is_query_file(file):
        return {file: list(_of_query(file, unsaved, deployment, ontologies))}
    if is_rule_set(file):
        return {file: [_fault(each, file) for each in faults_of(file, unsaved)]}
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
    ontology = ontologies.load(settings.ontology)
    files = [
        parse(unsaved[path] if path in unsaved else path.read_text("utf-8"), str(path))
        for path in settings.rules.files
        if is_rule_file(path)
    ]
    rules = compile_rules(files, ontology.schema, settings.time.timeline)
    for note in deployment_notes(settings, files, ontology, rules):
        yield Diagnostic(note.position, note.code, note.text, is_fault=False)


def _of_query(
    file: Path, unsaved: Mapping[Path, str], deployment: Deployment, ontologies: Ontologies
) -> Iterator[Diagnostic]:
    settings = deployment.settings
    line = settings.time.line if settings.path.is_file() else "datetime"
    schema = ontologies.names(settings.ontology).schema
    by_names = settings.path.is_file() and settings.reasoning.profile in DESCRIPTION_LOGIC
    found = check_query_files([file], schema, line, unsaved, names_only=by_names)
    yield from (_fault(each, file) for each in found.faults)
    for note in found.notes:
        yield Diagnostic(note.position, note.code, note.text, is_fault=False)


def _fault(error: SensorStreamError, settings: Path) -> Diagnostic:
    """A fault without a place belongs to the settings as a whole."""
    position = error.position or Position(str(settings), 1, 1)
    return Diagnostic(position, error.code, error.message)
