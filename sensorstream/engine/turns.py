"""When each message is taken in: as it comes, or when nothing earlier can come any more.

Without a lateness messages are taken as they come, and only those wait that waited when it was
taken out of the settings. ``refused`` are, everywhere, the ids of messages that are rejected when
their turn comes; ``received`` is the time of arrival.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import Final

from sensorstream.engine.arrival import Arrived
from sensorstream.engine.core import Core
from sensorstream.engine.intake import archived
from sensorstream.engine.outcome import Outcome, Status, Timings
from sensorstream.engine.reorder import ReorderBuffer, ReorderState, Waiting
from sensorstream.engine.taking import outcome_of, take_in
from sensorstream.model.events import Message
from sensorstream.model.timeline import Instant

_NONE: Final[frozenset[str]] = frozenset()


def take_in_turn(
    core: Core,
    message: Message,
    arrived: Arrived | Outcome,
    timings: Timings,
    refused: Container[str],
) -> Outcome:
    """A message has come; an outcome, if it has been set aside already.

    Returns:
        What became of it; ``released`` holds the outcomes of those whose turn it is now.
    """
    if core.order is not None:
        return _take_in_order(core, core.order, message, arrived, timings, refused)
    left = release_silent(core, message.received, refused)
    if isinstance(arrived, Arrived):
        arrived = take_in(core, arrived, timings, refused)
    return replace(arrived, released=left) if left else arrived


def release_silent(
    core: Core, received: Instant | None, refused: Container[str]
) -> tuple[Outcome, ...]:
    """Release what waits for sources that have been silent for too long."""
    if core.order is None:
        left, core.left = core.left, ()
        return _release(core, left, refused, received)
    assert received is not None
    core.order.advance(received)
    return _release(core, core.order.release(), refused, received)


def release_before(core: Core, time: Instant) -> tuple[Outcome, ...]:
    """Release what waits, for nothing before ``time`` comes any more."""
    if core.order is None:
        return ()
    core.order.complete(time)
    return _release(core, core.order.release(), _NONE, None)


def release_all(core: Core) -> tuple[Outcome, ...]:
    """Release all that waits: nothing comes any more."""
    if core.order is None:
        return release_silent(core, None, _NONE)
    core.order.complete(None)
    return _release(core, core.order.release(), _NONE, None)


def waiting_state(core: Core) -> ReorderState[Arrived]:
    """What waits, and how far the sources have come."""
    if core.order is not None:
        return core.order.state()
    return ReorderState(
        held=[Waiting(each.mapped.events[0].time, n, each) for n, each in enumerate(core.left)]
    )


def restore_waiting(core: Core, state: ReorderState[Arrived]) -> None:
    """Go on from a state."""
    if core.order is None:
        core.left = tuple(each.item for each in state.held)
    else:
        core.order.restore(state)


def _take_in_order(
    core: Core,
    order: ReorderBuffer[Arrived],
    message: Message,
    arrived: Arrived | Outcome,
    timings: Timings,
    refused: Container[str],
) -> Outcome:
    own: Outcome | None = None
    if isinstance(arrived, Outcome):
        order.advance(message.received)
        own = arrived
    elif not arrived.mapped.events:
        # It says nothing of any time, so there is nothing to wait for.
        order.advance(message.received)
        own = take_in(core, arrived, timings, refused)
    else:
        time = arrived.mapped.events[0].time
        if order.passes(message.source, time, message.received):
            return take_in(core, arrived, timings, refused)
        if not order.offer(message.source, time, message.received, _kept(arrived)):
            own = _set_late(core, arrived, timings)
    released: list[Outcome] = []
    forced = order.overflow()
    for each in (*forced, *order.release()):
        if each.message.id == message.id:
            assert isinstance(arrived, Arrived)
            own = take_in(core, arrived, timings, refused)
        else:
            released.append(take_in(core, each, Timings(), refused, message.received))
    if own is None:
        assert isinstance(arrived, Arrived)
        own = outcome_of(arrived, Status.HELD, timings)
    if forced:
        notices = core.notices.overflow(message, order.disorder.max_held, core.now)
        own = replace(own, alerts=(*own.alerts, *notices), forced=len(forced))
    return replace(own, released=tuple(released)) if released else own


def _release(
    core: Core, messages: Iterable[Arrived], refused: Container[str], received: Instant | None
) -> tuple[Outcome, ...]:
    """Take in what waits no more; ``received`` is the time of arrival that released it."""
    return tuple(take_in(core, each, Timings(), refused, received) for each in messages)


def _set_late(core: Core, arrived: Arrived, timings: Timings) -> Outcome:
    """Send a message that came too late for the window straight to history."""
    message, time = arrived.message, arrived.mapped.events[0].time
    told = (
        f"late: something later than {core.timeline.format(time)} has been released already; "
        "the message went straight to history, not into the window"
    )
    departures = archived(arrived.mapped.events, core.archived)
    core.archived += len(departures)
    outcome = outcome_of(arrived, Status.LATE, timings)
    return replace(
        outcome,
        alerts=core.notices.late(message, told, core.now),
        archived=departures,
        warnings=(*outcome.warnings, told),
    )


def _kept(arrived: Arrived) -> Arrived:
    """A message as it waits: its text is in the journal and needed no more."""
    if not arrived.message.content:
        return arrived
    return replace(arrived, message=replace(arrived.message, content=b""), seconds=0.0)
