"""Statements of history for the server itself, in the order of time.

All functions raise :class:`.HistoryError` when the database fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from psycopg2 import extensions

from sensorstream.history.database import one_value, opened
from sensorstream.history.term_dictionary import term_of
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, Subject, Triple
from sensorstream.model.timeline import Instant

_AT_A_TIME: Final = 5_000
_TERMS: Final = ", ".join(f"{t}.kind, {t}.text, {t}.datatype, {t}.language" for t in "upo")
_JOINS: Final = (
    "join store.terms u on u.id = s.subject join store.terms p on p.id = s.predicate "
    "join store.terms o on o.id = s.object"
)


@frozen
class HeldStatement:
    """A statement and the interval in which it held; ``message`` is a number in the journal."""

    triple: Triple
    stay: int
    message: int
    valid_from: Instant
    valid_to: Instant


@frozen
class StatementChange:
    """A statement begins (``added``) or ceases to hold at ``time``."""

    time: Instant
    added: bool
    triple: Triple
    stay: int
    message: int


def changes(url: str, start: Instant, end: Instant) -> Iterator[StatementChange]:
    """The changes of asserted statements in ``[start, end)``, in the order of time.

    Statements that hold at ``start`` begin there. Empty intervals, and statements that were filled
    in without a window, are left out.
    """
    query = (
        f"select c.time, c.added, c.stay, c.message, {_TERMS} from ("
        "select greatest(valid_from, %(start)s) as time, true as added, stay, message, subject, "
        "predicate, object from store.statements where {held} union all "
        "select valid_to, false, stay, message, subject, predicate, object "
        "from store.statements where {held} and valid_to < %(end)s"
        f") as c {_JOINS.replace('s.', 'c.')} order by c.time, c.added"
    ).replace(
        "{held}",
        "not inferred and message > 0 and valid_from < valid_to and valid_from < %(end)s "
        "and valid_to > %(start)s",
    )
    doing, name = "cannot read the statements", "sensorstream rereason"
    with opened(url, doing, application=name, at_a_time=_AT_A_TIME) as cursor:
        cursor.execute(query, {"start": start, "end": end})
        for time, added, stay, message, *terms in cursor:
            yield StatementChange(time, added, _triple(terms), stay, message)


def inferred_between(
    cursor: extensions.cursor, start: Instant, end: Instant
) -> Iterator[HeldStatement]:
    """The inferred statements that held in ``[start, end]``, or ended at ``start``."""
    cursor.execute(
        f"select s.stay, s.message, s.valid_from, s.valid_to, {_TERMS} from store.statements s "
        f"{_JOINS} where s.inferred and s.message > 0 and s.valid_from < s.valid_to "
        "and s.valid_from <= %s and s.valid_to >= %s",
        (end, start),
    )
    for stay, message, valid_from, valid_to, *terms in cursor:
        yield HeldStatement(_triple(terms), stay, message, valid_from, valid_to)


def archived_after(cursor: extensions.cursor, start: Instant) -> Instant | None:
    """The time up to which ends after ``start`` are in the archive alone; None: there is none."""
    query = (
        "select max(ended_before) from store.archives "
        "where state = 'archived' and ended_before > %s"
    )
    found: Instant | None = one_value(cursor, query, (start,))
    return found


def _triple(terms: list[object]) -> Triple:
    subject, predicate, value = (term_of(*terms[n : n + 4]) for n in (0, 4, 8))  # type: ignore[arg-type]
    return cast(Subject, subject), cast(IRI, predicate), value
