"""The rule files of a deployment as texts with names, so that they can be changed while it runs.

They are the files of ``rules.files``: in the rule language, RML, or stylesheets; and the rule sets
of the reasoner.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from sensorstream.app.file_kinds import is_over_time, is_rule_set
from sensorstream.app.file_texts import below, text_of
from sensorstream.app.mapping_files import check_sources, is_rml, is_rule_file
from sensorstream.app.rule_sets import (
    read_rule_set_texts,
    rule_set_paths,
    rule_sets_of,
    with_rule_sets,
)
from sensorstream.errors import LanguageError, RulesError, SettingsError
from sensorstream.language.parser import parse, parse_with_recovery
from sensorstream.language.syntax import RuleFile
from sensorstream.language.wellformed import same_names
from sensorstream.mapping.functions import Library
from sensorstream.mapping.reference_data import TABLE_SUFFIX
from sensorstream.settings import Settings

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\.(rules|ttl|turtle|xsl|xslt|ru)")


def rule_paths(settings: Settings) -> dict[str, Path]:
    """The files of ``rules.files``, by name, in their order.

    The name is the last part of the path; if several files have it, the path from the settings'
    folder on.
    """
    paths = settings.rules.files
    often = Counter(each.name for each in paths)
    return {
        each.name if often[each.name] == 1 else below(settings.folder, each): each for each in paths
    }


def read_texts(settings: Settings) -> dict[str, str]:
    """The text of each rule file, and of each rule set of the reasoner, by name.

    Raises:
        SettingsError: a file cannot be read, or is none of ``rules.files``.
    """
    for fault in misplaced(settings):
        raise fault
    texts = {name: text_of(path) for name, path in rule_paths(settings).items()}
    return {**texts, **read_rule_set_texts(settings)}


def misplaced(settings: Settings) -> Iterator[SettingsError]:
    """The files of ``rules.files`` that have their place elsewhere: queries, and rule sets."""
    for path in filter(is_rule_set, settings.rules.files):
        yield SettingsError(
            f"rules.files: {path} is a rule set of the reasoner: name it in reasoning.profile"
        )
    for path in filter(is_over_time, settings.rules.files):
        yield SettingsError(
            f"rules.files: {path} has rules over time, which run as continuous queries: move it "
            "into the folder 'queries' beside the settings; 'sensorstream apply' puts it in force"
        )


def parse_texts(settings: Settings, texts: Mapping[str, str]) -> list[RuleFile]:
    """Parse those texts of rule files that are in the rule language, in their order.

    Raises:
        LanguageError: a text is not in the rule language, or two rules share a name.
    """
    parsed = [
        parse(text, str(path_of(settings, name)))
        for name, text in texts.items()
        if is_rule_file(Path(name))
    ]
    for clash in same_names(parsed):
        raise clash
    return parsed


def path_of(settings: Settings, name: str) -> Path:
    """Where a rule file is, or would be: tables that it names are read from there."""
    paths = {**rule_set_paths(settings), **rule_paths(settings)}
    return paths.get(name) or settings.folder / name


def mapping_paths(settings: Settings, texts: Mapping[str, str]) -> dict[Path, str]:
    """The texts that are no rule sets of the reasoner, by their paths."""
    sets = rule_sets_of(texts)
    return {path_of(settings, name): text for name, text in texts.items() if name not in sets}


def with_others(settings: Settings, texts: Mapping[str, str], *, whole: bool) -> dict[str, str]:
    """Texts that were put, and what the settings have beside them.

    That is the rule sets, if the texts have none, and unless they are ``whole`` the RML files and
    stylesheets. Before a change held all of them, these were always read from disk.

    Raises:
        SettingsError: a file cannot be read.
    """
    if whole:
        return with_rule_sets(settings, texts)
    paths = {n: path for n, path in rule_paths(settings).items() if not is_rule_file(path)}
    others = {name: text_of(path) for name, path in paths.items()}
    return with_rule_sets(settings, {**texts, **others})


def table_names(settings: Settings, tables: Mapping[Path, str]) -> dict[str, str]:
    """Texts of files that rules name, by paths from the settings' folder on: it can be moved."""
    return {below(settings.folder, path): text for path, text in tables.items()}


def table_paths(settings: Settings, tables: Mapping[str, str]) -> dict[Path, str]:
    """The opposite of :func:`table_names`."""
    return {(settings.folder / name).resolve(): text for name, text in tables.items()}


def checked_name(name: str) -> str:
    """The name itself, if a new rule file can have it.

    Raises:
        RulesError: no rule file can have this name.
    """
    if is_over_time(Path(name)):
        raise RulesError(
            f"'{name[:60]}': rules over time run as continuous queries and are put one by one, "
            f"with the Datalog rules that they need before them: PUT /rules/NAME.dotr, or "
            "queries/NAME.dotr in the folder of 'sensorstream apply'"
        )
    if not _NAME.fullmatch(name):
        raise RulesError(
            f"'{name[:60]}' is not a name of a rule file: expected letters, digits, '_', '-' and "
            "'.', and the end '.rules' (in the rule language), '.ttl' (RML), '.xsl' (XSLT) or "
            "'.ru' (a rule set of the reasoner)"
        )
    return name


def check_named(settings: Settings, texts: Mapping[str, str], library: Library) -> None:
    """Check that the files that rules name which were sent lie in the deployment's folder, and that
    tables are CSV files by their names.

    Args:
        settings: those of the deployment.
        texts: of rule files, by name.
        library: the functions that RML may name.

    Raises:
        LanguageError: one does not: it might be any file of this machine. Or a text cannot be read.
    """
    for name, text in texts.items():
        path = path_of(settings, name)
        if is_rml(path):
            check_sources(path, text, settings.folder, settings.rules.base, library)
        elif is_rule_file(path):
            tree, _ = parse_with_recovery(text, str(path))
            if tree is not None:
                _check_tables(settings.folder, tree)


def _check_tables(folder: Path, file: RuleFile) -> None:
    for table in file.tables:
        path = (Path(file.file).parent / table.path).resolve()
        # The folder holds secrets, too.
        if not path.is_relative_to(folder.resolve()) or path.suffix.lower() != TABLE_SUFFIX:
            raise LanguageError(
                f"table {table.name}: {table.path} is not a file of the deployment's folder whose "
                f"name ends with '{TABLE_SUFFIX}': rules that are sent may only name such tables",
                position=table.position,
            )
