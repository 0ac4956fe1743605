"""What follows from statements that come and go in the order of time, and in which intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sensorstream.app.wiring import Deployment
from sensorstream.errors import Inconsistent, OntologyConflict, ReasonerError
from sensorstream.history.spans import Change, Held
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.model.events import Delta
from sensorstream.model.terms import BlankNode, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.reasoning.resilient import ResilientReasoner


@dataclass(frozen=True, slots=True)
class _Begun:
    stay: int
    message: int
    time: Instant


class Following:
    """What holds at an instant, and since when each inferred statement does."""

    def __init__(self, deployment: Deployment, reasoner: Reasoner) -> None:
        self._timeline = deployment.timeline
        self._kb = KnowledgeBase()
        self._kb.add(Origin.STATIC, deployment.ontology.triples)
        self._reasoner = reasoner
        reasoner.start(self._kb)
        self._held: Counter[Triple] = Counter()
        # The stays that have a statement about a subject now.
        self._stays: dict[Subject, Counter[int]] = {}
        self._begun: dict[Triple, _Begun] = {}
        self._ended: list[Held] = []
        # The latest message that said something: what ends with a departure has no other.
        self._cause = 0

    def step(self, time: Instant, together: Sequence[Change]) -> None:
        """Let changes happen, all at one instant."""
        before: dict[Triple, bool] = {}
        touched: dict[Subject, None] = {}
        for each in together:
            triple, number = each.triple, 1 if each.added else -1
            before.setdefault(triple, self._held[triple] > 0)
            self._held[triple] += number
            for subject in (triple[0], triple[2]):
                # A node belongs to what refers to it, too.
                if subject is triple[0] or isinstance(subject, BlankNode):
                    self._stays.setdefault(subject, Counter())[each.stay] += number
                    touched[subject] = None
        self._cause = max((each.message for each in together if each.added), default=self._cause)
        added = tuple(t for t, was in before.items() if not was and self._held[t] > 0)
        removed = tuple(t for t, was in before.items() if was and self._held[t] <= 0)
        for triple in before:
            if self._held[triple] <= 0:
                del self._held[triple]
        inferred = self._react(Delta(time, added, removed))
        for triple in inferred.removed:
            self._end(triple, time)
        for subject in touched:
            self._resettle(subject, time)
        for triple in inferred.added:
            self._begun[triple] = _Begun(self._home(triple[0]), self._cause, time)

    def cut(self, time: Instant) -> Sequence[Held]:
        """What has ended since the last cut, and what holds until now, which goes on from here."""
        for triple, begun in list(self._begun.items()):
            self._end(triple, time)
            self._begun[triple] = _Begun(begun.stay, begun.message, time)
        ended, self._ended = self._ended, []
        return ended

    def _react(self, delta: Delta) -> Delta:
        if not delta:
            return delta
        self._kb.apply(Origin.WINDOW, delta)
        try:
            inferred = self._reasoner.react(self._kb, delta)
        except Inconsistent as error:
            told = error.message.removeprefix("the message contradicts the ontology: ")
            raise OntologyConflict(
                f"what held at {self._timeline.format(delta.time)} contradicts the ontology: "
                f"{told}",
                contradiction=error.contradiction,
            ) from None
        if isinstance(self._reasoner, ResilientReasoner) and self._reasoner.degraded:
            raise ReasonerError(f"the reasoner failed: {self._reasoner.degraded}")
        return inferred

    def _resettle(self, subject: Subject, time: Instant) -> None:
        """Give what is inferred of a subject to the stay that it has now."""
        stays = self._stays[subject] = +self._stays[subject]
        if not stays:
            del self._stays[subject]
        home = self._home(subject)
        for triple in self._kb.match(subject, None, None):
            begun = self._begun.get(triple)
            if begun is not None and begun.stay != home:
                self._end(triple, time)
                self._begun[triple] = _Begun(home, self._cause, time)

    def _home(self, subject: Subject) -> int:
        return max(self._stays.get(subject, ()), default=0)

    def _end(self, triple: Triple, time: Instant) -> None:
        begun = self._begun.pop(triple)
        if begun.time < time:
            self._ended.append(Held(triple, begun.stay, begun.message, begun.time, time))
