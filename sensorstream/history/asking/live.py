"""What holds now, brought to PostgreSQL for one question: temporary tables of the session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeAlias

from psycopg2 import extensions

from sensorstream.history.asking.relations import LIVE_STATEMENTS, LIVE_TERMS
from sensorstream.history.copying import Row, copy_command, copy_text
from sensorstream.history.terms import (
    TERM_COLUMNS,
    TermKey,
    look_up,
    number_of,
    rounded,
    term_key,
    term_rows,
)
from sensorstream.model.terms import Term, Triple
from sensorstream.model.timeline import Instant

Standing: TypeAlias = tuple[Triple, int, Instant]
"""A triple that holds now, the graphs that it is in (a sum of :class:`.Origin`), and since when."""

FOREVER: Final[Instant] = -(2**63)
"""Since when static data hold."""

_FIRST_NEW: Final = 2**62
"""Beyond all ids of the dictionary; those below zero belong to the compiler."""

_STATEMENT_COLUMNS: Final = ("subject", "predicate", "object", "number", "marks", "valid_from")
_MAKE: Final = f"""
create temporary table {LIVE_TERMS} (
    id bigint primary key, number numeric, moment timestamptz, kind smallint not null,
    text text not null, datatype text, language text
);
create temporary table {LIVE_STATEMENTS} (
    subject bigint not null, predicate bigint not null, object bigint not null,
    number double precision, marks integer not null, valid_from bigint not null
);
create index on {LIVE_STATEMENTS} (subject);
create index on {LIVE_STATEMENTS} (predicate, object);
create index on {LIVE_STATEMENTS} (predicate, number)
"""
_COPY_TERMS: Final = copy_command(f"pg_temp.{LIVE_TERMS}", TERM_COLUMNS)
_COPY_STATEMENTS: Final = copy_command(f"pg_temp.{LIVE_STATEMENTS}", _STATEMENT_COLUMNS)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The ids of terms: those of the dictionary; others for what only the window knows."""

    known: Mapping[TermKey, int]
    new: Mapping[TermKey, int]

    def of(self, key: TermKey) -> int:
        number = self.known.get(key)
        return self.new[key] if number is None else number


def make_live_tables(cursor: extensions.cursor) -> None:
    """Make the empty tables; in a transaction that may write, before that of the question."""
    cursor.execute(_MAKE)


def fill_live_tables(
    cursor: extensions.cursor, standing: Sequence[Standing]
) -> Mapping[TermKey, int]:
    """Fill the tables; in the transaction of the question, which may be read-only.

    Returns:
        The ids of terms that the dictionary does not know yet: they mean nothing elsewhere.
    """
    keys: dict[Term, TermKey] = {}
    for triple, _, _ in standing:
        for term in triple:
            if term not in keys:
                keys[term] = term_key(term)
    distinct = list(dict.fromkeys(keys.values()))
    known = look_up(cursor, distinct)
    unknown = (key for key in distinct if key not in known)
    new = dict(zip(unknown, count(_FIRST_NEW), strict=False))
    terms = {key: term for term, key in keys.items() if key in new}
    cursor.copy_expert(_COPY_TERMS, copy_text(term_rows(terms, new)))
    rows = _rows(standing, keys, _Numbers(known, new))
    cursor.copy_expert(_COPY_STATEMENTS, copy_text(rows))
    cursor.execute(f"analyze {LIVE_TERMS}; analyze {LIVE_STATEMENTS}")
    return new


def _rows(
    standing: Sequence[Standing], keys: Mapping[Term, TermKey], numbers: _Numbers
) -> Iterator[Row]:
    for (subject, predicate, value), marks, since in standing:
        yield (
            numbers.of(keys[subject]),
            numbers.of(keys[predicate]),
            numbers.of(keys[value]),
            rounded(number_of(value)),
            marks,
            since,
        )
