"""Reference data: values that rules may look up beside the message. It is fixed when the rules are
compiled, so that mapping gives the same result in the server, on replay and in bulk.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from sensorstream.errors import LanguageError, shortened
from sensorstream.language.syntax import LookupTable
from sensorstream.mapping.functions.function_definition import Definition, Library, Tables
from sensorstream.model import rdf
from sensorstream.model.frozen import field, frozen
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.vocabulary import OWL, RDF, RDFS
from sensorstream.model.xsd import TimelineMoment

Find: TypeAlias = Callable[[Literal], tuple[IRI, ...]]
_NOBODY: Final[tuple[IRI, ...]] = ()
_OF_INDIVIDUALS: Final = frozenset((f"{OWL}NamedIndividual", f"{OWL}Thing"))
_NO_TABLES: Final[Tables] = {}
NO_FUNCTIONS: Final[Mapping[str, Definition]] = {}


@frozen
class ReferenceData:
    """Lookup tables by rule file, the user's own functions, and the ontology's individuals: names
    with one of its own classes as type (or ``owl:NamedIndividual``, or ``owl:Thing``).
    """

    tables: Mapping[str, Tables] = field(default_factory=dict)
    functions: Mapping[str, Definition] = field(default_factory=dict)
    types: Mapping[IRI, frozenset[IRI]] = field(default_factory=dict)
    values: Mapping[IRI, tuple[tuple[IRI, Literal], ...]] = field(default_factory=dict)

    def library_of(self, file: str) -> Library:
        """The tables that a rule file declares, and the functions for all files."""
        return Library(self.tables.get(file, _NO_TABLES), self.functions)

    def members(self, name: IRI, schema: Schema) -> frozenset[IRI]:
        """The individuals stated to be members of a class or of one of its subclasses."""
        classes = {name, *schema.subclasses(name)}
        return frozenset(
            each for each, types in self.types.items() if not classes.isdisjoint(types)
        )

    def members_by(self, name: IRI, key: IRI, schema: Schema) -> Find:
        """A function from a value of ``key`` to the members of a class that have it. Values are the
        same if they are the same number or time, or the same text.
        """
        members = self.members(name, schema)
        found: dict[object, dict[IRI, None]] = {}
        for individual, value in self.values.get(key, ()):
            if individual in members:
                for each in _keys(value):
                    found.setdefault(each, {})[individual] = None
        index = {each: tuple(individuals) for each, individuals in found.items()}

        def find(value: Literal) -> tuple[IRI, ...]:
            for each in _keys(value):
                if each in index:
                    return index[each]
            return _NOBODY

        return find


NO_REFERENCE: Final = ReferenceData()


def reference_data(
    tables: Mapping[str, Tables],
    triples: Iterable[Triple],
    functions: Mapping[str, Definition] = NO_FUNCTIONS,
) -> ReferenceData:
    """Tables (by rule file, then name), functions, and the individuals of an ontology's triples."""
    types: dict[IRI, set[IRI]] = {}
    values: dict[IRI, list[tuple[IRI, Literal]]] = {}
    for subject, predicate, value in triples:
        if not isinstance(subject, IRI):
            continue
        if predicate == rdf.TYPE and isinstance(value, IRI):
            if value in _OF_INDIVIDUALS or not value.startswith((OWL, RDF, RDFS)):
                types.setdefault(subject, set()).add(value)
        elif isinstance(value, Literal):
            values.setdefault(predicate, []).append((subject, value))
    return ReferenceData(
        tables,
        functions,
        {subject: frozenset(told) for subject, told in types.items()},
        {predicate: tuple(told) for predicate, told in values.items()},
    )


def _keys(literal: Literal) -> tuple[object, ...]:
    """The key by which two literals are the same: value, then text."""
    value = literal.known
    if value is None or isinstance(value, str):
        return (literal.lexical,)
    if isinstance(value, TimelineMoment):
        value = value.utc
    # In Python True == 1, but a boolean is not a number.
    return ((isinstance(value, bool), value), literal.lexical)


# Lookup tables: from a CSV file's text to a dictionary


TABLE_SUFFIX: Final = ".csv"
"""The end of the names of files that are tables."""


def parse_table(table: LookupTable, text: str) -> Mapping[str, str]:
    """The key column to the value column of comma-separated text (RFC 4180) with a header.

    Outer white space of headers, keys and values is cut; a line with an empty key or an empty value
    is ignored.

    Raises:
        LanguageError: at the declaration: no such column, a line with another number of columns, or
            a key with two values.
    """
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    try:
        header = [name.strip() for name in next(rows, [])]
        columns = [_column(table, header, name) for name in (table.key, table.value)]
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise _fault(
                    table, f"line {rows.line_num} has {len(row)} columns, expected {len(header)}"
                )
            key, value = (row[column].strip() for column in columns)
            if not key or not value:
                continue
            if found.setdefault(key, value) != value:
                raise _fault(
                    table,
                    f"line {rows.line_num}: '{key}' has the value '{found[key]}' already, "
                    f"at line {lines[key]}",
                )
            lines.setdefault(key, rows.line_num)
    except csv.Error as error:
        raise _fault(table, f"line {rows.line_num}: not CSV: {error}") from None
    return found


def _column(table: LookupTable, header: list[str], name: str) -> int:
    if name not in header:
        # The first line of a file that is no table may be a secret.
        known = table.path.lower().endswith(TABLE_SUFFIX)
        there = shortened(", ".join(header)) or "nothing"
        told = f"one of {there}" if known else "a line with the names of the columns first"
        raise _fault(table, f"there is no column '{name}': expected {told}")
    if header.count(name) > 1:
        raise _fault(table, f"several columns are called '{name}': expected one")
    return header.index(name)


def _fault(table: LookupTable, message: str) -> LanguageError:
    return LanguageError(f"table {table.name}, {table.path}: {message}", position=table.position)
