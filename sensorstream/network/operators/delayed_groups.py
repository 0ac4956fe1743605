"""The earlier content of a group: its changes, each given out a fixed time later."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from sensorstream.model.frozen import frozen
from sensorstream.model.timeline import Instant
from sensorstream.network.agenda import Agenda
from sensorstream.network.node import Node
from sensorstream.network.operators.group_by import GroupOperator
from sensorstream.network.rows import Row, cancelled, slots_of


@frozen
class LaterChange:
    """A change that an operator will give out at the end of an instant."""

    time: Instant
    added: tuple[Row, ...]
    removed: tuple[Row, ...]


class DelayedOperator(Node):
    """Gives out the changes of a group ``delay`` units of the time line later.

    All changes of one instant are given out together at the end of the later instant. Before the
    first, it has the rows of a group of nothing. Memory: its rows, and the changes that wait.
    """

    closing: Final = True

    def __init__(
        self,
        group: GroupOperator,
        names: Sequence[str],
        delay: int,
        now: Callable[[], Instant | None],
        agenda: Agenda,
        wake: Callable[[Node], None],
    ) -> None:
        places = slots_of(group.variables)
        super().__init__((group,), names, [names[places[name]] for name in group.certain])
        self._group = group
        self._delay = delay
        self._now = now
        self._agenda = agenda
        self._wake = wake
        # In the order of their times.
        self._waiting: deque[tuple[Instant, list[Row], list[Row]]] = deque()
        self._waiting_rows = 0
        self._ready: list[tuple[Instant, list[Row], list[Row]]] = []
        # A group has each row once.
        self._output: dict[Row, None] = {}

    @property
    def due(self) -> Instant | None:
        return self._waiting[0][0] if self._waiting else None

    def elapse(self, time: Instant) -> None:
        """Wake it for the changes whose time has come."""
        waiting = self._waiting
        while waiting and waiting[0][0] <= time:
            self._ready.append(waiting.popleft())
        if self._ready and not self.queued:
            self._wake(self)

    def skip(self, time: Instant) -> None:
        """Join all changes before a time into one, at the time of the last of them."""
        waiting, before = self._waiting, []
        while waiting and waiting[0][0] < time:
            before.append(waiting.popleft())
        if before:
            added, removed = cancelled(
                [row for _, rows, _ in before for row in rows],
                [row for _, _, rows in before for row in rows],
            )
            waiting.appendleft((before[-1][0], added, removed))
            self._waiting_rows = sum(len(a) + len(r) for _, a, r in waiting)

    def flush(self) -> None:
        group, now = self._group, self._now()
        # If there is no time, a state is being restored: `await_changes` follows.
        if (group.added or group.removed) and now is not None:
            self._await(now + self._delay, group.added, group.removed)
        ready, self._ready = self._ready, []
        for _, added, removed in ready:
            self._waiting_rows -= len(added) + len(removed)
            self._give(added, removed)

    def _give(self, added: list[Row], removed: list[Row]) -> None:
        output = self._output
        for row in removed:
            del output[row]
        for row in added:
            output[row] = None
        self.added, self.removed = _together(self.added, self.removed, added, removed)

    def _await(self, time: Instant, added: list[Row], removed: list[Row]) -> None:
        waiting = self._waiting
        self._waiting_rows += len(added) + len(removed)
        if waiting and waiting[-1][0] == time:
            _, more, less = waiting.pop()
            added, removed = _together(more, less, added, removed)
        waiting.append((time, added, removed))
        if len(waiting) == 1:
            self._agenda.note(self)

    @property
    def apart(self) -> bool:
        return True

    def load(self) -> None:
        group, now = self._group, self._now()
        nothing = group.of_nothing()
        self._output = dict.fromkeys(nothing)
        if now is not None:
            added, removed = cancelled(list(group.rows()), nothing)
            if added or removed:
                self._await(now + self._delay, added, removed)

    def later_changes(self) -> Iterable[LaterChange]:
        """The changes that wait, in order; a restart cannot derive them again."""
        return (LaterChange(time, tuple(a), tuple(r)) for time, a, r in self._waiting)

    def await_changes(self, changes: Iterable[LaterChange]) -> None:
        """Take :meth:`later_changes` back, with the group as it was; to be settled afterwards."""
        waiting = [(each.time, list(each.added), list(each.removed)) for each in changes]
        self._waiting = deque(waiting)
        self._waiting_rows = sum(len(added) + len(removed) for _, added, removed in waiting)
        present = dict.fromkeys(self._group.rows())
        for _, added, removed in reversed(waiting):
            for row in added:
                del present[row]
            present.update(dict.fromkeys(removed))
        self._ready = [(0, *cancelled(list(present), list(self._output)))]
        self._waiting_rows += sum(map(len, self._ready[0][1:]))
        self._agenda.note(self)
        if not self.queued:
            self._wake(self)

    def rows(self) -> Iterable[Row]:
        return self._output

    def release(self) -> None:
        self._agenda.forget(self)

    def size(self) -> int:
        return len(self._output) + self._waiting_rows


def _together(
    added: list[Row], removed: list[Row], more: list[Row], less: list[Row]
) -> tuple[list[Row], list[Row]]:
    """Join two consecutive changes into one, which shares no list with them."""
    return cancelled([*added, *more], [*removed, *less])
