"""The state of a window that must survive a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sensorstream.model.events import Event, Individual
from sensorstream.model.terms import BlankNode, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.past import PastState
from sensorstream.window.spec import Partition


@dataclass(slots=True)
class Counters:
    """The counters of a window, common to all its partitions."""

    now: Instant | None = None
    """Application time: the latest time seen."""
    arrivals: int = 0
    """All appearances so far: breaks ties between equal times."""
    stays: int = 0
    """All stays of individuals so far."""


@dataclass(frozen=True, slots=True)
class PaneState:
    """One partition: its name, position, individuals, and the events that wait in it."""

    key: str | None = None
    entered: int = 0
    boundary: Instant | None = None
    names: tuple[Subject, ...] = ()
    pending: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowState:
    """A whole window; a window that is not partitioned has one pane.

    ``owners`` names the owner of each blank node that an individual owns. ``ages`` gives time and
    arrival of every triple, in a window of triples.
    """

    counters: Counters
    individuals: tuple[Individual, ...]
    owners: Mapping[BlankNode, Subject]
    panes: tuple[PaneState, ...]
    partition: Partition | None = None
    ages: Mapping[Triple, tuple[Instant, int]] = field(default_factory=dict)
    past: PastState = field(default_factory=PastState)
