"""Reads what mapping rules refer to: tables, functions of the user's own, and the ontology."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from sensorstream.app.function_files import read_functions
from sensorstream.errors import LanguageError, SensorStreamError
from sensorstream.language.syntax import RuleFile, Table
from sensorstream.mapping.functions import Definition
from sensorstream.mapping.reference_data import ReferenceData, parse_table, reference_data
from sensorstream.model.terms import Triple

Functions: TypeAlias = Sequence[Path] | Mapping[str, Definition]


def read_reference(
    files: Sequence[RuleFile],
    triples: Iterable[Triple],
    functions: Functions = (),
    tables: Mapping[Path, str] | None = None,
) -> ReferenceData:
    """The lookup tables of rule files, the functions of Python files, an ontology's individuals.

    ``functions`` are those files, or functions that were read from them before.
    ``tables`` are texts that count instead of those on disk; see :func:`read_tables`.

    Raises:
        LanguageError: a table or a function cannot be read; it has the position of its declaration.
        SettingsError: a Python file cannot be read.
    """
    reference, faults = read_reference_with_faults(files, triples, functions, tables)
    for fault in faults:
        raise fault
    return reference


def read_tables(files: Sequence[RuleFile]) -> dict[Path, str]:
    """The text of each table that rule files name, by its path.

    Raises:
        LanguageError: a table cannot be read; it has the position of its declaration.
    """
    return {_path(file, table): _text(file, table) for file in files for table in file.tables}


def read_reference_with_faults(
    files: Sequence[RuleFile],
    triples: Iterable[Triple],
    functions: Functions = (),
    tables: Mapping[Path, str] | None = None,
) -> tuple[ReferenceData, tuple[SensorStreamError, ...]]:
    """As :func:`read_reference`; a table that cannot be read is empty, a function is left out."""
    parsed: dict[str, dict[str, Mapping[str, str]]] = {}
    own: Mapping[str, Definition]
    faults: list[SensorStreamError] = []
    if isinstance(functions, Mapping):
        own = functions
    else:
        own, faults = read_functions(functions)
    for file in files:
        for table in file.tables:
            try:
                text = _text(file, table) if tables is None else _given(file, table, tables)
                read = parse_table(table, text)
            except LanguageError as error:
                faults.append(error)
                read = {}
            parsed.setdefault(file.file, {})[table.name] = read
    return reference_data(parsed, triples, own), tuple(faults)


def _path(file: RuleFile, table: Table) -> Path:
    return (Path(file.file).parent / table.path).resolve()


def _given(file: RuleFile, table: Table, tables: Mapping[Path, str]) -> str:
    text = tables.get(_path(file, table))
    if text is None:
        raise LanguageError(
            f"table {table.name}: {table.path} is not among the tables put with the rules",
            position=table.position,
        )
    return text


def _text(file: RuleFile, table: Table) -> str:
    path = _path(file, table)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LanguageError(
            f"table {table.name}: cannot read {path}: {error}", position=table.position
        ) from None
