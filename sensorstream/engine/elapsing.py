"""Time that passes without a message: each rule that waits is evaluated at the time it waits for.

What is due before a message is done before it, so that what comes of a stream does not depend on
whether the clock or the next message told that the time had come. What is due at one time happens
together; if that fails, each has a turn of its own, and what then fails is passed over.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from sensorstream.engine.outcome import Outcome, Status, Timings, following
from sensorstream.errors import InternalFault, SensorStreamError
from sensorstream.model.events import Event, Message
from sensorstream.model.timeline import Instant
from sensorstream.rules.answers import Answer

if TYPE_CHECKING:
    from sensorstream.engine.cycle import Cycle

_LOG: Final = logging.getLogger(__name__)
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
        waiting_only: leave out rules that a message tells when it is their time.
    """
    done: Outcome | None = None
    for number in range(1, _MOST_STEPS + 1):
        due = cycle.waiting_due if waiting_only else cycle.due(with_window=with_window)
        if due is None or due > time:
            break
        # Time never goes back: a message may have brought a later one.
        now = max(due if number < _MOST_STEPS else time, cycle.present(due))
        outcome = step(
            cycle,
            entry,
            now,
            received,
            names=f"{entry.id}-t{number}",
            late=cycle.clock.note(due, received),
            with_window=with_window,
        )
        done = outcome if done is None else following(done, outcome)
    return done


def step(
    cycle: Cycle,
    entry: Message,
    now: Instant,
    received: Instant,
    *,
    names: str,
    late: str,
    with_window: bool,
) -> Outcome:
    """Let time come to ``now``, of which ``entry`` tells.

    All or nothing; if it fails, the window and each rule of which something is due have a turn
    of their own. What then fails is not tried again: it is passed over.

    Args:
        entry: the entry of the journal.
        now: not before the present.
        received: the time of arrival.
        names: what new names and alert ids begin with.
        late: a note for alerts that should have been raised earlier.
        with_window: whether the window moves, too.
    """
    before = cycle.degraded
    outcome = turn_of(cycle, None, entry, now, received, names, late, with_window=with_window)
    if isinstance(outcome, Exception):
        due = cycle.rules.due_by(cycle.memory, now)
        turns: list[tuple[Collection[str], bool]] = [((each,), False) for each in due]
        if with_window:
            turns.insert(0, ((), True))
        done: Outcome | None = None
        for number, (rules, moves) in enumerate(turns, 1):
            prefix = f"{names}-{number}"
            own: Outcome | Exception = outcome
            if len(turns) > 1:
                own = turn_of(cycle, rules, entry, now, received, prefix, late, with_window=moves)
            if isinstance(own, Exception):
                own = passed_over(cycle, entry, now, own, prefix, rules, with_window=moves)
            done = own if done is None else following(done, own)
        if done is None:
            done = passed_over(cycle, entry, now, outcome, names, (), with_window=False)
        outcome = done
    cycle.memory.time = now
    outcome = cycle.with_queries(outcome)
    return cycle.with_reasoner(outcome, before)


def turn_of(
    cycle: Cycle,
    rules: Collection[str] | None,
    entry: Message,
    now: Instant,
    received: Instant,
    names: str,
    late: str,
    *,
    with_window: bool = False,
    answer: Answer | None = None,
) -> Outcome | Exception:
    """What comes of it that the time of rules has come; an error has left no trace.

    ``rules``: only what of these is due is done now. ``answer``: what the history has answered to
    one of them.
    """
    run = cycle.run_of(entry.id, Timings())
    try:
        applied = [run.enter(Event((), now, entry.id))] if with_window else []
        outcome = cycle.ruled(
            run,
            entry,
            now,
            applied,
            names=names,
            late=late,
            silent=True,
            in_turn=rules,
            answer=answer,
        )
    except Exception as error:
        run.take_back()
        cycle.queries.take_back()
        cycle.inferences.settle()
        return error
    cycle.inferences.settle()
    if run.visible:
        cycle.queries.take_in((), run.visible, now, received)
    return outcome


def passed_over(
    cycle: Cycle,
    entry: Message,
    now: Instant,
    error: Exception,
    names: str,
    rules: Collection[str],
    *,
    with_window: bool,
) -> Outcome:
    """Tell that what was due could not be done."""
    cycle.rules.give_up(cycle.memory, now, rules)
    if with_window:
        cycle.stuck = now
    due = cycle.timeline.format(now)
    if isinstance(error, SensorStreamError):
        told = error
    else:
        _LOG.error("a fault of our own at what was due at %s", due, exc_info=error)
        told = InternalFault(f"a fault of the server: {type(error).__name__}: {error}")
    place = names.removeprefix(entry.id)
    notices = cycle.notices.passed_over(entry, told, due, now, place)
    failed = cycle.notices.rule_failed(entry, told, now, place)
    return Outcome(
        entry, Status.ACCEPTED, alerts=(*notices, *failed), warnings=(str(told),), time=now
    )
