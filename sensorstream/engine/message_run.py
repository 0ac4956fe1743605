"""The changes that a message makes to window, indexes and inferences, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, ParamSpec

from sensorstream.engine.engine_state import Core
from sensorstream.engine.notices import RULE_FAILED
from sensorstream.engine.outcome import Outcome, Timings
from sensorstream.errors import ReasonerError
from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.model.events import (
    Cleared,
    Delta,
    Departure,
    Ended,
    Event,
    Individual,
    Status,
    net_delta,
)
from sensorstream.model.frozen import mutable
from sensorstream.model.terms import Subject, Triple
from sensorstream.reasoning.reasoner import without_limits
from sensorstream.rules.continuous import unlimited
from sensorstream.rules.rule_effects import RulesRun
from sensorstream.rules.rule_rounds import run_rules
from sensorstream.window.window_change import Undo, WindowChange

P = ParamSpec("P")
_NOTHING: Final = Delta(0)
_INFERRED: Final = int(Origin.INFERRED)
_DERIVED_ONLY: Final = int(Origin.INFERRED | Origin.WINDOW)


@mutable
class _Step:
    """An applied change, so that it can be taken back."""

    changes: list[WindowChange]
    delta: Delta
    inferred: Delta | None = None


class MessageRun:
    """The changes of a message: the host of the semantic rules, and the way back. ``message`` is
    the id of the message at hand.
    """

    def __init__(self, core: Core, message: str, timings: Timings) -> None:
        self.kb = core.kb
        self.evaluator = core.evaluator
        self.departures: list[Departure] = []
        self.ended: list[Ended] = []
        self.revoked: list[Ended] = []
        self.said: list[Event] = []
        """What the message itself said, as far as it entered the window."""
        self.visible: list[Delta] = []
        """What has changed in the union of the graphs, in order."""
        self.timings = timings
        self._core = core
        self._window = core.window
        self._message = message
        self._steps: list[_Step] = []
        # The way back of what is inferred.
        self._undo: list[Undo] = []

    def whole(
        self, react: Callable[P, Outcome], *args: P.args, **named: P.kwargs
    ) -> Outcome | Exception:
        """Call ``react`` and make all of its changes, or return an error that left no trace."""
        try:
            return react(*args, **named)
        except Exception as error:
            self.take_back()
            self._core.queries.processor.take_back()
            return error

    def apply(self, event: Event | None, removed: Sequence[Triple]) -> Delta:
        """Move window, indexes and inferences by what rules ask for: an event and retractions.

        Returns:
            The changes in the union of the graphs, inferences included.

        Raises:
            InvalidTerm: a term of the event is no RDF.
        """
        if event is not None:
            self._core.admission.check((event,))
        return self.enter(event, removed)

    def enter(self, event: Event | None, removed: Sequence[Triple] = ()) -> Delta:
        """Do :meth:`apply` for an event of the message itself, which was checked on arrival."""
        core, kb, window, counter = self._core, self.kb, self._window, self._core.parts.counter
        start = counter()
        changes: list[WindowChange] = []
        step = _Step(changes, _NOTHING)
        self._steps.append(step)
        if removed:
            changes.append(window.retract(removed, window.now or 0))
        if event is not None:
            changes.append(window.insert(event))
        now = window.now or 0
        for change in changes:
            self.ended += change.ended
            self.revoked += change.revoked
            for individual in change.departures:
                self.departures.append(Departure(individual, now, self._inferred(individual)))
        step.delta = net_delta(now, [change.delta for change in changes])
        visible = kb.apply(Origin.WINDOW, step.delta)
        for change in changes:
            for triple, (_, graphs) in change.graphs.items():
                kb.place(triple, graphs)
        moved = counter()
        self.timings.t_w += moved - start
        step.inferred = inferred = core.reasoner.react(kb, step.delta)
        resettled = [subject for change in changes for subject in change.resettled]
        core.inferences.follow(now, inferred, window, kb, self._message, self._undo, resettled)
        effect = visible
        if inferred.added or inferred.removed:
            effect = net_delta(now, (visible, kb.visible(Origin.INFERRED, inferred)))
        self.timings.t_i += counter() - moved
        self.visible.append(effect)
        return effect

    def ruled(self, work: RulesRun, applied: Sequence[Delta], *, silent: bool = False) -> Outcome:
        """Let the rules react to the changes ``applied``; ``silent`` as for :func:`run_rules`.
        ``work`` is the rules' work, of which nothing is done yet; its host is this.
        """
        core, timings, now, entry = self._core, self.timings, work.time, work.message
        start, spent = core.parts.counter(), timings.t_i + timings.t_w
        delta, left = net_delta(now, applied), self.departures[:]
        run_rules(core.rules, work, delta, left, max_rounds=core.parts.max_rounds, silent=silent)
        # The rules' own share: what their actions cost window and reasoner is counted there.
        timings.t_s += core.parts.counter() - start - (timings.t_i + timings.t_w - spent)
        core.memory.keep(now, work.news)
        worked = core.notices.worked(work.fired)
        return Outcome(
            entry,
            Status.ACCEPTED,
            alerts=tuple(work.alerts),
            replies=tuple(work.replies),
            departures=tuple(self.departures),
            ended=tuple(self.ended),
            revoked=tuple(self.revoked),
            phases=timings,
            warnings=tuple(work.warnings),
            time=now,
            cleared=(
                *(Cleared("", RULE_FAILED, rule, now, entry.id) for rule in worked),
                *work.cleared,
            ),
        )

    def stay(self, name: Subject) -> Individual | None:
        """The stay of an individual in the window; None: it is not there."""
        return self._window.get(name)

    def said_by(self, triple: Triple) -> Iterator[str]:
        """The ids of the messages that said a statement, or caused it to be inferred."""
        individual = self._window.get(self._window.owner(triple[0]))
        said = None if individual is None else individual.statements.get(triple)
        if said is not None:
            yield said.message
        begun = self._core.inferences.begun().get(triple)
        if begun is not None:
            yield begun.provenance.message

    def take_back(self) -> None:
        """Leave the knowledge base as it was before the message."""
        with unlimited(self.evaluator), without_limits(self._core.reasoner):
            self._take_back(self.kb)

    def _take_back(self, kb: KnowledgeBase) -> None:
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        inferred: list[Delta] = []
        for step in reversed(self._steps):
            for change in reversed(step.changes):
                self._window.undo(change)
                for triple, (graphs, _) in change.graphs.items():
                    kb.place(triple, graphs)
            inverse = step.delta.inverse()
            kb.apply(Origin.WINDOW, inverse)
            if step.inferred is not None:
                back = self._react_surely(inverse)
                inferred = [step.inferred, *inferred, back]
        self._steps.clear()
        # Nothing is left of it, unless the reasoner was given up meanwhile.
        now = self._window.now or 0
        back = net_delta(now, inferred)
        self._core.inferences.follow(now, back, self._window, kb, self._message, self._undo)

    def _react_surely(self, delta: Delta) -> Delta:
        """React even if the reasoner's process has to be started again for it."""
        reasoner = self._core.reasoner
        try:
            return reasoner.react(self.kb, delta)
        except ReasonerError:
            try:
                return reasoner.react(self.kb, delta)
            except ReasonerError as error:
                # Neither the old state nor the new: only a replay of the journal repairs that.
                raise RuntimeError(f"a message cannot be taken back: {error}") from error

    def _inferred(self, individual: Individual) -> tuple[Triple, ...]:
        """The inferences about a leaving individual, which is still in the indexes."""
        statements, marks = individual.statements, self.kb.marks
        about = self._core.inferences.about
        subjects = {individual.name: None} | {t[0]: None for t in statements}
        return tuple(
            [
                triple
                for subject in subjects
                for triple in about(subject, self.kb)
                if triple not in statements and marks(triple) & _DERIVED_ONLY == _INFERRED
            ]
        )
