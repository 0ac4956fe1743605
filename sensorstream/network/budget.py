"""Limits of what the operators of a network take in one instant: rows, and seconds.

An operator counts the rows it visits where they multiply: in loops over more than one row, before
it visits them. The count of an instant is from one settling of the network to the next. Beyond the
limit the operator raises :class:`.Overrun`, which breaks this operator only, as a fault would.

Rows are the same in each replay, seconds are not: a replay of what has been stored already lifts
the limits (:attr:`Budget.lifted`), and gets from outside what was stopped then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from sensorstream.errors import Overrun
from sensorstream.model.frozen import field, frozen

_LOOK: Final = 64
"""Rows between two looks at the clock: one row may have a slow expression."""
_LOOKS: Final = 16
"""Looks at the rows kept in memory, while as many rows come as may be kept."""
_PAUSE: Final = 0.25
"""The most of the limit that counts between two looks: something else may have run meanwhile."""
_Row = TypeVar("_Row")


def no_time() -> float:
    """Return 0: the counter where no times are wanted."""
    return 0.0


@frozen
class Limits:
    """Limits of one operator in one instant; None: no limit.

    ``rows`` are visited rows; ``seconds`` are by ``counter``, the processor time of the thread at
    work: a busy machine must not refuse what an idle one takes. ``settings`` is the prefix of the
    names of the settings for them.
    """

    rows: int | None = None
    seconds: float | None = None
    counter: Callable[[], float] = field(default=no_time, compare=False)
    settings: str = "limits.query"
    kept: int | None = None
    """Rows that one operator may keep in memory."""
    together: float | None = None
    """Seconds that all operators may take for a message on average; see :class:`.EngineLoad`."""
    wall: Callable[[], float] | None = field(default=None, compare=False)
    """The clock for ``together``, of time that goes by; None: ``counter``."""


NO_LIMITS: Final = Limits()


class Budget:
    """The limits of a network's operators, and the number of the instant at work."""

    def __init__(self, limits: Limits = NO_LIMITS) -> None:
        self.limits = limits
        self.lifted = False
        """Whether the limits are not in force, as what comes was accepted before."""
        self.instant = 0
        """The number of the instant; a meter that has counted in another one begins at zero."""
        self._until: float | None = None

    @contextmanager
    def lift(self) -> Iterator[None]:
        """Lift the limits within the block."""
        before, self.lifted = self.lifted, True
        try:
            yield
        finally:
            self.lifted = before

    @contextmanager
    def within(self, limits: Limits) -> Iterator[None]:
        """Put these limits in force within the block, even if others were lifted."""
        before = self.limits, self.lifted
        self.limits, self.lifted = limits, False
        try:
            yield
        finally:
            self.limits, self.lifted = before

    def end(self) -> None:
        """End the instant: the next one has the whole budget again."""
        self.instant += 1

    def check_expected(self, rows: int) -> None:
        """Raise Overrun if the rows of a planned visit are more than the limit."""
        most = self.limits.rows
        if most is not None and rows > most and not self.lifted:
            raise self.overrun(f"{rows:,} rows in one instant, more than {most:,}", "rows")

    def kept(self, rows: int) -> Overrun | None:
        """The error of an operator that keeps more rows than the limit; None: it does not."""
        most = self.limits.kept
        if most is None or rows <= most or self.lifted:
            return None
        return self.overrun(f"more than {most:,} rows kept in memory", "rows")

    def next_look(self, given: int) -> int:
        """The number of rows given out at which to look next at what consumers keep."""
        most = self.limits.kept
        return sys.maxsize if most is None else given + most // _LOOKS + 1

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Count the block as one instant of its own; its operators share the seconds."""
        self.end()
        seconds = self.limits.seconds
        if seconds is not None:
            self._until = self.limits.counter() + seconds
        try:
            yield
        finally:
            self._until = None
            self.end()

    def check_time(self) -> None:
        """Raise Overrun if the block of :meth:`alone` has no time left."""
        if self._until is not None and not self.lifted and self.limits.counter() > self._until:
            raise self.too_slow()

    def too_slow(self) -> Overrun:
        return self.overrun(f"more than {self.limits.seconds:g} s in one instant", "seconds")

    def overrun(self, told: str, what: str) -> Overrun:
        """The error of exceeding a limit, with the name of its setting."""
        return Overrun(f"{told}; the setting {self.limits.settings}_{what} raises the limit")


class Meter:
    """The rows and seconds of one operator in the instant at work."""

    __slots__ = ("_budget", "_first", "_instant", "_looked", "_next", "_rows", "_spent")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        rows = budget.limits.rows
        self._first = _LOOK if rows is None else min(_LOOK, rows + 1)
        self._begin(budget.instant, 0)

    def _begin(self, instant: int, rows: int) -> None:
        self._instant = instant
        self._rows = rows
        self._next = self._first
        self._spent = 0.0
        self._looked: float | None = None

    @property
    def rows(self) -> int:
        """The rows of the instant so far, if limits are not lifted."""
        return self._rows if self._instant == self._budget.instant else 0

    def take(self, rows: int) -> None:
        """Count rows that are about to be visited; raises Overrun beyond a limit."""
        if self._instant == self._budget.instant:
            self._rows += rows
        elif self._next == self._first:
            # It has not looked in its last instant: it has as much before it as then.
            self._instant, self._rows = self._budget.instant, rows
        else:
            self._begin(self._budget.instant, rows)
        if self._rows >= self._next:
            self._look()

    def through(self, rows: Sequence[_Row]) -> Iterator[_Row] | Sequence[_Row]:
        """Rows of which each is worked on before the next; counts them as :meth:`take` does."""
        return rows if len(rows) < _LOOK else self._gone_through(rows)

    def _gone_through(self, rows: Sequence[_Row]) -> Iterator[_Row]:
        for start in range(0, len(rows), _LOOK):
            part = rows[start : start + _LOOK]
            self.take(len(part))
            yield from part

    def _look(self) -> None:
        budget = self._budget
        limits = budget.limits
        self._next = self._rows + self._first
        if budget.lifted:
            # Rows that come while limits are lifted do not count afterwards.
            self._begin(budget.instant, 0)
            return
        if limits.rows is not None and self._rows > limits.rows:
            raise budget.overrun(f"more than {limits.rows:,} rows in one instant", "rows")
        if limits.seconds is None:
            return
        budget.check_time()
        now = limits.counter()
        if self._looked is not None:
            self._spent += min(now - self._looked, limits.seconds * _PAUSE)
        self._looked = now
        if self._spent > limits.seconds:
            raise budget.too_slow()


_PERIOD: Final = 5.0
"""Seconds of a period at least."""
_SHARE: Final = 0.5
"""The part of a period's time that queries may take in any case."""


