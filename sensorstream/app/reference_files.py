"""Reads what mapping rules refer to: tables, functions of the user's own, and the ontology."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sensorstream.app.function_files import read_functions
from sensorstream.errors import LanguageError, SensorStreamError
from sensorstream.language.syntax import RuleFile, Table
from sensorstream.mapping.lookup_tables import parse_table
from sensorstream.mapping.reference_data import ReferenceData, reference_data
from sensorstream.model.terms import Triple


def read_reference(
    files: Sequence[RuleFile], triples: Iterable[Triple], functions: Sequence[Path] = ()
) -> ReferenceData:
    """The lookup tables of rule files, the functions of Python files, an ontology's individuals.

    Raises:
        LanguageError: a table or a function cannot be read; it has the position of its declaration.
        SettingsError: a Python file cannot be read.
    """
    reference, faults = read_reference_with_faults(files, triples, functions)
    for fault in faults:
        raise fault
    return reference


def read_reference_with_faults(
    files: Sequence[RuleFile], triples: Iterable[Triple], functions: Sequence[Path] = ()
) -> tuple[ReferenceData, tuple[SensorStreamError, ...]]:
    """As :func:`read_reference`; a table that cannot be read is empty, a function is left out."""
    tables: dict[str, dict[str, Mapping[str, str]]] = {}
    own, faults = read_functions(functions)
    for file in files:
        for table in file.tables:
            try:
                read = parse_table(table, _text(file, table))
            except LanguageError as error:
                faults.append(error)
                read = {}
            tables.setdefault(file.file, {})[table.name] = read
    return reference_data(tables, triples, own), tuple(faults)


def _text(file: RuleFile, table: Table) -> str:
    path = Path(file.file).parent / table.path
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LanguageError(
            f"table {table.name}: cannot read {path}: {error}", position=table.position
        ) from None
