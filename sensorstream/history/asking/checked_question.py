"""A checked SPARQL query over history: its text, its valid time, its graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sensorstream.errors import Position, QueryError, TermError
from sensorstream.model.frozen import frozen, replace
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.sparql.algebra import Dataset, Query, ValidTime, Variable
from sensorstream.sparql.answerable import check_answerable, check_graphs
from sensorstream.sparql.query_parser import Parsed, read_query
from sensorstream.sparql.query_printer import algebra_lines
from sensorstream.sparql.text_bounds import MOST_TOKENS

# The sources that a SPARQL query may read.
CACHE: Final = "cache"
"""The window with the static data."""
HISTORY: Final = "history"
"""Everything that left the window."""
ALL: Final = "all"
"""The window and history together."""
SPARK: Final = "spark"
"""History, read by Spark."""
ARCHIVE: Final = "archive"
"""Everything that left PostgreSQL for the archive."""
_BEGINNING: Final[Instant] = -(2**63) + 1
"""A time before the end of every statement of history."""


@frozen
class AtInstant:
    """The valid time of statements that held at an instant: ``valid_from <= at < valid_to``."""

    at: Instant


@frozen
class Interval:
    """The valid time of statements that held at any instant of ``[start, end)``."""

    start: Instant
    end: Instant


@frozen
class CheckedQuestion:
    """A checked query.

    ``time`` None: statements that ever held. ``parsed`` has the places of the query's parts, for
    errors.
    """

    query: Query
    parsed: Parsed[Query]
    time: AtInstant | Interval | None = None


def read_question(
    text: str,
    timeline: Timeline,
    *,
    at: str | None = None,
    during: str | None = None,
    default_graphs: Sequence[str] = (),
    named_graphs: Sequence[str] = (),
) -> CheckedQuestion:
    """Read a query over history: SELECT, ASK, CONSTRUCT or DESCRIBE, perhaps with AT or DURING.
    ``at`` and ``during`` (``start/end``) are the same as these; ``default_graphs`` and
    ``named_graphs`` stand instead of FROM and FROM NAMED, as the SPARQL Protocol has it.

    Raises QueryError if it is not SPARQL 1.1, or a part of it that history cannot answer, with the
    place; for a time that is not of the time line; and for more than one valid time.
    """
    parsed = read_query(text, start=Position("query", 1, 1), most_tokens=MOST_TOKENS)
    check_answerable(parsed, history=True)
    check_graphs(default_graphs, "default-graph-uri", history=True)
    check_graphs(named_graphs, "named-graph-uri", history=True)
    query = parsed.meaning
    if default_graphs or named_graphs:
        dataset = Dataset(tuple(map(IRI, default_graphs)), tuple(map(IRI, named_graphs)))
        query = replace(query, dataset=dataset)
    return CheckedQuestion(query, parsed, _valid_time(parsed, timeline, at, during))


def question_before(parsed: Parsed[Query], timeline: Timeline, end: Instant) -> CheckedQuestion:
    """A question about the time before ``end``, unless it has a valid time of its own.

    ``parsed`` is checked, and its valid time has no variables. Raises QueryError for a time that is
    not of the time line.
    """
    time = _valid_time(parsed, timeline, None, None)
    return CheckedQuestion(parsed.meaning, parsed, time or Interval(_BEGINNING, end))


def check_no_time(at: str | None, during: str | None, place: str) -> None:
    """Refuse a valid time where it cannot be asked for; raises QueryError if one is given."""
    for name, value in (("at", at), ("during", during)):
        if value is not None:
            raise QueryError(
                f"{name}: {place} knows the present only: ask for another time on {HISTORY} or "
                f"{ALL}, or leave {name} out"
            )


def _valid_time(
    parsed: Parsed[Query], timeline: Timeline, at: str | None, during: str | None
) -> AtInstant | Interval | None:
    written = parsed.meaning.valid_time
    given = [name for name, value in (("at", at), ("during", during)) if value is not None]
    if len(given) == 2:
        raise QueryError("expected 'at' or 'during', not both: a query has one valid time")
    if written is None:
        return _instants(_asked(at, during), timeline, None)
    place = parsed.position(written)
    if given:
        raise QueryError(
            f"the query says its valid time itself: leave '{given[0]}' out", position=place
        )
    return _instants(written, timeline, place)


def _asked(at: str | None, during: str | None) -> ValidTime | None:
    if at is not None:
        return ValidTime(at)
    if during is None:
        return None
    start, slash, end = during.partition("/")
    if not slash or "/" in end:
        raise QueryError(
            f"during: '{during}' is no interval: expected two times with a slash between"
        )
    return ValidTime(start, end)


def _instants(
    time: ValidTime | None, timeline: Timeline, place: Position | None
) -> AtInstant | Interval | None:
    if time is None:
        return None
    for each in (time.start, time.end):
        if isinstance(each, Variable):
            raise QueryError(
                f"{each} has no value here: expected a time; only the question of a rule to the "
                "history knows ?now and ?last",
                position=place,
            )
    try:
        start = timeline.instant(str(time.start))
        end = None if time.end is None else timeline.instant(str(time.end))
    except TermError as error:
        raise QueryError(error.message, position=place) from None
    if end is None:
        return AtInstant(start)
    if end <= start:
        raise QueryError(
            f"DURING: '{time.end}' is not after '{time.start}': expected an interval, or AT for a "
            "moment",
            position=place,
        )
    return Interval(start, end)


@frozen
class QuestionPlan:
    """The plan of a query: ``sql`` (empty without SQL), and the engine's ``plan`` in lines."""

    algebra: str
    sql: str
    plan: str


def question_plan(query: Query, sql: str, plan: str) -> QuestionPlan:
    """The plan of a query."""
    return QuestionPlan("\n".join(algebra_lines(query.form.pattern)), sql, plan)
