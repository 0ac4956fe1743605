"""Reads the reference data of mapping rules: tables named in rule files, and the ontology."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sensorstream.errors import LanguageError
from sensorstream.language.syntax import RuleFile, Table
from sensorstream.mapping.lookup_tables import parse_table
from sensorstream.mapping.reference_data import ReferenceData, reference_data
from sensorstream.model.terms import Triple


def read_reference(files: Sequence[RuleFile], triples: Iterable[Triple]) -> ReferenceData:
    """The lookup tables of rule files, and the individuals of an ontology.

    Raises:
        LanguageError: a table cannot be read; it has the position of its declaration.
    """
    reference, faults = read_reference_with_faults(files, triples)
    for fault in faults:
        raise fault
    return reference


def read_reference_with_faults(
    files: Sequence[RuleFile], triples: Iterable[Triple]
) -> tuple[ReferenceData, tuple[LanguageError, ...]]:
    """As :func:`read_reference`; a table that cannot be read is empty."""
    tables: dict[str, dict[str, Mapping[str, str]]] = {}
    faults: list[LanguageError] = []
    for file in files:
        for table in file.tables:
            try:
                read = parse_table(table, _text(file, table))
            except LanguageError as error:
                faults.append(error)
                read = {}
            tables.setdefault(file.file, {})[table.name] = read
    return reference_data(tables, triples), tuple(faults)


def _text(file: RuleFile, table: Table) -> str:
    path = Path(file.file).parent / table.path
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LanguageError(
            f"table {table.name}: cannot read {path}: {error}", position=table.position
        ) from None
