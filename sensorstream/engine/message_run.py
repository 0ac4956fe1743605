"""One message's changes of window, indexes and inferences, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sensorstream.engine.admission import Admission
from sensorstream.engine.inferences import Inferences
from sensorstream.engine.outcome import Timings
from sensorstream.errors import ReasonerError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import (
    Delta,
    Departure,
    Ended,
    Event,
    Individual,
    net_delta,
)
from sensorstream.model.terms import BlankNode, Subject, Triple
from sensorstream.reasoning.reasoner import Reasoner, without_limits
from sensorstream.rules.conditions import ConditionEvaluator, unlimited
from sensorstream.window.change import WindowChange
from sensorstream.window.window import Window

_INFERRED: Final = int(Origin.INFERRED)
_DERIVED_ONLY: Final = int(Origin.INFERRED | Origin.WINDOW)


@dataclass(slots=True)
class _Step:
    """One applied change, so that it can be taken back."""

    changes: list[WindowChange]
    delta: Delta
    inferred: Delta | None = None


class MessageRun:
    """One message's changes: the host of the semantic rules, and the way back."""

    def __init__(
        self,
        knowledge: KnowledgeBase,
        window: Window,
        reasoner: Reasoner,
        evaluator: ConditionEvaluator,
        counter: Callable[[], float],
        timings: Timings,
        admission: Admission,
        inferences: Inferences,
        message: str,
    ) -> None:
        """``message`` is the id of the message at hand."""
        self.kb = knowledge
        self.evaluator = evaluator
        self.departures: list[Departure] = []
        self.ended: list[Ended] = []
        self.revoked: list[Ended] = []
        self.said: list[Event] = []
        """What the message itself said, as far as it entered the window."""
        self.visible: list[Delta] = []
        """What has changed in the union of the graphs, in order."""
        self._window = window
        self._reasoner = reasoner
        self._counter = counter
        self.timings = timings
        self._admission = admission
        self._inferences = inferences
        self._message = message
        self._steps: list[_Step] = []

    def apply(self, event: Event | None, removed: Sequence[Triple]) -> Delta:
        """Move window, indexes and inferences by what rules ask for: an event and retractions.

        Returns:
            What changed in the union of the graphs, inferences included.

        Raises:
            InvalidTerm: the event says what is no RDF.
        """
        if event is not None:
            self._admission.check((event,))
        return self._move(event, removed)

    def enter(self, event: Event) -> Delta:
        """The same for an event of the message itself, which was checked when it arrived."""
        return self._move(event, ())

    def _move(self, event: Event | None, removed: Sequence[Triple]) -> Delta:
        start = self._counter()
        changes: list[WindowChange] = []
        step = _Step(changes, Delta(0))
        self._steps.append(step)
        if removed:
            changes.append(self._window.retract(removed, self._window.now or 0))
        if event is not None:
            changes.append(self._window.insert(event))
        now = self._window.now or 0
        for change in changes:
            self.ended.extend(change.ended)
            self.revoked.extend(change.revoked)
            for individual in change.departures:
                self.departures.append(Departure(individual, now, self._inferred(individual)))
        step.delta = net_delta(now, [change.delta for change in changes])
        visible = self.kb.apply(Origin.WINDOW, step.delta)
        for change in changes:
            for triple, (_, graphs) in change.graphs.items():
                self.kb.place(triple, graphs)
        moved = self._counter()
        self.timings.t_w += moved - start
        step.inferred = inferred = self._reasoner.react(self.kb, step.delta)
        derived = self.kb.visible(Origin.INFERRED, inferred)
        self._follow(inferred, changes)
        self.timings.t_i += self._counter() - moved
        effect = net_delta(now, (visible, derived))
        self.visible.append(effect)
        return effect

    def stay(self, name: Subject) -> Individual | None:
        """The stay of an individual in the window; None: it is not there."""
        return self._window.get(name)

    def said_by(self, triple: Triple) -> Iterator[str]:
        """The ids of the messages that said a statement, or caused it to be inferred."""
        individual = self._window.get(self._window.owner(triple[0]))
        said = None if individual is None else individual.statements.get(triple)
        if said is not None:
            yield said.message
        begun = self._inferences.begun().get(triple)
        if begun is not None:
            yield begun.provenance.message

    def take_back(self) -> None:
        """Leave the knowledge base as it was before the message."""
        with unlimited(self.evaluator), without_limits(self._reasoner):
            self._take_back()

    def _take_back(self) -> None:
        self._inferences.take_back()
        inferred: list[Delta] = []
        for step in reversed(self._steps):
            for change in reversed(step.changes):
                self._window.undo(change)
                for triple, (graphs, _) in change.graphs.items():
                    self.kb.place(triple, graphs)
            inverse = step.delta.inverse()
            self.kb.apply(Origin.WINDOW, inverse)
            if step.inferred is not None:
                back = self._react_surely(inverse)
                inferred = [step.inferred, *inferred, back]
        self._steps.clear()
        # Nothing is left of it, unless the reasoner was given up meanwhile.
        self._follow(net_delta(self._window.now or 0, inferred), ())

    def _follow(self, inferred: Delta, changes: Sequence[WindowChange]) -> None:
        self._inferences.follow(
            Delta(self._window.now or 0, inferred.added, inferred.removed),
            self._window,
            self.kb,
            self._message,
            moved=(
                triple
                for change in changes
                for triple in (*change.delta.added, *change.delta.removed)
            ),
            left=(each for change in changes for each in change.departures),
        )

    def _react_surely(self, delta: Delta) -> Delta:
        """React even if the reasoner's process has to be started again for it."""
        try:
            return self._reasoner.react(self.kb, delta)
        except ReasonerError:
            try:
                return self._reasoner.react(self.kb, delta)
            except ReasonerError as error:
                # Neither the old state nor the new: only the journal can mend that.
                raise RuntimeError(f"a message cannot be taken back: {error}") from error

    def _inferred(self, individual: Individual) -> tuple[Triple, ...]:
        """What is derived about a leaving individual; it is still in the indexes."""
        subjects = {individual.name: None} | {
            t[0]: None for t in individual.statements if isinstance(t[0], BlankNode)
        }
        kb = self.kb
        return tuple(
            triple
            for subject in subjects
            for triple in kb.match(subject, None, None)
            if kb.marks(triple) & _DERIVED_ONLY == _INFERRED
        )
