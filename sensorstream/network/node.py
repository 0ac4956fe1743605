"""What every operator is: it turns the changes of its inputs into a change of its own output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sensorstream.model.timeline import Instant
from sensorstream.network.budget import Budget, Meter
from sensorstream.network.graph_components import reached
from sensorstream.network.rows import TIMES, Row, cancelled


@dataclass(slots=True)
class OperatorCounters:
    """What an operator has given out since it was made, in solutions."""

    added: int = 0
    removed: int = 0


class Past(Protocol):
    """What an operator remembers of rows of one input that have happened, in the order of ends."""

    def __len__(self) -> int: ...

    def add(self, rows: Iterable[Row]) -> None:
        """Take rows in, none of which ends before one that is there."""

    def forget(self, now: Instant) -> None:
        """Let go of what nothing that ends now, or later, can be joined with."""

    def happened(self) -> Iterator[Any]:
        """All rows, in the order of their ends."""


class Node(ABC):
    """One operator; shared by all queries that hold an equal part.

    ``variables`` lay out its rows; ``certain`` are those that every row binds. ``added`` and
    ``removed`` are the output's change at the instant at work: consumers read them, the
    network empties them when the instant is over. ``depth`` is above that of every input.
    """

    __slots__ = (
        "added",
        "certain",
        "consumers",
        "counters",
        "depth",
        "fault",
        "inputs",
        "key",
        "look",
        "meter",
        "number",
        "queued",
        "removed",
        "text",
        "users",
        "variables",
    )

    def __init__(
        self, inputs: Sequence[Node], variables: Sequence[str], certain: Iterable[str]
    ) -> None:
        self.inputs = tuple(inputs)
        self.variables = tuple(variables)
        self.certain = frozenset(certain)
        self.added: list[Row] = []
        self.removed: list[Row] = []
        self.consumers: list[Node] = []
        self.counters = OperatorCounters()
        self.depth: int = 1 + max((each.depth for each in inputs), default=-1)
        self.number = 0
        self.users = 0
        self.queued = False
        self.fault: Exception | None = None
        """What broke a function that a triple fired; the network takes it up."""
        self.key: Hashable = None
        self.meter = Meter(Budget())
        """What it takes of the budget; the network gives one of its own."""
        self.look = 0
        """Rows it has given out when the network looks next at what its consumers keep."""
        self.text = ""
        """That of its plan."""

    @property
    def timed(self) -> bool:
        """Whether its rows happen, each in an interval: two hidden columns."""
        return self.variables[:2] == TIMES

    @abstractmethod
    def flush(self) -> None:
        """Work the inputs' changes into ``added`` and ``removed``."""

    @property
    def apart(self) -> bool:
        """Whether ``added`` and ``removed`` are known to share no row; cheap to ask."""
        return not self.added or not self.removed

    def change(self) -> tuple[list[Row], list[Row]]:
        """``added`` and ``removed``, without the rows that are in both."""
        if self.apart:
            return self.added, self.removed
        return cancelled(self.added, self.removed)

    def concerned(self) -> Iterable[Node]:
        """The consumers that the change of this instant concerns."""
        return self.consumers

    @abstractmethod
    def rows(self) -> Iterable[Row]:
        """The whole output as it is now, each row as often as it occurs.

        Of rows that happen those that hold always: what has happened is over.
        """

    def expected(self) -> int:
        """The rows that :meth:`rows` visits at least, as far as that is known without a visit."""
        return 0

    def load(self) -> None:
        """Take the inputs as they are now into a new operator's memory.

        What an operator leaves outside itself (triggers, readers, copies) it leaves here, not when
        it is made: only then :meth:`release` is called.
        """
        return

    def renew(self) -> None:
        """Take the inputs as they are now in place of what they gave before, of rows that happen.

        What has happened stays. Called when something else holds always than before.
        """
        return

    def kept(self) -> Sequence[tuple[int, Past]]:
        """What it remembers, of what has happened, of which of its inputs, by their numbers."""
        return ()

    @property
    def graphs(self) -> tuple[object, ...]:
        """The graphs and windows that it reads itself, or the occurrences of these."""
        return ()

    def state(self) -> tuple[Row, ...] | None:
        """What cannot be derived again from the graphs after a restart; None: nothing."""
        return None

    def restore(self, state: tuple[Row, ...]) -> None:
        """Go on from a :meth:`state`; the operator has been loaded."""
        raise AssertionError(f"{self.describe()}: it has no state of its own")

    def release(self) -> None:
        """Take back what :meth:`load` has left outside, even if it failed halfway."""
        return

    def describe(self) -> str:
        """One line for people: what the operator does."""
        return self.text

    def size(self) -> int:
        """Rows it keeps in memory of its own."""
        return 0


def operators(root: Node) -> dict[Node, None]:
    """An operator and all below it, each once, inputs after what they feed."""
    return reached((root,), lambda node: node.inputs)
