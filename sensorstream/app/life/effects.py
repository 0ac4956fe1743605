"""The effects of one group after the other: stored, then answered, told and published."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from sensorstream.app.life.durable import Checkpoints, Durable
from sensorstream.app.life.entry_queue import WaitingEntry, described
from sensorstream.app.life.metrics import Metrics
from sensorstream.clock import Clock
from sensorstream.engine.live_queries import QueryReport
from sensorstream.engine.outcome import Outcome, Status
from sensorstream.errors import Unavailable, Unstorable
from sensorstream.journal.effects import effects_of, in_order, reports_of
from sensorstream.journal.entry import Entry
from sensorstream.journal.kinds import new_record
from sensorstream.journal.message import is_of_key
from sensorstream.journal.records import Effects, Record
from sensorstream.journal.store import Store
from sensorstream.logs import concerning
from sensorstream.model.events import Message
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.quoting import shortened

_LOG = logging.getLogger(__name__)
_PACE: Final = 0.5
"""How fast arrival goes on while the clock is behind it: time passes, and the clock catches up."""
_STEP: Final = 2.0
"""Seconds; less is told to nobody: clocks are corrected all the time."""


def arrival_of(store: Store, now: datetime) -> Instant:
    """The time of arrival of an entry that a start itself writes."""
    wall, last = store.timeline.of(now), store.last_arrival()
    return wall if last is None else max(wall, last)


class Arrival:
    """Gives the time of arrival of what comes now. Owned by one thread."""

    def __init__(self, clock: Clock, timeline: Timeline, last: Instant | None) -> None:
        """``last`` is the latest time of arrival that was ever given; None: there was none."""
        self._clock = clock
        self._timeline = timeline
        self._second = timeline.of_wall_time(1)
        self._last = timeline.of(clock.now()) if last is None else last
        # Since the clock is behind: the time of arrival then, and the counter.
        self._behind: tuple[Instant, float] | None = None

    def now(self) -> Instant:
        """The time of the clock; while that is before what was given already, a later one."""
        wall = self._timeline.of(self._clock.now())
        if wall < self._last and self._behind is None:
            self._behind = self._last, self._clock.counter()
            gap = (self._last - wall) / self._second
            if gap > _STEP:
                _LOG.warning(
                    "the clock was set back: it is %.0f s behind the last arrival. Times of "
                    "arrival go on at half speed until it has caught up",
                    gap,
                )
        if self._behind is not None:
            since, counter = self._behind
            passed = (self._clock.counter() - counter) * _PACE
            steady = max(self._last, since + int(passed * self._second))
            if wall < steady:
                self._last = steady
                return steady
            self._behind = None
        self._last = wall
        return wall


_PIPELINE = logging.getLogger("sensorstream.app.pipeline")
"""One name in the log for all that the pipeline says: who reads the log looks for it."""
_LOUD: Final = frozenset({Status.UNMATCHED, Status.PARTIAL, Status.LATE, Status.REJECTED})


@dataclass(frozen=True, slots=True)
class _Storing:
    """A group whose effects are being stored."""

    group: Sequence[WaitingEntry]
    outcomes: Sequence[Outcome]
    effects: Effects


@dataclass(frozen=True, slots=True)
class Outlets:
    """What the pipeline tells others, in its thread.

    ``on_commit`` is called after every commit that has alerts or entries of the outbox, and told
    whether it has such entries; ``publish`` with the reports of continuous queries, after they are
    committed. ``reopen`` opens the store again when it was lost; until it succeeds, messages wait.
    ``elsewhere`` gives at a time of arrival the entry by which another process, that applies the
    entries, is to hear of it, if any.
    """

    on_commit: Callable[[bool], None]
    publish: Callable[[Sequence[QueryReport]], None]
    reopen: Callable[[], Store]
    elsewhere: Callable[[Instant], Entry | None] | None = None


class EffectWriter:
    """Stores what became of each group, and answers it then; owned by the pipeline's thread.

    A group's effects are stored while the engine is at the next one, if there is one: they are
    begun by :meth:`begin`, and :meth:`settle` waits for them.
    """

    def __init__(
        self,
        store: Durable,
        journal: JournalWriter,
        checkpoints: Checkpoints,
        metrics: Metrics,
        out: Outlets,
    ) -> None:
        self.stored = journal.seq
        """The last entry whose effects are stored."""
        self._store = store
        self._journal = journal
        self._checkpoints = checkpoints
        self._metrics = metrics
        self._out = out
        # The last group, until its effects are stored.
        self._storing: _Storing | None = None

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether so many entries have come since the last checkpoint."""
        return self._checkpoints.is_due(self._journal.seq)

    def begin(
        self,
        records: Sequence[Record],
        group: Sequence[WaitingEntry],
        outcomes: Sequence[Outcome],
        *,
        beside: bool,
    ) -> None:
        """Begin to store what became of a group; the one before it is settled.

        ``beside``: by another thread, while this one goes on.
        """
        effects = effects_of(records, outcomes)
        self._store.begin(effects, beside=beside)
        self._storing = _Storing(group, outcomes, effects)

    def settle_if_stored(self) -> None:
        """As :meth:`settle`, if there is nothing to wait for."""
        if self._store.is_stored:
            self.settle()

    def settle(self) -> None:
        """Wait until the effects of the last group are stored; then answer and publish, once."""
        storing = self._storing
        if storing is None:
            return
        try:
            queued = self._store.wait()
        except BaseException as error:
            self.give_up(error)
            raise
        self._storing = None
        self.stored = storing.effects.watermark
        entries = [waiting.entry for waiting in storing.group]
        self._metrics.observe_entries(entries, storing.outcomes)
        if any(entry.costly for entry in entries):
            self._checkpoints.write(self._journal.seq)
        for waiting, outcome in zip(storing.group, storing.outcomes, strict=True):
            waiting.end(outcome)
        self._tell(storing, queued)

    def give_up(self, error: BaseException) -> None:
        """Answer those whose effects may not be stored."""
        storing, self._storing = self._storing, None
        for waiting in () if storing is None else storing.group:
            waiting.end(Unavailable(f"it could not be processed: {error}"))

    def finish(self) -> None:
        """Settle, and write the last checkpoint."""
        self.settle()
        self._checkpoints.finish(self._journal.seq)

    def _tell(self, stored: _Storing, queued: bool) -> None:
        """Log and publish what has been stored, and write a checkpoint when it is due."""
        for waiting, outcome in zip(stored.group, stored.outcomes, strict=True):
            for each in in_order(outcome):
                if each.status in _LOUD:
                    told = shortened("; ".join(each.warnings))
                    # One that was held and is released now came by another request.
                    brought = waiting.concerned if each is outcome else {}
                    with concerning(**brought, **facts_of(each.message)):
                        _PIPELINE.warning(
                            "message %s %s: %s", each.message.id, each.status.value, told
                        )
        if queued or stored.effects.alerts:
            self._out.on_commit(queued)
        self._out.publish(reports_of(stored.outcomes))
        # While the engine is at the next group, its state is that of no entry.
        if self.is_checkpoint_due and self.stored == self._journal.seq:
            self._checkpoints.write(self._journal.seq)


