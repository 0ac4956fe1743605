"""Helpers for tests of programs that use SensorStream: a manual clock, list streams, readable
deltas; :class:`MemoryStore` is a history in lists.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, Generic, TypeVar

import pyoxigraph as ox

from sensorstream.engine.query_alerts import KIND
from sensorstream.errors import HistoryError
from sensorstream.journal.records import Effects, MessageStatus, Record, Settled
from sensorstream.kb.oxigraph_terms import triple_from_oxigraph
from sensorstream.model.events import Alert, Delta, Message, Status
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant, Timeline

Item = TypeVar("Item")

DAWN: Final = datetime(2014, 8, 1, 8, 0, tzinfo=UTC)
"""Where a manual clock starts unless told otherwise."""


class ManualClock:
    """A :class:`~sensorstream.clock.Clock` that only moves when a test moves it."""

    def __init__(self, now: datetime = DAWN) -> None:
        self._start = self._now = now

    def now(self) -> datetime:
        return self._now

    def counter(self) -> float:
        return (self._now - self._start).total_seconds()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)


class ListSource:
    """A stream of messages from a list of XML texts. The first has the id ``m1`` and arrives when
    the clock says; each read moves a :class:`ManualClock` on by ``seconds``.
    """

    def __init__(
        self,
        texts: Iterable[str],
        *,
        timeline: Timeline = Timeline.DATETIME,
        clock: ManualClock | None = None,
        seconds: float = 1,
        name: str = "test",
    ) -> None:
        self._texts = tuple(texts)
        self._timeline = timeline
        self._clock = clock or ManualClock()
        self._seconds = seconds
        self._name = name

    def __iter__(self) -> Iterator[Message]:
        for number, text in enumerate(self._texts, start=1):
            received = self._timeline.of(self._clock.now())
            yield Message(f"m{number}", text.encode(), received, self._name)
            self._clock.advance(self._seconds)


class ListSink(Generic[Item]):
    """A callback that collects its arguments, from any thread, in :attr:`items`."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._changed = threading.Condition()

    def __call__(self, item: Item) -> None:
        with self._changed:
            self.items.append(item)
            self._changed.notify_all()

    def wait_for(self, count: int, seconds: float = 10) -> list[Item]:
        """The items, once there are ``count`` of them.

        Raises:
            AssertionError: there are fewer after ``seconds``.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.items) >= count, seconds):
                raise AssertionError(f"expected {count} items, got {self.items} in {seconds} s")
            return list(self.items)


class MemoryStore:
    """A :class:`~sensorstream.journal.records.Store` in lists, with the rules of the real one.
    ``committed`` has the effects of each group, in order. It knows no webhooks, so nothing enters
    an outbox.
    """

    def __init__(self, timeline: Timeline = Timeline.INTEGER) -> None:
        self.timeline = timeline
        self.records: list[Record] = []
        self.committed: list[Effects] = []
        self._watermark = 0
        self._statuses: dict[str, MessageStatus | Settled] = {}
        self._checkpoints: dict[int, bytes] = {}

    def append(self, records: Sequence[Record]) -> None:
        seqs = [each.seq for each in self.records + list(records)]
        ids = [each.message.id for each in self.records + list(records)]
        if len(set(seqs)) < len(seqs) or len(set(ids)) < len(ids):
            raise HistoryError("cannot write the journal: duplicate key")
        self.records += records

    def commit(self, effects: Effects) -> bool:
        if effects.watermark <= self._watermark:
            return False
        named = {each.seq for each in effects.statuses}
        if any(seq <= self._watermark for seq in named):
            raise HistoryError("part of the effects is stored already")
        missing = named - {each.seq for each in self.records}
        if missing:
            raise HistoryError(f"effects of messages that are not in the journal: {missing}")
        passed = {r.seq for r in self.records if self._watermark < r.seq <= effects.watermark}
        if passed - named:
            raise HistoryError(f"the watermark would pass message {min(passed - named)}")
        ids = {each.seq: each.message.id for each in self.records}
        self._statuses |= {ids[each.seq]: each for each in effects.statuses}
        self._statuses |= {each.message: each for each in effects.settled}
        self._watermark = effects.watermark
        self.committed.append(effects)
        return False

    def statuses(self) -> dict[str, Status]:
        """The status of each entry whose effects are stored, by id."""
        return {name: each.status for name, each in self._statuses.items()}

    def origins(self, asked: Collection[str], since: datetime | None = None) -> frozenset[str]:
        return frozenset(
            each.origin
            for each in self.records
            if each.origin in asked and (since is None or each.received_at > since)
        )

    def last_seq(self) -> int:
        return max((each.seq for each in self.records), default=0)

    def last_arrival(self) -> Instant | None:
        return max((each.message.received for each in self.records), default=None)

    def watermark(self) -> int:
        return self._watermark

    def whole(self) -> bool:
        return len(self.records) == self.last_seq()

    def replay(self, after: int) -> Iterator[Record]:
        own = {each.seq: each for e in self.committed for each in e.statuses}
        statuses = self.statuses()
        for each in sorted(self.records, key=lambda record: record.seq):
            if each.seq > after:
                degraded = each.seq in own and own[each.seq].degraded
                yield replace(each, status=statuses.get(each.message.id), degraded=degraded)

    def last_accepted(self, kind: str, upto: int) -> Message | None:
        statuses = self.statuses()
        for each in sorted(self.records, key=lambda record: -record.seq):
            accepted = statuses.get(each.message.id, Status.ACCEPTED) is Status.ACCEPTED
            if each.kind == kind and each.seq <= upto and accepted:
                return each.message
        return None

    def rejected(self, ids: Collection[str]) -> frozenset[str]:
        statuses = self.statuses()
        return frozenset(each for each in ids if statuses.get(each) is Status.REJECTED)

    def departed(self, stays: Collection[int]) -> frozenset[int]:
        gone = {each.individual.stay for e in self.committed for each in e.departures}
        return frozenset(gone.intersection(stays))

    def told_until(self, message: str) -> Instant | None:
        raised = (a for e in self.committed for a in e.alerts if isinstance(a, Alert))
        due = (a.time for a in raised if a.message == message and a.id.startswith(f"{message}-t"))
        return max(due, default=None)

    def reported(self, entries: Collection[str]) -> Mapping[str, int]:
        raised = (a for e in self.committed for a in e.alerts if isinstance(a, Alert))
        told = [a.id for a in raised if a.kind == KIND]
        told += [each.id for e in self.committed for each in e.reports]
        found: dict[str, int] = {}
        for entry, number, *_ in (each.split("-") for each in told):
            if entry in entries:
                found[entry] = max(found.get(entry, 0), int(number))
        return found

    def save_checkpoint(self, seq: int, state: bytes) -> None:
        if seq > self._watermark:
            raise HistoryError(
                f"a checkpoint at message {seq} is ahead of the watermark {self._watermark}"
            )
        self._checkpoints[seq] = state
        self._checkpoints = dict(self.checkpoints()[:2])

    def checkpoints(self) -> list[tuple[int, bytes]]:
        return sorted(self._checkpoints.items(), reverse=True)

    def drop_checkpoints(self, seqs: Collection[int]) -> None:
        for each in seqs:
            self._checkpoints.pop(each, None)

    def close(self) -> None:
        """Do nothing: nothing is open."""


def triples(turtle: str) -> tuple[Triple, ...]:
    """The triples of a Turtle text, in the order written. Blank nodes keep their labels; those
    without one get a new one in every call.
    """
    quads = ox.parse(turtle, format=ox.RdfFormat.TURTLE)
    return tuple(dict.fromkeys(map(triple_from_oxigraph, quads)))


def assert_delta(delta: Delta, *, added: str = "", removed: str = "", prefixes: str = "") -> None:
    """Check a change, in any order, against two Turtle texts.

    Args:
        delta: what happened.
        added: what should have been added.
        removed: what should have been removed.
        prefixes: Turtle put before both texts.

    Raises:
        AssertionError: the delta is different; the message lists the difference as N-Triples.
    """
    problems: list[str] = []
    for word, got, text in (("added", delta.added, added), ("removed", delta.removed, removed)):
        wanted = triples(f"{prefixes}\n{text}")
        problems += [f"{word}, not expected: {_line(t)}" for t in got if t not in wanted]
        problems += [f"not {word}: {_line(t)}" for t in wanted if t not in got]
        problems += [f"{word} twice: {_line(t)}" for t in set(got) if got.count(t) > 1]
    if problems:
        raise AssertionError("\n".join(problems))


def _line(triple: Triple) -> str:
    return " ".join(term.n3 for term in triple) + " ."
