"""The inferences of history, computed anew with the ontology that is in force now.

The asserted statements of history, and those of the window, say what held at every instant. They
are walked through in the order of time, with the reasoner that the server has: whenever they
change, it reports the beginnings and ends of inferences. That gives the intervals of inferred
statements, as :mod:`sensorstream.engine.inferences` makes them while messages come; but a late
update counts from its own time here, whether it was known then or not.

The span is walked through in slices. The stored and the right intervals are compared, and changed
in one transaction, slice by slice. A run that was killed is simply repeated: what it has done
already is as it should be.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from typing import Final, TypeAlias

from sensorstream.app.control.wiring import Deployment, reasoner_of, version_of
from sensorstream.engine.checkpoint import load
from sensorstream.engine.engine import EngineState
from sensorstream.errors import HistoryError, Inconsistent, OntologyConflict, ReasonerError
from sensorstream.history.database import connect, translating
from sensorstream.history.statements import (
    HeldStatement,
    StatementChange,
    archived_after,
    changes,
    inferred_between,
)
from sensorstream.history.store import PostgresStore
from sensorstream.journal.records import message_id, number_of_message
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import Delta, Ended, Provenance
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import BlankNode, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.reasoning.dl.dl_reasoner import ResilientReasoner
from sensorstream.reasoning.reasoner import Reasoner, without_limits

_SLICE: Final = 20_000
"""Changes of a slice."""
# A literal of PostgreSQL's bigint has no smaller one.
_FIRST: Final[Instant] = -(2**63) + 1


@frozen
class Rereasoned:
    """The numbers of inferred statements that hold longer, and shorter, than was stored.
    ``standing`` are those that are wrongly in the window: they end when the server starts with the
    ontology. ``until`` is where the span ended.
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
    """Compute anew what is inferred in ``[start, end)``, and store the differences, or count them
    only (``dry``). Nobody else writes to the history.

    ``deployment`` has the ontology in force now; ``put``: that was put, and is recorded, else it is
    that of the settings' files. Without a start it begins at the beginning, without an end it goes
    up to the time of the last event. ``said`` gets the time that it has come to.

    Raises:
        HistoryError: the server did not end cleanly, part of the span is in the archive, or the
            database failed.
        OntologyConflict: the statements of an instant contradict the ontology.
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
        # The statements that held when the span began are one change.
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


def _every(url: str, state: EngineState, start: Instant, end: Instant) -> Iterator[StatementChange]:
    """The changes of asserted statements in history and in the window, in the order of time."""
    live = sorted(
        (
            StatementChange(
                max(said.time, start), True, triple, each.stay, number_of_message(said.message)
            )
            for each in state.window.individuals
            for triple, said in each.statements.items()
            if said.time < end
        ),
        key=_order,
    )
    return heapq.merge(changes(url, start, end), live, key=_order)


def _order(change: StatementChange) -> tuple[Instant, bool]:
    return change.time, change.added


def _slices(
    walk: Following, every: Iterable[StatementChange], start: Instant, end: Instant
) -> Iterator[tuple[Span, Sequence[HeldStatement]]]:
    """The inferred intervals in each slice of the span."""
    begun, count = start, 0
    for time, group in groupby(every, key=lambda each: each.time):
        if count >= _SLICE:
            yield (begun, time), walk.cut(time)
            begun, count = time, 0
        together = list(group)
        count += len(together)
        walk.step(time, together)
    yield (begun, end), walk.cut(end)


Key: TypeAlias = tuple[int, Triple]
"""A statement in a stay."""
Span: TypeAlias = tuple[Instant, Instant]
"""``[start, end)``"""
Spans: TypeAlias = list[Span]
"""In order, and apart from each other."""


class Corrections:
    """The differences between the intervals of history and the right ones."""

    def __init__(self, state: EngineState) -> None:
        self.added: set[Key] = set()
        self.removed: set[Key] = set()
        self.standing: set[Key] = set()
        # The inferences in the window and their beginnings: they have no end yet.
        self._open = {
            (each.stay, (each.subject, *value)): each.time
            for each in state.inferred or ()
            for value in each.values
        }

    def __call__(
        self, span: Span, found: Sequence[HeldStatement], wanted: Sequence[HeldStatement]
    ) -> tuple[list[Ended], list[Ended]]:
        """The intervals to store and those to delete in a span: ``found`` are the rows that history
        has in the span or next to it, ``wanted`` the right intervals within it.
        """
        there, follows = _by_key(found), _by_key(wanted)
        added: list[Ended] = []
        revoked: list[Ended] = []
        for key in {**there, **follows, **self._open}:
            rows, should = there.get(key, []), follows.get(key, [])
            standing = self._open.get(key)
            lasting = [] if standing is None else clipped([(standing, span[1])], span)
            stored = united([(each.valid_from, each.valid_to) for each in rows])
            follow = united([(each.valid_from, each.valid_to) for each in should])
            missing = without(follow, [*stored, *lasting])
            extra = without(clipped(stored, span), follow)
            if without(lasting, follow):
                self.standing.add(key)
            if not missing and not extra:
                continue
            if missing:
                self.added.add(key)
            if extra:
                self.removed.add(key)
            right = united([*without(stored, extra), *missing])
            old = {(each.valid_from, each.valid_to) for each in rows}
            revoked += (
                _ended(each, each.valid_from, each.valid_to)
                for each in rows
                if (each.valid_from, each.valid_to) not in right
            )
            added += (
                _ended(_origin(begin, rows, should), begin, end)
                for begin, end in right
                if (begin, end) not in old
            )
        return added, revoked


def _by_key(every: Iterable[HeldStatement]) -> dict[Key, list[HeldStatement]]:
    found: dict[Key, list[HeldStatement]] = {}
    for each in every:
        found.setdefault((each.stay, each.triple), []).append(each)
    return found


def _origin(
    begin: Instant, rows: Sequence[HeldStatement], should: Sequence[HeldStatement]
) -> HeldStatement:
    """The interval whose message caused one that begins at ``begin``."""
    every = [*rows, *should]
    return next((each for each in every if each.valid_from <= begin < each.valid_to), every[0])


def _ended(held: HeldStatement, begin: Instant, end: Instant) -> Ended:
    said = Provenance(message_id(held.message), begin)
    return Ended(held.stay, held.triple[0], held.triple, said, end, inferred=True)


def united(spans: Iterable[Span]) -> Spans:
    """The spans in order; those that touch are one."""
    found: Spans = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def clipped(spans: Iterable[Span], to: Span) -> Spans:
    """The parts of the spans that are within another one."""
    cut = ((max(begin, to[0]), min(end, to[1])) for begin, end in spans)
    return [(begin, end) for begin, end in cut if begin < end]


def without(spans: Iterable[Span], others: Iterable[Span]) -> Spans:
    """The parts of the spans that no other one has."""
    left = list(spans)
    for start, stop in others:
        parts = (((begin, min(end, start)), (max(begin, stop), end)) for begin, end in left)
        left = [(begin, end) for pair in parts for begin, end in pair if begin < end]
    return left


@frozen
class _Begun:
    stay: int
    message: int
    time: Instant


class Following:
    """The statements that hold at an instant, and the beginning of each inferred one."""

    def __init__(self, deployment: Deployment, reasoner: Reasoner) -> None:
        self._timeline = deployment.timeline
        self._kb = KnowledgeBase()
        self._kb.add(Origin.STATIC, deployment.ontology.triples)
        self._reasoner = reasoner
        reasoner.start(self._kb)
        self._held: Counter[Triple] = Counter()
        # The stays that have a statement about a subject now.
        self._stays: dict[Subject, Counter[int]] = {}
        self._begun: dict[Triple, _Begun] = {}
        self._ended: list[HeldStatement] = []
        # The latest message that said something: an end by a departure has no other.
        self._cause = 0

    def step(self, time: Instant, together: Sequence[StatementChange]) -> None:
        """Make changes that all happen at one instant."""
        before: dict[Triple, bool] = {}
        touched: dict[Subject, None] = {}
        for each in together:
            triple, number = each.triple, 1 if each.added else -1
            before.setdefault(triple, self._held[triple] > 0)
            self._held[triple] += number
            for subject in (triple[0], triple[2]):
                # A node also belongs to the subjects that refer to it.
                if subject is triple[0] or isinstance(subject, BlankNode):
                    self._stays.setdefault(subject, Counter())[each.stay] += number
                    touched[subject] = None
        self._cause = max((each.message for each in together if each.added), default=self._cause)
        added = tuple(t for t, was in before.items() if not was and self._held[t] > 0)
        removed = tuple(t for t, was in before.items() if was and self._held[t] <= 0)
        for triple in before:
            if self._held[triple] <= 0:
                del self._held[triple]
        inferred = self._react(Delta(time, added, removed))
        for triple in inferred.removed:
            self._end(triple, time)
        for subject in touched:
            self._resettle(subject, time)
        for triple in inferred.added:
            self._begun[triple] = _Begun(self._home(triple[0]), self._cause, time)

    def cut(self, time: Instant) -> Sequence[HeldStatement]:
        """The intervals since the last cut; those that still hold go on from here."""
        for triple, begun in list(self._begun.items()):
            self._end(triple, time)
            self._begun[triple] = _Begun(begun.stay, begun.message, time)
        ended, self._ended = self._ended, []
        return ended

    def _react(self, delta: Delta) -> Delta:
        if not delta:
            return delta
        self._kb.apply(Origin.WINDOW, delta)
        try:
            inferred = self._reasoner.react(self._kb, delta)
        except Inconsistent as error:
            told = error.message.removeprefix("the message contradicts the ontology: ")
            raise OntologyConflict(
                f"what held at {self._timeline.format(delta.time)} contradicts the ontology: "
                f"{told}",
                contradiction=error.contradiction,
            ) from None
        if isinstance(self._reasoner, ResilientReasoner) and self._reasoner.degraded:
            raise ReasonerError(f"the reasoner failed: {self._reasoner.degraded}")
        return inferred

    def _resettle(self, subject: Subject, time: Instant) -> None:
        """Give the inferences about a subject to its present stay."""
        stays = self._stays[subject] = +self._stays[subject]
        if not stays:
            del self._stays[subject]
        home = self._home(subject)
        for triple in self._kb.match(subject, None, None):
            begun = self._begun.get(triple)
            if begun is not None and begun.stay != home:
                self._end(triple, time)
                self._begun[triple] = _Begun(home, self._cause, time)

    def _home(self, subject: Subject) -> int:
        return max(self._stays.get(subject, ()), default=0)

    def _end(self, triple: Triple, time: Instant) -> None:
        begun = self._begun.pop(triple)
        if begun.time < time:
            self._ended.append(HeldStatement(triple, begun.stay, begun.message, begun.time, time))
