"""Time that passes without a message: each rule that waits is evaluated at the time it waits for.

What is due before a message is done before it, so that what comes of a stream does not depend on
whether the clock or the next message told that the time had come.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sensorstream.engine.outcome import Outcome, Status, counted
from sensorstream.model.events import Message
from sensorstream.model.timeline import Instant

if TYPE_CHECKING:
    from sensorstream.engine.cycle import Cycle

_MOST_STEPS: Final = 1000
"""Times at which something was due that one entry works off one by one; the rest at once."""


def elapse(
    cycle: Cycle,
    entry: Message,
    time: Instant,
    received: Instant,
    *,
    with_window: bool = False,
    waiting_only: bool = False,
) -> Outcome | None:
    """Let application time come to ``time``; None: nothing was due.

    Args:
        cycle: what it passes for.
        entry: what tells of it; names and alert ids derive from its id.
        time: how far it has come.
        received: the time of arrival.
        with_window: whether the window moves, too.
        waiting_only: leave out rules that are evaluated every so often.
    """
    done: Outcome | None = None
    for step in range(1, _MOST_STEPS + 1):
        due = cycle.memory.due if waiting_only else cycle.due(with_window=with_window)
        if due is None or due > time:
            break
        # Time never goes back: a message may have brought a later one.
        now = max(due if step < _MOST_STEPS else time, cycle.present(due))
        outcome = cycle.step(
            entry,
            now,
            received,
            names=f"{entry.id}-t{step}",
            late=cycle.clock.note(due, received),
            with_window=with_window,
        )
        done = outcome if done is None else following(done, outcome)
    return done


def following(before: Outcome, outcome: Outcome) -> Outcome:
    """What an entry came to, with what had become of the time before it."""
    raised = counted(before.alerts)
    cleared = (replace(each, place=each.place + raised) for each in outcome.cleared)
    is_told = outcome.status in (Status.ACCEPTED, Status.PARTIAL)
    return replace(
        outcome,
        alerts=(*before.alerts, *outcome.alerts),
        cleared=(*before.cleared, *cleared),
        replies=(*before.replies, *outcome.replies),
        departures=(*before.departures, *outcome.departures),
        ended=(*before.ended, *outcome.ended),
        revoked=(*before.revoked, *outcome.revoked),
        reports=(*before.reports, *outcome.reports),
        released=(*before.released, *outcome.released),
        # The reason why a message was not taken in stands alone.
        warnings=(*before.warnings, *outcome.warnings) if is_told else outcome.warnings,
    )
