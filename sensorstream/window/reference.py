"""The window by its definitions, naively: the oracle of :mod:`.individual_window`.

Every insertion recomputes the window from the whole stream, instant by instant. The one
reading added to equations (6)-(8): an individual that has left took its triples to history,
so the stream S of the equations no longer holds them when it appears again
(``docs/decisions/001-expired-individuals-start-anew.md``).
"""

from __future__ import annotations

from dataclasses import dataclass

from sensorstream.model.events import Event
from sensorstream.model.terms import Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.window.spec import Kind, Unit, WindowSpec


@dataclass(slots=True)
class _Element:
    """One element <s, p, o>, t of the stream, and whether history has it."""

    triple: Triple
    time: Instant
    arrival: int
    moved: bool = False


class ReferenceWindow:
    """The same answers as :class:`.IndividualWindow`, at a cost of O(stream) per event.

    Subjects are individuals of their own and nothing is updated: blank nodes and
    replacements are outside the equations.
    """

    def __init__(self, spec: WindowSpec) -> None:
        self.spec = spec
        self.stream: list[_Element] = []
        self.content: set[Triple] = set()
        self.departed: list[Subject] = []
        self._now: Instant | None = None
        self._entered = 0
        self._arrivals = 0

    def insert(self, event: Event) -> None:
        """Append an event to the stream and compute the window at every instant up to it."""
        if self.spec.unit is Unit.TIME:
            first = event.time if self._now is None else self._now + 1
            for instant in range(first, event.time):
                self._compute_logical(instant)
        before = self._entered
        known = {e.triple[0] for e in self.stream if not e.moved}
        subjects = list(dict.fromkeys(t[0] for t in event.triples))
        self._entered += sum(subject not in known for subject in subjects)
        for subject in subjects:
            self._arrivals += 1
            self.stream.extend(
                _Element(t, event.time, self._arrivals) for t in event.triples if t[0] == subject
            )
        self._now = event.time if self._now is None else max(self._now, event.time)
        if self.spec.unit is Unit.TIME:
            self._compute_logical(self._now, late=event.time < self._now)
        else:
            self._compute_physical(before)

    def _t_ind(self, subject: Subject, at: Instant) -> tuple[Instant, int]:
        """Eq. (6), with the order of arrival that breaks ties."""
        return max((e.time, e.arrival) for e in self._present(at) if e.triple[0] == subject)

    def _present(self, at: Instant) -> list[_Element]:
        return [e for e in self.stream if not e.moved and e.time <= at]

    def _compute_logical(self, instant: Instant, late: bool = False) -> None:
        """Eq. (3) and (11) with w'_l of eq. (7).

        A late element belongs to the window computed last, as if it had come in order.
        """
        spec = self.spec
        offset = instant - spec.origin
        if spec.kind is Kind.FILLING:
            at = instant
            low = instant - (offset % spec.size or spec.size)
        else:
            if offset % spec.step and not late:
                return
            at = instant - offset % spec.step
            low = at - spec.size
        self._select({s for s in self._subjects(at) if low <= self._t_ind(s, at)[0]}, at)

    def _compute_physical(self, before: int) -> None:
        """Eq. (8), computed when the count of individuals reaches or passes a step."""
        spec = self.spec
        step = 1 if spec.kind is Kind.FILLING else spec.step
        if self._entered % step and before // step == self._entered // step:
            return
        size = (self._entered - 1) % spec.size + 1 if spec.kind is Kind.FILLING else spec.size
        assert self._now is not None
        ranked = sorted(self._subjects(self._now), key=lambda s: self._t_ind(s, self._now or 0))
        self._select(set(ranked[-size:]), self._now)

    def _subjects(self, at: Instant) -> set[Subject]:
        return {e.triple[0] for e in self._present(at)}

    def _select(self, chosen: set[Subject], at: Instant) -> None:
        gone = sorted(self._subjects(at) - chosen, key=lambda s: self._t_ind(s, at))
        self.departed.extend(gone)
        for element in self._present(at):
            element.moved = element.triple[0] not in chosen
        self.content = {e.triple for e in self._present(at)}
