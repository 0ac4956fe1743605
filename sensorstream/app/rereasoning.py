"""What follows from history with the ontology in force now, in the place of what followed then.

The asserted statements of history, and those of the window, say what held at every instant. They
are walked through in the order of time, with the reasoner that the server has: whenever they
change, it says what begins and what ceases to follow. That gives the intervals of inferred
statements, as :mod:`sensorstream.engine.inferences` makes them while messages come; but a late
update counts from its own time here, whether it was known then or not.

The span is walked through in slices. What is there and what should be there are compared, and
changed in one transaction, slice by slice. A run that was killed is simply repeated: what it has
done already is as it should be.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from sensorstream.app.corrections import Corrections, Span
from sensorstream.app.following import Following
from sensorstream.app.wiring import Deployment, reasoner_of, version_of
from sensorstream.engine.checkpoint import load
from sensorstream.engine.engine import EngineState
from sensorstream.errors import HistoryError
from sensorstream.history.database import connect, translating
from sensorstream.history.spans import Change, Held, archived_after, changes, inferred_between
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import number_of_message
from sensorstream.model.timeline import Instant
from sensorstream.reasoning.reasoner import without_limits

_SLICE: Final = 20_000
"""So many changes make a slice."""
# A literal of PostgreSQL's bigint has no smaller one.
_FIRST: Final[Instant] = -(2**63) + 1


@dataclass(frozen=True, slots=True)
class Rereasoned:
    """The numbers of inferred statements that hold longer, and shorter, than was stored.

    ``standing`` are those that are in the window and should not be: they end when the server starts
    with the ontology. ``until`` is where the span ended.
    """

    added: int
    removed: int
    standing: int
    until: Instant


def rereason(
    url: str,
    deployment: Deployment,
    *,
    put: bool,
    store: PostgresStore,
    start: Instant | None,
    end: Instant | None,
    dry: bool,
    said: Callable[[Instant], None],
) -> Rereasoned:
    """Compute anew what is inferred in ``[start, end)``, and store what is different.

    Args:
        url: the history's.
        deployment: with the ontology in force now.
        put: whether that was put, and is recorded; else it is that of the settings' files.
        store: of the history; nobody else writes to it.
        start: None: from the beginning.
        end: None: up to the time of the last event, which is the latest that there can be.
        dry: count only.
        said: is told how far in time it is.

    Raises:
        HistoryError: the server did not end cleanly, part of the span is in the archive, or the
            database failed.
        OntologyConflict: what held at an instant contradicts the ontology.
        ReasonerError: the reasoner failed.
    """
    state = _state(store)
    now = None if state is None else state.window.counters.now
    if state is None or now is None:
        return Rereasoned(0, 0, 0, start or 0)
    begin = _FIRST if start is None else start
    until = now if end is None else min(end, now)
    if until <= begin:
        return Rereasoned(0, 0, 0, until)
    connection = connect(url, application="sensorstream rereason")
    with closing(connection), translating("cannot read what was inferred"):
        with connection.cursor() as cursor:
            before = archived_after(cursor, begin)
            if before is not None:
                told = deployment.timeline.format(before)
                raise HistoryError(
                    f"statements that ended before {told} are in the archive alone: restore them, "
                    "or begin there (--from)"
                )
        if not dry and not put:
            store.record_ontology(version_of(deployment, store.last_seq(), now))
        # All that held when the span began is one change.
        with closing(reasoner_of(deployment)) as reasoner, without_limits(reasoner):
            walk = Following(deployment, reasoner)
            corrections = Corrections(state)
            for span, wanted in _slices(walk, _every(url, state, begin, until), begin, until):
                with connection, connection.cursor() as cursor:
                    found = list(inferred_between(cursor, *span))
                added, revoked = corrections(span, found, wanted)
                if not dry and (added or revoked):
                    store.replace_inferred(added, revoked)
                said(span[1])
    return Rereasoned(
        len(corrections.added), len(corrections.removed), len(corrections.standing), until
    )


def _state(store: PostgresStore) -> EngineState | None:
    """The engine's state at the end of the journal; None: there was never an entry."""
    kept = store.checkpoints()
    if store.last_seq() > (kept[0][0] if kept else 0):
        raise HistoryError(
            "the last run of the server did not end cleanly, so it is not known what is in the "
            "window: start the server and stop it first"
        )
    return load(kept[0][1]) if kept else None


def _every(url: str, state: EngineState, start: Instant, end: Instant) -> Iterator[Change]:
    """What was asserted, as it changed in history and in the window, in the order of time."""
    live = sorted(
        (
            Change(max(said.time, start), True, triple, each.stay, number_of_message(said.message))
            for each in state.window.individuals
            for triple, said in each.statements.items()
            if said.time < end
        ),
        key=_order,
    )
    return heapq.merge(changes(url, start, end), live, key=_order)


def _order(change: Change) -> tuple[Instant, bool]:
    return change.time, change.added


def _slices(
    walk: Following, every: Iterable[Change], start: Instant, end: Instant
) -> Iterator[tuple[Span, Sequence[Held]]]:
    """What follows in each slice of the span."""
    begun, count = start, 0
    for time, group in groupby(every, key=lambda each: each.time):
        if count >= _SLICE:
            yield (begun, time), walk.cut(time)
            begun, count = time, 0
        together = list(group)
        count += len(together)
        walk.step(time, together)
    yield (begun, end), walk.cut(end)
