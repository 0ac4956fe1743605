"""The rule files of a deployment as texts with names, so that they can be changed while it runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sensorstream.app.mapping_files import is_rule_file
from sensorstream.errors import LanguageError, RulesError, SettingsError
from sensorstream.language.parser import parse
from sensorstream.language.syntax import RuleFile
from sensorstream.language.wellformed import same_names
from sensorstream.settings import Settings

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\.rules")


def rule_paths(settings: Settings) -> dict[str, Path]:
    """The files of ``rules.files`` that are in the rule language, by name, in their order.

    The name is the last part of the path; if several files have it, the path from the settings'
    folder on.
    """
    paths = [each for each in settings.rules.files if is_rule_file(each)]
    often = Counter(each.name for each in paths)
    return {
        each.name if often[each.name] == 1 else _below(settings.folder, each): each
        for each in paths
    }


def read_texts(settings: Settings) -> dict[str, str]:
    """The text of each rule file, by name.

    Raises:
        SettingsError: a file cannot be read.
    """
    return {name: _text(path) for name, path in rule_paths(settings).items()}


def parse_texts(settings: Settings, texts: Mapping[str, str]) -> list[RuleFile]:
    """Parse texts of rule files, in their order.

    Raises:
        LanguageError: a text is not in the rule language, or two rules share a name.
    """
    parsed = [parse(text, str(path_of(settings, name))) for name, text in texts.items()]
    for clash in same_names(parsed):
        raise clash
    return parsed


def path_of(settings: Settings, name: str) -> Path:
    """Where a rule file is, or would be: tables that it names are read from there."""
    return rule_paths(settings).get(name, settings.folder / name)


def table_names(settings: Settings, tables: Mapping[Path, str]) -> dict[str, str]:
    """Texts of tables, by their paths from the settings' folder on, so that it can be moved."""
    return {_below(settings.folder, path): text for path, text in tables.items()}


def table_paths(settings: Settings, tables: Mapping[str, str]) -> dict[Path, str]:
    """The opposite of :func:`table_names`."""
    return {(settings.folder / name).resolve(): text for name, text in tables.items()}


def checked_name(name: str) -> str:
    """The name itself, if a new rule file can have it.

    Raises:
        RulesError: no rule file can have this name.
    """
    if not _NAME.fullmatch(name):
        raise RulesError(
            f"'{name[:60]}' is not a name of a rule file: expected letters, digits, '_', '-' and "
            "'.', and the end '.rules'. RML files and stylesheets take effect at the next start"
        )
    return name


def check_tables(settings: Settings, files: list[RuleFile]) -> None:
    """Check that the tables of rules that were sent lie in the deployment's folder.

    Raises:
        LanguageError: one does not: it might be any file of this machine.
    """
    folder = settings.folder.resolve()
    for file in files:
        for table in file.tables:
            path = (Path(file.file).parent / table.path).resolve()
            if not path.is_relative_to(folder):
                raise LanguageError(
                    f"table {table.name}: {table.path} is not a file of the deployment's folder: "
                    "rules that are sent may only name tables there",
                    position=table.position,
                )


def _below(folder: Path, path: Path) -> str:
    try:
        return path.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return path.as_posix()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"rules.files: cannot read {path}: {error}") from None
