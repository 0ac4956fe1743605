"""When something happens although no message comes: in time of arrival, and in application time."""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.engine.cycle import Cycle
from sensorstream.engine.turns import Turns
from sensorstream.model.timeline import Instant
from sensorstream.model.waits import Waits


class Dues:
    """Says from when on an engine has something to do in silence; it changes nothing."""

    def __init__(self, cycle: Cycle, turns: Turns) -> None:
        self._cycle = cycle
        self._turns = turns

    @property
    def tick(self) -> Instant | None:
        """From which time of arrival on :meth:`.Engine.tick` changes something; None: never."""
        return _first((self._of_arrival, self._of_queries, self._of_rules))

    @property
    def waits(self) -> Waits:
        """From which times on :meth:`.Engine.pass_time` changes something."""
        cycle, received = self._cycle, self._of_arrival
        if len(self._turns):
            return Waits(received)
        margin = cycle.clock.margin
        moved, news = cycle.due(with_window=True), cycle.queries.processor.next_news
        by_clock = self._by_clock
        present = _first(
            (
                None if news is None else news + 1 + margin,
                None if by_clock is None else by_clock + margin,
            )
        )
        quiet = self._turns.quiet
        if quiet is not None and (moved is not None or present is not None):
            # While a source of this engine is waited for, application time is what it says.
            return Waits(quiet if received is None else min(received, quiet))
        return Waits(received, moved, present)

    def tick_content(self, received: Instant) -> bytes:
        """How far application time has come in silence; empty if it stands still.

        It is said in the tick, for a replay cannot know how long the server did not run.
        """
        clock, queries = self._cycle.clock, self._cycle.queries
        due = self._of_queries
        present = None if due is None or received < due else queries.present(received)
        for_queries = "" if present is None else str(present - clock.margin)
        due = self._of_rules
        present = None if due is None or received < due else clock.present(received)
        return (for_queries if present is None else f"{for_queries or '-'} {present}").encode()

    @property
    def _of_arrival(self) -> Instant | None:
        """From which time of arrival on messages are released, or load shedding ends."""
        shedder = self._cycle.shedder
        return _first((self._turns.due, None if shedder is None else shedder.due))

    @property
    def _by_clock(self) -> Instant | None:
        """When rules, or the window, change something in silence."""
        clock = self._cycle.clock
        return self._cycle.due(with_window=clock.for_window) if clock.for_rules else None

    @property
    def _of_rules(self) -> Instant | None:
        """From which time of arrival on that has come."""
        return None if len(self._turns) else self._cycle.clock.wake(self._by_clock)

    @property
    def _of_queries(self) -> Instant | None:
        """From which time of arrival on silence makes a query's window move, or a report due."""
        if len(self._turns):
            return None
        # While a source is waited for, application time is what it says.
        clock = self._cycle.clock
        return self._cycle.queries.due(clock.margin, clock.patience)


def times_of(content: bytes) -> tuple[Instant | None, Instant | None]:
    """How far a tick says that time has come, for queries and for rules; None: it does not."""
    found = [None if each == b"-" else int(each) for each in content.split()]
    return found[0] if found else None, found[1] if len(found) > 1 else None


def _first(dues: Iterable[Instant | None]) -> Instant | None:
    return min((due for due in dues if due is not None), default=None)
