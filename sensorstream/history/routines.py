"""The writer's work for every group of messages, as functions of its own session.

PostgreSQL keeps the plans of a function's statements; planning them for every message took most of
its time. And a function chooses between its statements without a round trip, for each of which the
writer's thread gives up the interpreter and waits for it again. They are in ``pg_temp``: each
session has those of its own version. Their text is ``persistent/effects.sql``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final

from psycopg2 import extensions

from sensorstream.errors import HistoryError
from sensorstream.history.copying import Row, array_of, arrays_of
from sensorstream.history.incidents import identity_of, is_flapping, is_silenced
from sensorstream.history.store_rows import (
    MESSAGES,
    STATEMENTS,
    STAYS,
    alert_rows,
    repeated,
    statement_rows,
    status_rows,
    stay_rows,
)
from sensorstream.history.term_dictionary import TERMS, TermKey, term_rows
from sensorstream.installation import bundled
from sensorstream.journal.records import Effects
from sensorstream.model.events import Alert, Cleared
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import Term

_SCRIPT: Final = "effects.sql"
_SHARED: Final = {
    "given_identity": identity_of("kind", "rule", "key"),
    "given_is_silenced": is_silenced("g", "raised"),
    "given_is_flapping": is_flapping("g"),
    "ended_identity": identity_of("a.kind", "a.rule", "a.key"),
    "incident_is_silenced": is_silenced("i", "raised"),
}


@frozen
class WrittenEffects:
    """The result for a group of effects.

    ``result`` is ``written``; ``stored`` if it was stored before; ``refused`` if it leaves out an
    entry, or has one that is not in the journal; ``forget`` if others have removed terms or
    partitions (``removals``) since. ``terms`` are the numbers of the terms that were asked for, and
    ``queued`` says whether an alert has a receiver.
    """

    result: str
    removals: int
    terms: Sequence[int]
    queued: bool


def make_routines(cursor: extensions.cursor) -> None:
    """Make the functions, for the rest of the session.

    Their plans are made once, maybe while tables are small, so they must use the indexes.
    """
    cursor.execute("set plan_cache_mode = force_generic_plan; set enable_seqscan = off")
    cursor.execute((bundled("persistent") / _SCRIPT).read_text("utf-8").format_map(_SHARED))


def append_entries(cursor: extensions.cursor, rows: Iterable[Row]) -> None:
    """Write entries to the journal: rows of :data:`.MESSAGES`."""
    _call(cursor, "append_entries", MESSAGES.arrays(rows))


def write_effects(
    cursor: extensions.cursor,
    effects: Effects,
    *,
    new: Mapping[TermKey, Term],
    numbers: Mapping[Term, int],
    removals: int,
    durable: bool,
) -> WrittenEffects:
    """Write the common parts of the effects of a group of entries, and move the watermark. ``new``
    are the terms whose numbers are not known: -1, -2, ... among ``numbers``. ``removals`` by others
    are known to the writer. ``durable``: they must be on disk when the transaction ends.
    """
    raised, ended = _in_turns(effects.alerts)
    departed = {each.individual.stay for each in effects.departures}
    changed = {each.stay for each in (*effects.ended, *effects.revoked)} - departed - {0}
    terms = (row[1:] for row in term_rows(new, dict.fromkeys(new, 0)))
    statements = [*statement_rows(effects.ended, numbers)]
    _call(
        cursor,
        "write_effects",
        f"{effects.watermark},{durable},{removals},'{effects.raised_at.isoformat()}'",
        arrays_of(status_rows(effects.statuses), 6),
        arrays_of(terms, len(TERMS.columns) - 1),
        STATEMENTS.arrays(statements),
        array_of(repeated(statements)),
        STAYS.arrays(stay_rows(effects.departures, numbers)),
        array_of([*changed]),
        arrays_of(((*r, place, turn) for turn, place, a in raised for r in alert_rows([a])), 12),
        arrays_of(((e.rule, e.kind, e.key, e.time, place, turn) for turn, place, e in ended), 6),
    )
    row = cursor.fetchone()
    if row is None:
        raise HistoryError("PostgreSQL gave no answer about the effects of a group")
    return WrittenEffects(*row)


def _in_turns(
    changes: Sequence[Alert | Cleared],
) -> tuple[list[tuple[int, int, Alert]], list[tuple[int, int, Cleared]]]:
    """Raised and ended alerts by turn and place: in a turn all are raised first, then ended. Turns
    are few, since only what is of one key takes one after the other; the places count from 1.
    """
    raised: list[tuple[int, int, Alert]] = []
    ended: list[tuple[int, int, Cleared]] = []
    # Twice the turn of what was last, and one more if it was an end. Without a key: of all others.
    steps: dict[tuple[str, str], dict[str | None, int]] = {}
    for place, each in enumerate(changes, 1):
        group = steps.setdefault((each.rule, each.kind), {None: 0})
        step = group.get(each.key, group[None])
        if isinstance(each, Cleared):
            if each.key is None:
                step = max(group.values())
                group.clear()
            step |= 1
            ended.append((step // 2, place, each))
        else:
            step += step % 2
            raised.append((step // 2, place, each))
        group[each.key] = step
    return sorted(raised, key=itemgetter(0)), sorted(ended, key=itemgetter(0))


def _call(cursor: extensions.cursor, name: str, *arguments: str) -> None:
    query = f"select * from pg_temp.{name}({','.join(arguments)})"
    # A SPARQL escape can make a lone surrogate; UTF-8 cannot hold it.
    cursor.execute(query.encode("utf-8", "replace"))
