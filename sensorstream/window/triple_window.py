"""The triple-based window: eq. (1)-(5) and (11) of the paper, in O(change) per event.

The unit is the triple. A physical window keeps the N triples that were stated last, a logical one
those stated in a closed interval; a triple that is stated again has the age of its last statement.
The triples of one individual may leave one after the other: a triple that leaves while its
individual has others is handed out alone, and the individual departs with its last triple.

``tests/window/reference.py`` states the definitions; property tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterable

from sensorstream.model.events import Ended, Event, Individual
from sensorstream.model.terms import Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.change import Recorder
from sensorstream.window.state import WindowState
from sensorstream.window.stepping import SteppingWindow


class TripleWindow(SteppingWindow[Triple]):
    """A window whose elements are triples."""

    def _elements(self, event: Event) -> Iterable[Triple]:
        return event.triples

    def _renew(self, event: Event, renewed: list[Individual], record: Recorder) -> None:
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

    def _expel(self, elements: list[Triple], now: Instant, record: Recorder) -> None:
        self._content.expire(elements, now, record)

    def _drop_ages(self, ended: Iterable[Ended], record: Recorder) -> None:
        individuals = self._content.individuals
        for each in ended:
            held = individuals.get(each.name)
            if held is None or each.triple not in held.statements:
                self._home(each.name).drop(each.triple, record)

    def _drop_departed(self, departures: Iterable[Individual], record: Recorder) -> None:
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
