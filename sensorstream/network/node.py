"""The base of all operators: each turns changes of its inputs into a change of its own output."""

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
    """The solutions that an operator has given out since it was made, and its seconds of work.

    The seconds are 0 where the network measures none.
    """

    added: int = 0
    removed: int = 0
    seconds: float = 0.0


class Past(Protocol):
    """The memory of an operator for rows of one input that have happened, in the order of ends."""

    def __len__(self) -> int: ...

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows, none of which ends before one that is there."""

    def forget(self, now: Instant) -> None:
        """Forget rows that nothing that ends at ``now`` or later can be joined with."""

    def happened(self) -> Iterator[Any]:
        """The rows, in the order of their ends."""


class Node(ABC):
    """An operator, shared by all queries that have an equal part.

    ``variables`` lay out its rows; ``certain`` are those that every row binds. ``added`` and
    ``removed`` are the output's change at the instant at work: consumers read them, the network
    empties them when the instant is over. ``depth`` is above that of every input.
    """

    __slots__ = (
        "added",
        "certain",
        "concerned",
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
        self.concerned: Iterable[Node] = self.consumers
        """The consumers that the change of this instant concerns."""
        self.counters = OperatorCounters()
        self.depth: int = 1 + max((each.depth for each in inputs), default=-1)
        self.number = 0
        self.users = 0
        self.queued = False
        self.fault: Exception | None = None
        """The error of a function that a triple fired; the network takes it up."""
        self.key: Hashable = None
        self.meter = Meter(Budget())
        """Counts the work of this operator; the network replaces it by one with its budget."""
        self.look = 0
        """The number of rows given out at which the network looks next at what consumers keep."""
        self.text = ""
        """The text of its plan."""

    @property
    def timed(self) -> bool:
        """Whether its rows happen, each in an interval: two hidden columns."""
        return self.variables[:2] == TIMES

    @abstractmethod
    def flush(self) -> None:
        """Compute ``added`` and ``removed`` from the changes of the inputs."""

    @property
    def apart(self) -> bool:
        """Whether ``added`` and ``removed`` are known to share no row; cheap."""
        return not self.added or not self.removed

    def change(self) -> tuple[list[Row], list[Row]]:
        """``added`` and ``removed``, without the rows that are in both."""
        if not self.added or not self.removed or self.apart:
            return self.added, self.removed
        return cancelled(self.added, self.removed)

    @abstractmethod
    def rows(self) -> Iterable[Row]:
        """The whole output as it is now, each row as often as it occurs.

        If rows happen, only those that hold always: what has happened is over.
        """

    def expected(self) -> int:
        """The least number of rows that :meth:`rows` visits, as far as known without a visit."""
        return 0

    def load(self) -> None:
        """Fill the memory of a new operator from its inputs as they are now.

        Triggers, readers and copies outside the operator are made here, not in ``__init__``: only
        after this call :meth:`release` is called.
        """
        return

    def renew(self) -> None:
        """Replace what the inputs gave before by what they give now, if rows happen.

        Rows that have happened stay. Called when the background knowledge has changed.
        """
        return

    def kept(self) -> Sequence[tuple[int, Past]]:
        """The memories of what has happened, each with the number of its input."""
        return ()

    @property
    def graphs(self) -> tuple[object, ...]:
        """The graphs and windows that it reads itself, or the occurrences of these."""
        return ()

    def state(self) -> tuple[Row, ...] | None:
        """State that a restart cannot derive again from the graphs; None: there is none."""
        return None

    def restore(self, state: tuple[Row, ...]) -> None:
        """Continue from a :meth:`state`; the operator has been loaded."""
        raise AssertionError(f"{self.describe()}: it has no state of its own")

    def release(self) -> None:
        """Undo what :meth:`load` has made outside, even if it failed halfway."""
        return

    def describe(self) -> str:
        """Describe in one line, for people, what the operator does."""
        return self.text

    def size(self) -> int:
        """The number of rows in its own memory."""
        return 0


def operators(root: Node) -> dict[Node, None]:
    """An operator and all below it, each once, those nearest to it first."""
    return reached((root,), lambda node: node.inputs)
