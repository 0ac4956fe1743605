"""The individual-based window: eq. (3)-(8) and (11) of the paper, in O(change) per event.

The unit is the individual; its triples come and go together. A physical window keeps the N
individuals with the latest ``(t_ind, arrival)``, a logical one those with t_ind in a closed
interval. An individual that leaves is handed to history as the same object.

``tests/window/reference.py`` states the definitions; property tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.model.events import Event, Individual
from sensorstream.model.terms import Subject
from sensorstream.model.timeline import Instant
from sensorstream.window.change import Recorder
from sensorstream.window.ownership import owners_of
from sensorstream.window.state import WindowState
from sensorstream.window.stepping import SteppingWindow


class IndividualWindow(SteppingWindow[Subject]):
    """A window whose elements are individuals."""

    def _elements(self, event: Event) -> Iterable[Subject]:
        return dict.fromkeys(owners_of(event, self._content.owners).values())

    def _renew(self, event: Event, renewed: list[Individual], record: Recorder) -> None:
        for each in renewed:
            self._home(each.name).renew(each.name, each.time, each.arrival, record)

    def _expel(self, elements: list[Subject], now: Instant, record: Recorder) -> None:
        for name in elements:
            self._content.depart(self._content.individuals[name], record)

    def _drop_departed(self, departures: Iterable[Individual], record: Recorder) -> None:
        for individual in departures:
            self._home(individual.name).drop(individual.name, record)

    def _entries(
        self, names: Iterable[Subject], state: WindowState
    ) -> list[tuple[Instant, int, Subject]]:
        individuals = self._content.individuals
        return [(individuals[name].time, individuals[name].arrival, name) for name in names]
