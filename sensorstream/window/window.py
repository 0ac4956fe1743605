"""The interface of all windows to the engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from sensorstream.model.events import Event, Individual
from sensorstream.model.terms import Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.change import WindowChange
from sensorstream.window.individual_window import IndividualWindow
from sensorstream.window.spec import Elements, Partition, WindowSpec
from sensorstream.window.state import WindowState
from sensorstream.window.triple_window import TripleWindow


class Window(Protocol):
    """The individuals that are in the window now, each with the statements it has there."""

    @property
    def spec(self) -> WindowSpec: ...

    @property
    def partition(self) -> Partition | None: ...

    @property
    def now(self) -> Instant | None:
        """Application time: the latest time any event brought."""

    @property
    def pending(self) -> int:
        """Events that wait for the window's next step."""

    @property
    def due(self) -> Instant | None:
        """From which instant on passing time changes the content; None: it never does."""

    @property
    def partitions(self) -> int:
        """Partitions that hold something or have events waiting."""

    def __len__(self) -> int:
        """How many individuals there are."""

    def __contains__(self, name: Subject) -> bool: ...

    def __iter__(self) -> Iterator[Individual]: ...

    def get(self, name: Subject) -> Individual | None:
        """The individual of that name, if it is in the window now."""

    def owner(self, subject: Subject) -> Subject:
        """The individual a subject's triples belong to: itself, or a blank node's owner."""

    def insert(self, event: Event) -> WindowChange:
        """Take an event in; elements that the window's definition excludes now depart."""

    def retract(self, triples: Iterable[Triple], time: Instant) -> WindowChange:
        """Take statements out; an individual that loses its last one departs whole."""

    def number_stays_after(self, number: int) -> None:
        """Give stays that begin from now on numbers above ``number``, and above all before."""

    def undo(self, change: WindowChange) -> None:
        """Undo the last change that is not undone yet."""

    def state(self) -> WindowState:
        """Everything that must survive a restart."""

    def restore(self, state: WindowState) -> None:
        """Restore the window from a state."""


def make_window(spec: WindowSpec, partition: Partition | None = None) -> Window:
    """An empty window."""
    if spec.elements is Elements.TRIPLES:
        return TripleWindow(spec, partition)
    return IndividualWindow(spec, partition)
