"""Algorithm 1 of the paper: a message comes in, the knowledge base moves, rules react.

The engine does no I/O and reads no clock but the counter it is given for the phase times. The
same messages in the same order give the same outcomes: recovery rests on that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lxml import etree

from sensorstream.engine.notices import Notices
from sensorstream.engine.outcome import Outcome, Status, Timings
from sensorstream.errors import InternalFault, MessageError, ReasonerError, SensorStreamError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.mapping.document import parse_document
from sensorstream.mapping.plan import MappingPlan
from sensorstream.model.events import (
    Delta,
    Departure,
    Event,
    Individual,
    Message,
    Superseded,
    net_delta,
)
from sensorstream.model.terms import BlankNode, Triple
from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.rules.compile import CompiledRule
from sensorstream.rules.conditions import ConditionEvaluator
from sensorstream.rules.memory import RuleMemory
from sensorstream.rules.rounds import run_rules
from sensorstream.window.individual_window import IndividualWindow, WindowChange, WindowState

_LOG = logging.getLogger(__name__)
_INFERRED: Final = int(Origin.INFERRED)
_DERIVED_ONLY: Final = int(Origin.INFERRED | Origin.WINDOW)


@dataclass(frozen=True, slots=True)
class Reading:
    """A well-formed message, and the seconds it took to read (they count as t_m)."""

    document: etree._ElementTree
    seconds: float


@dataclass(frozen=True, slots=True)
class EngineState:
    """All that must survive a restart; what is inferred is derived again."""

    window: WindowState
    memory: RuleMemory
    notices: Notices


@dataclass(slots=True)
class _Step:
    """One applied change, so that it can be taken back."""

    changes: list[WindowChange]
    delta: Delta
    reasoned: bool = False


class Engine:
    """The knowledge base and all that reacts to it; owned by one thread.

    ``counter`` gives seconds for the phase times (:meth:`sensorstream.clock.Clock.counter`).
    """

    def __init__(
        self,
        *,
        knowledge: KnowledgeBase,
        window: IndividualWindow,
        mapping: MappingPlan,
        reasoner: Reasoner,
        rules: Sequence[CompiledRule],
        evaluator: ConditionEvaluator,
        max_rounds: int,
        max_depth: int,
        counter: Callable[[], float],
    ) -> None:
        self.kb = knowledge
        self.window = window
        self.evaluator = evaluator
        self._mapping = mapping
        self._reasoner = reasoner
        self._rules = tuple(rules)
        self._max_rounds = max_rounds
        self._max_depth = max_depth
        self._counter = counter
        self._memory = RuleMemory()
        self._notices = Notices()
        reasoner.start(knowledge)

    def read(self, content: bytes) -> Reading:
        """Parse a message without taking it in; safe to call from any thread.

        Raises:
            MalformedMessage: not well-formed XML, or XML that is refused.
        """
        start = self._counter()
        document = parse_document(content, max_depth=self._max_depth)
        return Reading(document, self._counter() - start)

    def process(self, message: Message, reading: Reading) -> Outcome:
        """Take one message in.

        A message that cannot be taken in (:class:`MessageError`, or a fault of our own) leaves
        the knowledge base as it was and comes back as a rejected outcome.

        Raises:
            ReasonerError: the reasoner's process failed; the message was not taken in.
        """
        timings = Timings(t_m=reading.seconds)
        run = _Run(self.kb, self.window, self._reasoner, self.evaluator, self._counter, timings)
        try:
            return self._process(message, reading, run, timings)
        except MessageError as error:
            run.take_back()
            return self.reject(message, error, timings)
        except ReasonerError:
            run.take_back()
            raise
        except Exception as error:
            # One message must not stop all that come after it, nor be met again on recovery.
            _LOG.exception("a fault of our own at message %s", message.id)
            run.take_back()
            fault = InternalFault(f"a fault of the server: {type(error).__name__}: {error}")
            return self.reject(message, fault, timings)

    def reject(
        self, message: Message, error: SensorStreamError, timings: Timings | None = None
    ) -> Outcome:
        """Set a message aside: it changes nothing but the count of such messages."""
        error.message_id = message.id
        return Outcome(
            message,
            Status.REJECTED,
            alerts=self._notices.rejected(message, error, self.window.now),
            phases=Timings() if timings is None else timings,
            warnings=(str(error),),
            rejection=error,
        )

    def _process(self, message: Message, reading: Reading, run: _Run, timings: Timings) -> Outcome:
        start = self._counter()
        mapped = self._mapping.apply(reading.document, message)
        timings.t_m += self._counter() - start
        if not mapped.matched:
            root = str(reading.document.getroot().tag)
            return Outcome(
                message,
                Status.UNMATCHED,
                alerts=self._notices.unmatched(message, root, mapped.hint, self.window.now),
                phases=timings,
                warnings=(f"no mapping rule matched: {mapped.hint}",),
            )
        applied = [run.apply(event, ()) for event in mapped.events]
        start, spent = self._counter(), timings.t_i + timings.t_w
        now = message.received if self.window.now is None else self.window.now
        result = run_rules(
            self._rules,
            run,
            message=message,
            time=now,
            delta=net_delta(now, applied),
            departures=tuple(run.departures),
            memory=self._memory,
            max_rounds=self._max_rounds,
        )
        # The rules' own share: what their actions cost window and reasoner is counted there.
        timings.t_s += self._counter() - start - (timings.t_i + timings.t_w - spent)
        self._memory = result.memory
        return Outcome(
            message,
            Status.ACCEPTED,
            matched=mapped.matched,
            individuals=mapped.individuals,
            alerts=result.alerts,
            replies=result.replies,
            departures=tuple(run.departures),
            superseded=tuple(run.superseded),
            phases=timings,
            warnings=result.warnings,
        )

    def state(self) -> EngineState:
        """What :meth:`restore` needs to go on from here."""
        return EngineState(self.window.state(), self._memory, self._notices)

    def restore(self, state: EngineState) -> None:
        """Go on from a state; call it on a new engine, before any message."""
        self.window.restore(state.window)
        self._memory = state.memory
        self._notices = state.notices
        held = tuple(t for each in self.window for t in each.statements)
        delta = self.kb.apply(Origin.WINDOW, Delta(self.window.now or 0, added=held))
        if delta:
            self.kb.apply(Origin.INFERRED, self._reasoner.react(self.kb, delta))

    def close(self) -> None:
        """Stop the reasoner."""
        self._reasoner.close()


class _Run:
    """One message's changes: the host of the semantic rules, and the way back."""

    def __init__(
        self,
        knowledge: KnowledgeBase,
        window: IndividualWindow,
        reasoner: Reasoner,
        evaluator: ConditionEvaluator,
        counter: Callable[[], float],
        timings: Timings,
    ) -> None:
        self.kb = knowledge
        self.evaluator = evaluator
        self.departures: list[Departure] = []
        self.superseded: list[Superseded] = []
        self._window = window
        self._reasoner = reasoner
        self._counter = counter
        self._timings = timings
        self._steps: list[_Step] = []

    def apply(self, event: Event | None, removed: Sequence[Triple]) -> Delta:
        """Move window, indexes and inferences by an event and retractions.

        Returns:
            What changed in the union of the graphs, inferences included.
        """
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
            self.superseded.extend(change.superseded)
            for individual in change.departures:
                self.departures.append(Departure(individual, now, self._inferred(individual)))
        step.delta = net_delta(now, [change.delta for change in changes])
        visible = self.kb.apply(Origin.WINDOW, step.delta)
        moved = self._counter()
        self._timings.t_w += moved - start
        inferred = self._reasoner.react(self.kb, step.delta)
        step.reasoned = True
        derived = self.kb.apply(Origin.INFERRED, inferred)
        self._timings.t_i += self._counter() - moved
        return net_delta(now, (visible, derived))

    def take_back(self) -> None:
        """Leave the knowledge base as it was before the message."""
        for step in reversed(self._steps):
            for change in reversed(step.changes):
                self._window.undo(change)
            inverse = step.delta.inverse()
            self.kb.apply(Origin.WINDOW, inverse)
            if step.reasoned:
                self.kb.apply(Origin.INFERRED, self._react_surely(inverse))
        self._steps.clear()

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
