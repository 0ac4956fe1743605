"""When each message is taken in: as it comes, or when nothing earlier can come any more."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import Final

from sensorstream.engine.archive import archived
from sensorstream.engine.arrival import Arrived
from sensorstream.engine.cycle import Cycle, outcome_of
from sensorstream.engine.outcome import Outcome, Status, Timings
from sensorstream.engine.reorder import Disorder, ReorderBuffer, ReorderState, Waiting
from sensorstream.model.events import Message
from sensorstream.model.timeline import Instant

_NONE: Final[frozenset[str]] = frozenset()


class Turns:
    """Gives messages to a cycle, each in its turn, and holds those that wait for it.

    Without ``disorder`` messages are taken as they come, and only those wait that waited when the
    lateness was taken out of the settings.

    ``refused`` are, everywhere, the ids of messages that are rejected when their turn comes;
    ``received`` is the time of arrival.
    """

    def __init__(self, cycle: Cycle, disorder: Disorder | None) -> None:
        self._cycle = cycle
        self._order = None if disorder is None else ReorderBuffer[Arrived](disorder)
        self._left: tuple[Arrived, ...] = ()

    def __len__(self) -> int:
        """Messages that wait for earlier ones."""
        return len(self._left) if self._order is None else len(self._order)

    @property
    def due(self) -> Instant | None:
        """From which time of arrival on messages are released although none comes; None: never."""
        if self._order is not None:
            return self._order.due
        return 0 if self._left else None

    @property
    def quiet(self) -> Instant | None:
        """From which time of arrival on no source is waited for; None: none is now."""
        return None if self._order is None else self._order.quiet

    def take(
        self,
        message: Message,
        arrived: Arrived | Outcome,
        timings: Timings,
        refused: Container[str],
    ) -> Outcome:
        """A message has come; an outcome, if it has been set aside already.

        Returns:
            What became of it; ``released`` holds the outcomes of those whose turn it is now.
        """
        if self._order is not None:
            return self._take_in_order(self._order, message, arrived, timings, refused)
        left = self._release_left(refused, message.received)
        if isinstance(arrived, Arrived):
            arrived = self._cycle.take_in(arrived, timings, refused)
        return replace(arrived, released=left) if left else arrived

    def advance(self, received: Instant, refused: Container[str]) -> tuple[Outcome, ...]:
        """Release what waits for sources that have been silent for too long."""
        if self._order is None:
            return self._release_left(refused, received)
        self._order.advance(received)
        return self._release(self._order.release(), refused, received)

    def complete(self, time: Instant) -> tuple[Outcome, ...]:
        """Release what waits, for nothing before ``time`` comes any more."""
        if self._order is None:
            return ()
        self._order.complete(time)
        return self._release(self._order.release(), _NONE, None)

    def finish(self) -> tuple[Outcome, ...]:
        """Release all that waits: nothing comes any more."""
        if self._order is None:
            return self._release_left(_NONE, None)
        self._order.complete(None)
        return self._release(self._order.release(), _NONE, None)

    def state(self) -> ReorderState[Arrived]:
        """What waits, and how far the sources have come."""
        if self._order is not None:
            return self._order.state()
        return ReorderState(
            held=[Waiting(each.mapped.events[0].time, n, each) for n, each in enumerate(self._left)]
        )

    def restore(self, state: ReorderState[Arrived]) -> None:
        """Go on from a state."""
        if self._order is None:
            self._left = tuple(each.item for each in state.held)
        else:
            self._order.restore(state)

    def _take_in_order(
        self,
        order: ReorderBuffer[Arrived],
        message: Message,
        arrived: Arrived | Outcome,
        timings: Timings,
        refused: Container[str],
    ) -> Outcome:
        own: Outcome | None = None
        if isinstance(arrived, Arrived) and arrived.mapped.events:
            time = arrived.mapped.events[0].time
            if order.passes(message.source, time, message.received):
                return self._cycle.take_in(arrived, timings, refused)
        if isinstance(arrived, Outcome):
            order.advance(message.received)
            own = arrived
        elif not arrived.mapped.events:
            # It says nothing of any time, so there is nothing to wait for.
            order.advance(message.received)
            own = self._cycle.take_in(arrived, timings, refused)
        elif not order.offer(
            message.source, arrived.mapped.events[0].time, message.received, _kept(arrived)
        ):
            own = self._set_late(arrived, timings)
        released: list[Outcome] = []
        forced = order.overflow()
        for each in (*forced, *order.release()):
            if each.message.id == message.id:
                assert isinstance(arrived, Arrived)
                own = self._cycle.take_in(arrived, timings, refused)
            else:
                released.append(self._cycle.take_in(each, Timings(), refused, message.received))
        if own is None:
            assert isinstance(arrived, Arrived)
            own = outcome_of(arrived, Status.HELD, timings)
        if forced:
            notices = self._cycle.notices.overflow(
                message, order.disorder.max_held, self._cycle.now
            )
            own = replace(own, alerts=(*own.alerts, *notices), forced=len(forced))
        return replace(own, released=tuple(released)) if released else own

    def _release(
        self, messages: Iterable[Arrived], refused: Container[str], received: Instant | None
    ) -> tuple[Outcome, ...]:
        """Take in what waits no more; ``received`` is the time of arrival that released it."""
        take_in = self._cycle.take_in
        return tuple(take_in(each, Timings(), refused, received) for each in messages)

    def _release_left(
        self, refused: Container[str], received: Instant | None
    ) -> tuple[Outcome, ...]:
        left, self._left = self._left, ()
        return self._release(left, refused, received)

    def _set_late(self, arrived: Arrived, timings: Timings) -> Outcome:
        """Send a message that came too late for the window straight to history."""
        cycle = self._cycle
        message, time = arrived.message, arrived.mapped.events[0].time
        told = (
            f"late: something later than {cycle.timeline.format(time)} has been released already; "
            "the message went straight to history, not into the window"
        )
        departures = archived(arrived.mapped.events, cycle.archived)
        cycle.archived += len(departures)
        return replace(
            outcome_of(arrived, Status.LATE, timings),
            alerts=cycle.notices.late(message, told, cycle.now),
            archived=departures,
            warnings=(*arrived.mapped.warnings, *arrived.mapped.notes, told),
        )


def _kept(arrived: Arrived) -> Arrived:
    """A message as it waits: its text is in the journal and needed no more."""
    if not arrived.message.content:
        return arrived
    return replace(arrived, message=replace(arrived.message, content=b""), seconds=0.0)
