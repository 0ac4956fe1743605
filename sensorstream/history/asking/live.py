"""What holds now, brought to PostgreSQL for one question: temporary tables of the session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeAlias

from psycopg2 import extensions

from sensorstream.history.asking.relations import LIVE_STATEMENTS, LIVE_STAYS, LIVE_TERMS
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
from sensorstream.model.terms import Subject, Term, Triple
from sensorstream.model.timeline import Instant


@dataclass(frozen=True, slots=True)
class Standing:
    """A triple that holds now: the graphs that it is in (a sum of :class:`.Origin`), since when.

    ``stay`` and ``message`` are the numbers of the stay that it belongs to, and of the message that
    said or caused it; 0 if there is none.
    """

    triple: Triple
    marks: int
    since: Instant
    stay: int = 0
    message: int = 0


@dataclass(frozen=True, slots=True)
class LiveStay:
    """A stay in the window that has not ended; ``message`` is a number in the journal."""

    stay: int
    name: Subject
    entered: Instant
    time: Instant
    message: int


@dataclass(frozen=True, slots=True)
class Present:
    """What holds now, at one instant."""

    statements: Sequence[Standing]
    stays: Sequence[LiveStay]


LiveSource: TypeAlias = Callable[[Callable[[], None]], Present]
"""Gives what holds now, after it called the function that fixes the snapshot of the database: both
are of the same instant."""

FOREVER: Final[Instant] = -(2**63)
"""Since when static data hold."""

_FIRST_NEW: Final = 2**62
"""Beyond all ids of the dictionary; those below zero belong to the compiler."""

_STATEMENT_COLUMNS: Final = (
    "subject",
    "predicate",
    "object",
    "number",
    "marks",
    "valid_from",
    "stay",
    "message",
)
_STAY_COLUMNS: Final = ("stay", "name", "entered", "time", "message")
_MAKE: Final = f"""
create temporary table {LIVE_TERMS} (
    id bigint primary key, number numeric, moment timestamptz, kind smallint not null,
    text text not null, datatype text, language text
);
create temporary table {LIVE_STATEMENTS} (
    subject bigint not null, predicate bigint not null, object bigint not null,
    number double precision, marks integer not null, valid_from bigint not null,
    stay bigint not null, message bigint not null
);
create temporary table {LIVE_STAYS} (
    stay bigint not null, name bigint not null, entered bigint not null, time bigint not null,
    message bigint not null
);
create index on {LIVE_STATEMENTS} (subject);
create index on {LIVE_STATEMENTS} (predicate, object);
create index on {LIVE_STATEMENTS} (predicate, number);
create index on {LIVE_STATEMENTS} (stay)
"""
_COPY_TERMS: Final = copy_command(f"pg_temp.{LIVE_TERMS}", TERM_COLUMNS)
_COPY_STATEMENTS: Final = copy_command(f"pg_temp.{LIVE_STATEMENTS}", _STATEMENT_COLUMNS)
_COPY_STAYS: Final = copy_command(f"pg_temp.{LIVE_STAYS}", _STAY_COLUMNS)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The ids of terms: those of the dictionary; others for what only the window knows."""

    keys: Mapping[Term, TermKey]
    known: Mapping[TermKey, int]
    new: Mapping[TermKey, int]

    def of(self, term: Term) -> int:
        key = self.keys[term]
        number = self.known.get(key)
        return self.new[key] if number is None else number


def begin_question(
    connection: extensions.connection,
    cursor: extensions.cursor,
    begin: Callable[[], None],
    live: LiveSource | None,
) -> Mapping[TermKey, int]:
    """Begin the transaction of a question: read-only, on one snapshot.

    Args:
        connection: the reader's, in no transaction.
        cursor: of the connection.
        begin: executes the first statement, which fixes the snapshot.
        live: fill the temporary tables with what holds now.

    Returns:
        The ids of terms that the dictionary does not know yet: they mean nothing elsewhere.
    """
    if live is not None:
        connection.set_session(readonly=False)
        cursor.execute(_MAKE)
        connection.commit()
    connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
    if live is None:
        begin()
        return {}
    return _fill(cursor, live(begin))


def _fill(cursor: extensions.cursor, present: Present) -> Mapping[TermKey, int]:
    keys: dict[Term, TermKey] = {each.name: term_key(each.name) for each in present.stays}
    for each in present.statements:
        for term in each.triple:
            if term not in keys:
                keys[term] = term_key(term)
    distinct = list(dict.fromkeys(keys.values()))
    known = look_up(cursor, distinct)
    unknown = (key for key in distinct if key not in known)
    new = dict(zip(unknown, count(_FIRST_NEW), strict=False))
    terms = {key: term for term, key in keys.items() if key in new}
    cursor.copy_expert(_COPY_TERMS, copy_text(term_rows(terms, new)))
    numbers = _Numbers(keys, known, new)
    cursor.copy_expert(_COPY_STATEMENTS, copy_text(_rows(present.statements, numbers)))
    stays = (
        (each.stay, numbers.of(each.name), each.entered, each.time, each.message)
        for each in present.stays
    )
    cursor.copy_expert(_COPY_STAYS, copy_text(stays))
    cursor.execute(f"analyze {LIVE_TERMS}; analyze {LIVE_STATEMENTS}; analyze {LIVE_STAYS}")
    return new


def _rows(statements: Iterable[Standing], numbers: _Numbers) -> Iterator[Row]:
    for each in statements:
        subject, predicate, value = each.triple
        yield (
            numbers.of(subject),
            numbers.of(predicate),
            numbers.of(value),
            rounded(number_of(value)),
            each.marks,
            each.since,
            each.stay,
            each.message,
        )
