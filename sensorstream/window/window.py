"""Windows as the engine sees them: of individuals, and of triples.

``tests/window/reference.py`` states the definitions; property tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from sensorstream.model.events import Ended, Event, Individual
from sensorstream.model.terms import Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.change import WindowChange
from sensorstream.window.partition import owners_of
from sensorstream.window.spec import Elements, Partition, WindowSpec
from sensorstream.window.state import WindowState
from sensorstream.window.stepping import SteppingWindow


class TripleWindow(SteppingWindow[Triple]):
    """A window whose elements are triples.

    A physical window keeps the N triples that were stated last, a logical one those stated in a
    closed interval; one that is stated again has the age of its last statement. The triples of one
    individual may leave one after the other: a triple that leaves while its individual has others
    is handed out alone, and the individual departs with its last triple.
    """

    def _elements(self, event: Event) -> Iterable[Triple]:
        return event.triples

    def _renew(self, event: Event, renewed: list[Individual], record: WindowChange) -> None:
        content = self._content
        for triple in event.triples:
            name = content.owner(triple[0])
            individual = content.individuals.get(name)
            if individual is None or triple not in individual.statements:
                continue
            content.counters.arrivals += 1
            pane = self._home(name)
            entry = pane.ages.get(triple)
            if entry is None or event.time >= entry[0]:
                pane.renew(triple, event.time, content.counters.arrivals, record)

    def _expel(self, elements: list[Triple], now: Instant, record: WindowChange) -> None:
        self._content.expire(elements, now, record)

    def _drop_ages(self, ended: Iterable[Ended], record: WindowChange) -> None:
        individuals = self._content.individuals
        for each in ended:
            held = individuals.get(each.name)
            if held is None or each.triple not in held.statements:
                self._home(each.name).drop(each.triple, record)

    def _drop_departed(self, departures: Iterable[Individual], record: WindowChange) -> None:
        for individual in departures:
            pane = self._home(individual.name)
            for triple in individual.statements:
                pane.drop(triple, record)

    def _entries(
        self, names: Iterable[Subject], state: WindowState
    ) -> list[tuple[Instant, int, Triple]]:
        individuals = self._content.individuals
        # A window of individuals knows only when a triple was first stated.
        return [
            (*state.ages.get(triple, (said.time, individuals[name].arrival)), triple)
            for name in names
            for triple, said in individuals[name].statements.items()
        ]

    def _ages(self) -> dict[Triple, tuple[Instant, int]]:
        return {
            triple: (time, arrival)
            for pane in self._all_panes()
            for time, arrival, triple in pane.ages.values()
        }


class IndividualWindow(SteppingWindow[Subject]):
    """A window whose elements are individuals.

    Its triples come and go together. A physical window keeps the N individuals with the latest
    ``(t_ind, arrival)``, a logical one those with t_ind in a closed interval. An individual that
    leaves is handed to history as the same object.
    """

    def _elements(self, event: Event) -> Iterable[Subject]:
        return dict.fromkeys(owners_of(event, self._content.owners).values())

    def _renew(self, event: Event, renewed: list[Individual], record: WindowChange) -> None:
        for each in renewed:
            self._home(each.name).renew(each.name, each.time, each.arrival, record)

    def _expel(self, elements: list[Subject], now: Instant, record: WindowChange) -> None:
        for name in elements:
            self._content.depart(self._content.individuals[name], record)

    def _drop_departed(self, departures: Iterable[Individual], record: WindowChange) -> None:
        for individual in departures:
            self._home(individual.name).drop(individual.name, record)

    def _entries(
        self, names: Iterable[Subject], state: WindowState
    ) -> list[tuple[Instant, int, Subject]]:
        individuals = self._content.individuals
        return [(individuals[name].time, individuals[name].arrival, name) for name in names]


Window: TypeAlias = IndividualWindow | TripleWindow
"""The individuals that are in the window now, each with the statements it has there."""


def make_window(spec: WindowSpec, partition: Partition | None = None) -> Window:
    """An empty window."""
    if spec.elements is Elements.TRIPLES:
        return TripleWindow(spec, partition)
    return IndividualWindow(spec, partition)
