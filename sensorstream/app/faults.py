"""All faults of a deployment's files, for ``check``, editors, and rules that are to be put."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from sensorstream.app.file_texts import FileTexts
from sensorstream.app.mapping_files import is_rule_file, mapping_file_faults
from sensorstream.app.reference_files import read_reference_with_faults
from sensorstream.app.rule_history import question_faults_of
from sensorstream.app.rule_sets import rule_set_faults, state_rules_of
from sensorstream.app.rule_texts import misplaced
from sensorstream.app.schemas import read_schemas
from sensorstream.errors import OntologyError, SensorStreamError, SettingsError
from sensorstream.language.parser import parse_with_recovery
from sensorstream.language.syntax import RuleFile
from sensorstream.language.wellformed import same_names
from sensorstream.mapping.check import check as mapping_faults
from sensorstream.mapping.functions import Definition
from sensorstream.reasoning.ontology import Ontology, deployed_ontology
from sensorstream.reasoning.profiles import DESCRIPTION_LOGIC, told_to
from sensorstream.rules.notes import unnamed_class_faults
from sensorstream.rules.rule_compiler import rule_faults
from sensorstream.settings import OntologySettings, Settings

_NOTHING_UNSAVED: Final[Mapping[Path, str]] = MappingProxyType({})


def faults(
    settings: Settings,
    unsaved: Mapping[Path, str] = _NOTHING_UNSAVED,
    read_ontology: Callable[[OntologySettings], Ontology] | None = None,
    functions: Mapping[str, Definition] | None = None,
    rule_sets: Mapping[str, str] | None = None,
) -> Iterator[SensorStreamError]:
    """All faults of the files that the settings name, except those that another fault hides.

    ``unsaved`` are the texts of rule files and rule sets that count instead of those on disk;
    ``read_ontology`` is by default :func:`.deployed_ontology`. ``functions`` are the user's own
    that count instead of those of the Python files, ``rule_sets`` the texts of the reasoner's that
    count instead of those of the profile, by name.
    """

    found_misplaced = list(misplaced(settings))
    if found_misplaced:
        yield from found_misplaced
        return
    yield from rule_set_faults(settings, unsaved, rule_sets)
    files: list[RuleFile] = []
    for path in filter(is_rule_file, settings.rules.files):
        try:
            text = unsaved[path] if path in unsaved else path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            yield SettingsError(f"rules.files: cannot read {path}: {error}")
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
    try:
        read_schemas(settings)
    except SensorStreamError as error:
        yield error
    schema = ontology.schema
    reference, unread = read_reference_with_faults(
        files, ontology.triples, settings.functions.files if functions is None else functions
    )
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
    yield from mapping_file_faults(
        files,
        settings.rules.files,
        schema,
        settings.time.timeline,
        settings.rules.base,
        reference.library_of(""),
        FileTexts(unsaved),
    )
