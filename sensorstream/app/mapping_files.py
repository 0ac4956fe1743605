"""Mapping files in other languages than the rule language: RML and stylesheets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Final

from sensorstream.app.file_kinds import is_rule_set
from sensorstream.app.file_texts import FileTexts
from sensorstream.errors import (
    LanguageError,
    MalformedMessage,
    Position,
    SensorStreamError,
    SettingsError,
)
from sensorstream.language.syntax import RuleFile
from sensorstream.mapping.document import Document, parse_document
from sensorstream.mapping.functions.definition import NO_LIBRARY, Library
from sensorstream.mapping.plan import MappingPlan, PlannedRule
from sensorstream.mapping.rml import Surroundings, compile_maps, compile_rml, joined_files, read_rml
from sensorstream.mapping.rml.model import LogicalSource, RmlMapping
from sensorstream.mapping.rml.rml_check import faults as rml_faults
from sensorstream.mapping.stylesheet import read_stylesheet
from sensorstream.mapping.xslt import compile_stylesheet
from sensorstream.model.schema import Schema
from sensorstream.model.timeline import Timeline

RULES_TYPE: Final = "text/plain"
RML_TYPE: Final = "text/turtle"
STYLESHEET_TYPE: Final = "application/xslt+xml"
_RML: Final = frozenset((".ttl", ".turtle"))
_STYLESHEETS: Final = frozenset((".xsl", ".xslt"))
RULE_SET_TYPE: Final = "application/sparql-update"
_MAX_DEPTH: Final = 256
"""How deep files may be nested: what libxml2 allows."""


def is_rule_file(file: Path) -> bool:
    """Whether a file is in the rule language, by its name."""
    return file.suffix.lower() not in _RML | _STYLESHEETS and not is_rule_set(file)


def type_of(file: str) -> str:
    """The media type of a file of rules, RML or XSLT, or of a rule set, by its name."""
    ending = PurePath(file).suffix.lower()
    if ending in _RML:
        return RML_TYPE
    if is_rule_set(PurePath(file)):
        return RULE_SET_TYPE
    return STYLESHEET_TYPE if ending in _STYLESHEETS else RULES_TYPE


def with_mapping_files(
    plan: MappingPlan,
    rules: Sequence[RuleFile],
    files: Sequence[Path],
    schema: Schema,
    timeline: Timeline,
    base: str = "",
    library: Library = NO_LIBRARY,
    transform_seconds: float | None = None,
    texts: FileTexts | None = None,
) -> MappingPlan:
    """The plan of the rule files, followed by the RML files and stylesheets.

    ``base`` completes the IRIs that RML makes from values, ``library`` holds the functions that RML
    may name. ``transform_seconds`` is how long a stylesheet may take; see
    :func:`.compile_stylesheet`. ``texts`` are those of the files; None: those on disk.

    Raises:
        LanguageError: a file cannot be compiled, or two rules share a name.
        SettingsError: a file cannot be read.
    """
    added: list[PlannedRule] = []
    texts = texts or FileTexts()
    for file in files:
        if not is_rule_file(file):
            compiled = _compiled(file, schema, timeline, base, library, texts, transform_seconds)
            for clash in _clashes(file, compiled, rules, added):
                raise clash
            added += compiled
    return replace(plan, rules=plan.rules + tuple(added))


def single_maps(
    files: Sequence[Path],
    schema: Schema,
    timeline: Timeline,
    base: str = "",
    library: Library = NO_LIBRARY,
    texts: FileTexts | None = None,
) -> tuple[PlannedRule, ...]:
    """Each triples map and each stylesheet as a separate rule, to report its results.

    ``texts`` are those of the files; None: what is on disk.

    Raises:
        LanguageError: a file cannot be compiled.
        SettingsError: a file cannot be read.
    """
    found: list[PlannedRule] = []
    texts = texts or FileTexts()
    for file in files:
        if is_rml(file):
            mapping = read_rml(texts.text(file), str(file), base, library)
            found += compile_maps(mapping, timeline, _surroundings(mapping, file, library, texts))
        elif not is_rule_file(file):
            found += _compiled(file, schema, timeline, base, library, texts)
    return tuple(found)


def mapping_file_faults(
    rules: Sequence[RuleFile],
    files: Sequence[Path],
    schema: Schema,
    timeline: Timeline,
    base: str = "",
    library: Library = NO_LIBRARY,
    texts: FileTexts | None = None,
) -> Iterator[SensorStreamError]:
    """All faults of the RML files and stylesheets; see :func:`with_mapping_files`."""
    added: list[PlannedRule] = []
    texts = texts or FileTexts()
    for file in files:
        if is_rule_file(file):
            continue
        try:
            found: list[LanguageError] = []
            if is_rml(file):
                mapping = read_rml(texts.text(file), str(file), base, library)
                found = [*rml_faults(mapping, schema, library), *_absent(mapping, file, texts)]
            yield from found
            if not found:
                compiled = _compiled(file, schema, timeline, base, library, texts)
                yield from _clashes(file, compiled, rules, added)
                added += compiled
        except SensorStreamError as error:
            yield error


def _compiled(
    file: Path,
    schema: Schema,
    timeline: Timeline,
    base: str,
    library: Library,
    texts: FileTexts,
    seconds: float | None = None,
) -> tuple[PlannedRule, ...]:
    if is_rml(file):
        mapping = read_rml(texts.text(file), str(file), base, library)
        for fault in _absent(mapping, file, texts):
            raise fault
        around = _surroundings(mapping, file, library, texts)
        return compile_rml([mapping], schema, timeline, around)
    stylesheet = read_stylesheet(texts.text(file).encode(), str(file))
    return (compile_stylesheet(stylesheet, timeline, seconds),)


def check_sources(
    file: Path, text: str, folder: Path, base: str = "", library: Library = NO_LIBRARY
) -> None:
    """Check that the files that an RML file names as sources lie in a folder.

    Raises:
        LanguageError: one does not, or the text cannot be read.
    """
    for each in read_rml(text, str(file), base, library).maps:
        path = _path(each.source, file)
        if path is not None and not path.resolve().is_relative_to(folder.resolve()):
            raise LanguageError(
                f"triples map <{each.key}>: rml:source '{each.source.name}' is not a file of the "
                "deployment's folder: rules that are sent may only name files there",
                position=each.position,
            )


def _absent(mapping: RmlMapping, file: Path, texts: FileTexts) -> Iterator[LanguageError]:
    """Files that the mapping names as sources, and that are not there."""
    for each in mapping.maps:
        path = _path(each.source, file)
        if path is not None and not texts.there(path):
            yield LanguageError(
                f"triples map <{each.key}>: rml:source '{each.source.name}': there is no such file "
                f"in {path.parent}: expected a file (a sample of the messages, or what they are "
                "joined with), or no rml:source",
                position=each.position,
            )


def _surroundings(
    mapping: RmlMapping, file: Path, library: Library, texts: FileTexts
) -> Surroundings:
    """The functions, and the files that messages are joined with."""
    found: dict[str, Document] = {}
    for source in joined_files(mapping):
        path = _path(source, file)
        assert path is not None, "the reader refuses joins with sources that are no files"
        try:
            found[source.name] = parse_document(texts.text(path).encode(), max_depth=_MAX_DEPTH)
        except MalformedMessage as error:
            raise SettingsError(f"rules.files: {path}, joined by {file}: {error.message}") from None
    return Surroundings(library, found)


def _path(source: LogicalSource, file: Path) -> Path | None:
    """The path of a source that is a file; None if it is no file."""
    if source.root is None:
        return None
    return (file.parent if source.root == "mapping" else Path.cwd()) / source.name


def is_rml(file: Path) -> bool:
    """Whether a file is RML, by its name."""
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
