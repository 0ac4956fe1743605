"""Mapping files in other languages than the rule language: RML and stylesheets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from sensorstream.errors import LanguageError, Position, SensorStreamError, SettingsError
from sensorstream.language.syntax import RuleFile
from sensorstream.mapping.plan import MappingPlan, PlannedRule
from sensorstream.mapping.rml import compile_maps, compile_rml, read_rml
from sensorstream.mapping.rml.rml_check import faults as rml_faults
from sensorstream.mapping.stylesheet import read_stylesheet
from sensorstream.mapping.xslt import compile_stylesheet
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline

_RML: Final = frozenset((".ttl", ".turtle"))
_STYLESHEETS: Final = frozenset((".xsl", ".xslt"))


def is_rule_file(file: Path) -> bool:
    """Whether a file is in the rule language, by its name."""
    return file.suffix.lower() not in _RML | _STYLESHEETS


def with_mapping_files(
    plan: MappingPlan,
    rules: Sequence[RuleFile],
    files: Sequence[Path],
    schema: Schema,
    timeline: Timeline,
) -> MappingPlan:
    """The plan of the rule files, followed by the RML files and stylesheets.

    Raises:
        LanguageError: a file cannot be compiled, or two rules share a name.
        SettingsError: a file cannot be read.
    """
    added: list[PlannedRule] = []
    for file in files:
        if not is_rule_file(file):
            compiled = _compiled(file, schema, timeline)
            for clash in _clashes(file, compiled, rules, added):
                raise clash
            added += compiled
    return replace(plan, rules=plan.rules + tuple(added))


def single_maps(
    files: Sequence[Path], schema: Schema, timeline: Timeline
) -> tuple[PlannedRule, ...]:
    """Each triples map and each stylesheet as a separate rule, to report its results.

    Raises:
        LanguageError: a file cannot be compiled.
        SettingsError: a file cannot be read.
    """
    found: list[PlannedRule] = []
    for file in files:
        if _is_rml(file):
            found += compile_maps(read_rml(_text(file), str(file)), timeline)
        elif not is_rule_file(file):
            found += _compiled(file, schema, timeline)
    return tuple(found)


def mapping_file_faults(
    rules: Sequence[RuleFile], files: Sequence[Path], schema: Schema, timeline: Timeline
) -> Iterator[SensorStreamError]:
    """All faults of the RML files and stylesheets."""
    added: list[PlannedRule] = []
    for file in files:
        if is_rule_file(file):
            continue
        try:
            found = rml_faults(read_rml(_text(file), str(file)), schema) if _is_rml(file) else []
            yield from found
            if not found:
                compiled = _compiled(file, schema, timeline)
                yield from _clashes(file, compiled, rules, added)
                added += compiled
        except SensorStreamError as error:
            yield error


def _compiled(file: Path, schema: Schema, timeline: Timeline) -> tuple[PlannedRule, ...]:
    if _is_rml(file):
        return compile_rml([read_rml(_text(file), str(file))], schema, timeline)
    return (compile_stylesheet(read_stylesheet(_content(file), str(file)), timeline),)


def _is_rml(file: Path) -> bool:
    return file.suffix.lower() in _RML


def _clashes(
    file: Path,
    compiled: Iterable[PlannedRule],
    rules: Sequence[RuleFile],
    added: Iterable[PlannedRule],
) -> Iterator[LanguageError]:
    taken = {rule.name for each in rules for rule in each.rules} | {rule.name for rule in added}
    for rule in compiled:
        if rule.name in taken:
            yield LanguageError(
                f"there is a rule '{rule.name}' already: expected another name",
                position=Position(str(file), 1, 1),
            )


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SettingsError(f"rules.files: cannot read {file}: {error}") from None


def _text(file: Path) -> str:
    try:
        return _content(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"rules.files: cannot read {file}: {error}") from None