class EngineLoad:
    """The seconds of the engine's time that each continuous query takes, and all together.

    It measures operators (what triples fire in them, and their part of each instant) and reports,
    in periods of some seconds; without a ``counter``, nothing.
    """

    def __init__(self, limits: Limits) -> None:
        self.counter: Callable[[], float] | None = None
        if limits.together is not None:
            self.counter = limits.wall or limits.counter
        self.seconds: dict[Hashable, float] = {}
        self._allowed = limits.together or 0.0
        self._messages = 0
        self._since = 0.0 if self.counter is None else self.counter()
        self._was_over = False

    def took(self, what: Hashable, since: float, now: float) -> None:
        """Add the time from one reading of the counter to another."""
        self.seconds[what] = self.seconds.get(what, 0.0) + now - since

    def excess(self) -> float:
        """Count a message; returns by how much the queries have exceeded the seconds allowed.

        It is 0 except at the end of the second period in a row with too much: a machine that stood
        still is no reason to stop a query. Call :meth:`begin` afterwards.
        """
        self._messages += 1
        if self.counter is None:
            return 0.0
        period = self.counter() - self._since
        if period < _PERIOD:
            return 0.0
        allowed = max(self._allowed * self._messages, _SHARE * period)
        excess = max(0.0, sum(self.seconds.values()) - allowed)
        was_over, self._was_over = self._was_over, excess > 0
        if excess and was_over:
            return excess
        self.begin()
        return 0.0

    def for_a_message(self, seconds: float) -> float:
        """Seconds of this period, divided by its number of messages."""
        return seconds / max(1, self._messages)

    def begin(self) -> None:
        self.seconds.clear()
        self._messages = 0
        if self.counter is not None:
            self._since = self.counter()
