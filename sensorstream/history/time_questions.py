"""SQL functions of schema ``history`` for questions about time, on both time lines."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from psycopg2 import extensions

from sensorstream.model.timeline import Timeline

# The comment of each function contains it, so that a user's own is never touched.
_MARK: Final = "SensorStream:"

_GAPS: Final = """
  select subject, until, valid_from from (
    select s.subject, s.valid_from, max(s.valid_to) over (
      partition by s.subject order by s.valid_from, s.valid_to
      rows between unbounded preceding and 1 preceding
    ) as until
    from history.statements as s where s.predicate = property
  ) as known
  where {distance} > longest order by subject, valid_from
"""

_SESSIONS: Final = """
  select subject, min(valid_from), max(valid_to), count(*) from (
    select subject, valid_from, valid_to, count(*) filter (where starts) over (
      partition by subject order by valid_from, valid_to rows unbounded preceding
    ) as number
    from (
      select subject, valid_from, valid_to, until is null or {distance} > longest as starts
      from (
        select s.subject, s.valid_from, s.valid_to, max(s.valid_to) over (
          partition by s.subject order by s.valid_from, s.valid_to
          rows between unbounded preceding and 1 preceding
        ) as until
        from history.statements as s where s.predicate = property
      ) as known
    ) as begun
  ) as numbered
  group by subject, number order by subject, min(valid_from)
"""


@dataclass(frozen=True, slots=True)
class _Function:
    name: str
    arguments: str
    result: str
    volatility: str
    body: str
    comment: str


def install_functions(cursor: extensions.cursor, timeline: Timeline) -> None:
    """Make the functions that are not there yet, or were made by another version.

    A function of the user with the same name and arguments stays as it is.
    """
    for each in _functions(timeline):
        digest = hashlib.sha256(repr(each).encode()).hexdigest()[:12]
        comment = f"{_MARK} {each.comment} [{digest}]"
        # "property text, longest bigint": the types are what identifies it.
        types = ", ".join(argument.split(" ", 1)[1] for argument in each.arguments.split(", "))
        signature = f"history.{each.name}({types})"
        cursor.execute(
            "select obj_description(to_regprocedure(%s), 'pg_proc'), "
            "to_regprocedure(%s) is not null",
            (signature, signature),
        )
        row = cursor.fetchone()
        assert row is not None
        told, there = row
        if there and (told == comment or not (told or "").startswith(_MARK)):
            continue
        if there:
            cursor.execute(f"drop function {signature}")
        cursor.execute(
            f"create function history.{each.name}({each.arguments}) returns {each.result} "
            f"language sql {each.volatility} parallel safe as $body${each.body}$body$"
        )
        cursor.execute(f"comment on function {signature} is %s", (comment,))


def _functions(timeline: Timeline) -> tuple[_Function, ...]:
    if timeline is Timeline.INTEGER:
        time, width = "bigint", "bigint"
        # A difference of two bigint may be none.
        distance = "valid_from::numeric - until"
        bucket = "select moment - ((moment % width) + width) % width"
    else:
        time, width = "timestamp with time zone", "interval"
        distance = "valid_from - until"
        bucket = "select date_bin(width, moment, timestamptz '1970-01-01 00:00:00+00')"
    return (
        _Function(
            "time_bucket",
            f"width {width}, moment {time}",
            time,
            "immutable strict",
            bucket,
            "the beginning of the bucket that a time is in; one begins at 0 or 1970-01-01T00:00Z",
        ),
        _Function(
            "gaps",
            f"property text, longest {width}",
            f"table (iri text, gap_from {time}, gap_to {time})",
            "stable",
            _GAPS.format(distance=distance),
            "where an individual had no value of a property for longer than a time",
        ),
        _Function(
            "sessions",
            f"property text, longest {width}",
            f'table (iri text, session_from {time}, session_to {time}, "values" bigint)',
            "stable",
            _SESSIONS.format(distance=distance),
            "the values of a property, parted where a gap is longer than a time",
        ),
    )
