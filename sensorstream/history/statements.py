"""Statements of history for the server itself: the last values, and all in the order of time.

The last values are read one property after the other: of each individual the newest statements, so
the cost does not grow with its past, and no further index or table has to be kept for it.

All raises :class:`.HistoryError` when the database fails.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from psycopg2 import extensions
from sqlalchemy import Engine, text

from sensorstream.errors import QueryError
from sensorstream.history.database import limited, one_value, opened
from sensorstream.history.term_dictionary import TermKind, term_of
from sensorstream.model import rdf
from sensorstream.model.events import Provenance
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple
from sensorstream.model.timeline import Instant

_MOST_VALUES: Final = 100_000
RECENT: Final = 10_000
"""So many statements of an individual are looked at, the newest."""


@dataclass(frozen=True, slots=True)
class Latest:
    """A value that an individual has, or had last; ``valid_to`` is None while it has it."""

    triple: Triple
    provenance: Provenance
    valid_to: Instant | None
    inferred: bool


class ClassMember(NamedTuple):
    """An individual that had a class until ``valid_to``; ``number`` is its own in the store."""

    valid_to: Instant
    number: int
    name: Subject


_NUMBER: Final = (
    "(select id from store.terms where text = {text} and kind = {kind} "
    "and datatype is null and language is null limit 1)"
)
_TYPE: Final = _NUMBER.format(text=f"'{rdf.TYPE}'", kind=0)

_LATEST: Final = text(
    f"""
select n.name, n.kind, p.text, o.kind, o.text, o.datatype, o.language,
  s.valid_from, s.valid_to, s.message, s.inferred
from (
  select a.name, a.kind, {_NUMBER.format(text="a.name", kind="a.kind")} as subject
  from unnest(cast(:names as text[]), cast(:kinds as smallint[])) as a (name, kind)
) as n
cross join lateral (
  select *, max(valid_to) over (partition by predicate) as last from (
    select predicate, object, valid_from, valid_to, message, inferred from store.statements
    where subject = n.subject order by valid_to desc limit :recent
  ) as recent
) as s
join store.terms as p on p.id = s.predicate
join store.terms as o on o.id = s.object
where s.valid_to = s.last
order by n.name, p.text, o.text, s.inferred
limit :most
"""
)

# Newest partition first. The rows of earlier stays are skipped: one look into the index each.
_MEMBERS: Final = text(
    f"""
select found.valid_to, found.subject, n.kind, n.text from (
  select distinct s.valid_to, s.subject from store.statements as s
  where s.predicate = {_TYPE} and s.object = {_NUMBER.format(text=":class", kind=0)}
  and s.valid_to <= :valid_to and (s.valid_to < :valid_to or s.subject < :number)
  and not exists (
    select 1 from store.statements as l where l.subject = s.subject
    and l.predicate = s.predicate and l.object = s.object and l.valid_to > s.valid_to
  )
  order by s.valid_to desc, s.subject desc limit :limit
) as found join store.terms as n on n.id = found.subject
order by found.valid_to desc, found.subject desc
"""
)


def latest_values(
    database: Engine, names: Collection[Subject], timeout: float
) -> dict[Subject, list[Latest]]:
    """The last values of each property of some individuals, as far as they are in history.

    Several values of a property that ended at the same instant are all there. A property without a
    value among the newest :data:`RECENT` statements of its individual is left out.

    Args:
        names: the individuals.
        timeout: seconds that it may take.

    Raises:
        QueryError: there are more than 100,000 values.
    """
    found: dict[Subject, list[Latest]] = {}
    kinds = [TermKind.BLANK if isinstance(each, BlankNode) else TermKind.IRI for each in names]
    told = {
        "names": [each.removeprefix("_:") for each in names],
        "kinds": [each.value for each in kinds],
        "recent": RECENT,
        "most": _MOST_VALUES + 1,
    }
    with limited(database, "cannot read the latest values", timeout) as connection:
        rows = connection.execute(_LATEST, told).all()
    if len(rows) > _MOST_VALUES:
        raise QueryError(f"there are more than {_MOST_VALUES} values: ask for fewer individuals")
    for name, kind, predicate, *value, valid_from, valid_to, message, inferred in rows:
        subject = cast(Subject, term_of(kind, name))
        triple = (subject, IRI(predicate), term_of(*value))
        said = Provenance(f"m{message}", valid_from)
        found.setdefault(subject, []).append(Latest(triple, said, valid_to, inferred))
    return found


def last_members(
    database: Engine, name: IRI, before: tuple[Instant, int], limit: int, timeout: float
) -> Sequence[ClassMember]:
    """The individuals that had a class, those who had it last first.

    Args:
        database: the history.
        name: the class.
        before: only those after this one, by ``valid_to`` and ``number``, in that order.
        limit: how many at most.
        timeout: seconds that it may take.
    """
    told = {"class": name, "valid_to": before[0], "number": before[1], "limit": limit}
    with limited(database, "cannot read the members of a class", timeout) as connection:
        rows = connection.execute(_MEMBERS, told).all()
    return [
        ClassMember(valid_to, number, cast(Subject, term_of(kind, label)))
        for valid_to, number, kind, label in rows
    ]


_AT_A_TIME: Final = 5_000
_TERMS: Final = ", ".join(f"{t}.kind, {t}.text, {t}.datatype, {t}.language" for t in "upo")
_JOINS: Final = (
    "join store.terms u on u.id = s.subject join store.terms p on p.id = s.predicate "
    "join store.terms o on o.id = s.object"
)


@dataclass(frozen=True, slots=True)
class HeldStatement:
    """A statement and the interval in which it held; ``message`` is a number in the journal."""

    triple: Triple
    stay: int
    message: int
    valid_from: Instant
    valid_to: Instant


@dataclass(frozen=True, slots=True)
class StatementChange:
    """A statement begins (``added``) or ceases to hold at ``time``."""

    time: Instant
    added: bool
    triple: Triple
    stay: int
    message: int


def changes(url: str, start: Instant, end: Instant) -> Iterator[StatementChange]:
    """How what was asserted changed in ``[start, end)``, in the order of time.

    What holds at ``start`` begins there. What has an empty interval never held, and what was
    filled in without a window is left out.
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
    """What was inferred and held at any instant of ``[start, end]``, or ended at ``start``."""
    cursor.execute(
        f"select s.stay, s.message, s.valid_from, s.valid_to, {_TERMS} from store.statements s "
        f"{_JOINS} where s.inferred and s.message > 0 and s.valid_from < s.valid_to "
        "and s.valid_from <= %s and s.valid_to >= %s",
        (end, start),
    )
    for stay, message, valid_from, valid_to, *terms in cursor:
        yield HeldStatement(_triple(terms), stay, message, valid_from, valid_to)


def archived_after(cursor: extensions.cursor, start: Instant) -> Instant | None:
    """Until when statements that ended after ``start`` are in the archive alone; None: none is."""
    query = (
        "select max(ended_before) from store.archives "
        "where state = 'archived' and ended_before > %s"
    )
    found: Instant | None = one_value(cursor, query, (start,))
    return found


def _triple(terms: list[object]) -> Triple:
    subject, predicate, value = (term_of(*terms[n : n + 4]) for n in (0, 4, 8))  # type: ignore[arg-type]
    return cast(Subject, subject), cast(IRI, predicate), value
