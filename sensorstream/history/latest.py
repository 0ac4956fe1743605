"""The last values of individuals in history, one property after the other.

Of each individual the newest statements are read, so the cost does not grow with its past, and no
further index or table has to be kept for it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from sqlalchemy import Connection, Engine, text

from sensorstream.errors import QueryError
from sensorstream.history.database import translating
from sensorstream.history.terms import Kind, term_of
from sensorstream.model.events import Provenance
from sensorstream.model.terms import IRI, BlankNode, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.model.vocabulary import RDF_TYPE

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


class Member(NamedTuple):
    """An individual that had a class until ``valid_to``; ``number`` is its own in the store."""

    valid_to: Instant
    number: int
    name: Subject


_NUMBER: Final = (
    "(select id from store.terms where text = {text} and kind = {kind} "
    "and datatype is null and language is null limit 1)"
)
_TYPE: Final = _NUMBER.format(text=f"'{RDF_TYPE}'", kind=0)

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
        HistoryError: the database fails.
    """
    found: dict[Subject, list[Latest]] = {}
    kinds = [Kind.BLANK if isinstance(each, BlankNode) else Kind.IRI for each in names]
    told = {
        "names": [each.removeprefix("_:") for each in names],
        "kinds": [each.value for each in kinds],
        "recent": RECENT,
        "most": _MOST_VALUES + 1,
    }
    with translating("cannot read the latest values"), database.begin() as connection:
        limit_time(connection, timeout)
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
) -> Sequence[Member]:
    """The individuals that had a class, those who had it last first.

    Args:
        database: the history.
        name: the class.
        before: only those after this one, by ``valid_to`` and ``number``, in that order.
        limit: how many at most.
        timeout: seconds that it may take.

    Raises:
        HistoryError: the database fails.
    """
    told = {"class": name, "valid_to": before[0], "number": before[1], "limit": limit}
    with translating("cannot read the members of a class"), database.begin() as connection:
        limit_time(connection, timeout)
        rows = connection.execute(_MEMBERS, told).all()
    return [
        Member(valid_to, number, cast(Subject, term_of(kind, label)))
        for valid_to, number, kind, label in rows
    ]


def limit_time(connection: Connection, timeout: float) -> None:
    """Let no statement of a transaction take longer than ``timeout`` seconds."""
    told = {"ms": str(max(1, round(timeout * 1000)))}
    connection.execute(text("select set_config('statement_timeout', :ms, true)"), told)