def facts_of(message: Message) -> dict[str, str]:
    """What the log says with each line about a message."""
    return {"message_id": message.id, "source": message.source}


Refused: TypeAlias = tuple[WaitingEntry, Unstorable]
"""An entry that the journal can never hold, and why."""

_NAMED: Final = 10
"""Entries that an alert names, of all that the journal cannot hold."""


class JournalWriter:
    """Numbers entries and writes them; owned by one thread.

    ``seq`` is the number of the last entry, ``keys_last`` how long an idempotency key is known.
    """

    def __init__(
        self, store: Durable, seq: int, *, clock: Clock, arrival: Arrival, keys_last: timedelta
    ) -> None:
        self.seq = seq
        self._store = store
        self._clock = clock
        self._arrival = arrival
        self._keys_last = keys_last
        self._refused: list[Refused] = []

    def known(self, group: Iterable[WaitingEntry]) -> set[str]:
        """The origins that the journal has, of those messages that may have been sent before."""
        origins = {waiting.origin for waiting in group if waiting.repeated}
        if not origins:
            return set()
        keys = {each for each in origins if is_of_key(each)}
        since = self._clock.now() - self._keys_last
        return {*self._store.origins(origins - keys), *self._store.origins(keys, since)}

    def append(
        self, group: Sequence[WaitingEntry]
    ) -> tuple[Sequence[Record], Sequence[WaitingEntry]]:
        """Write entries to the journal, but for those that it can never hold: they are kept."""
        now, arrival = self._clock.now(), self._arrival.now()
        records = [
            new_record(waiting.entry, seq, now, arrival)
            for seq, waiting in enumerate(group, self.seq + 1)
        ]
        try:
            self._store.append(records)
        except Unstorable as error:
            if len(group) == 1:
                self._refused.append((group[0], error))
                return [], []
        else:
            self.seq += len(records)
            return records, group
        # The others do not suffer for one.
        parts = [self.append([waiting]) for waiting in group]
        return [r for records, _ in parts for r in records], [w for _, kept in parts for w in kept]

    def take_refused(self) -> list[Refused]:
        """Entries that the journal can never hold, since this was asked last."""
        refused, self._refused = self._refused, []
        return refused


def refusal_text(refused: Sequence[Refused]) -> str:
    """Which entries the journal cannot hold, and why; of many, the first."""
    told = [f"{described(waiting.entry)}: {error}" for waiting, error in refused]
    more = [f"and {len(told) - _NAMED} more"] if len(told) > _NAMED else []
    return "; ".join((*told[:_NAMED], *more))
