"""The effects that the rules of one round request, and those already carried out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sensorstream.kb.graph import KnowledgeBase
from sensorstream.model.events import Alert, Cleared, Delta, Departure, Event, Message
from sensorstream.model.terms import IRI, Subject, Triple
from sensorstream.model.timeline import Instant
from sensorstream.rules.conditions import ConditionEvaluator, Solution
from sensorstream.rules.memory import AlertKey, Holding, RuleMemory, SolutionKey


class RuleHost(Protocol):
    """What rules need of the engine that runs them."""

    @property
    def kb(self) -> KnowledgeBase:
        """The cache knowledge base, changed by :meth:`apply` only."""

    @property
    def evaluator(self) -> ConditionEvaluator:
        """Answers the rules' SPARQL over ``kb``."""

    @property
    def departures(self) -> Sequence[Departure]:
        """Every individual that left the window in this message so far; rounds extend it."""

    def said_by(self, triple: Triple) -> Iterable[str]:
        """The ids of the messages that said a statement, or caused it to be inferred."""

    def apply(self, event: Event | None, removed: Sequence[Triple]) -> Delta:
        """Take ``removed`` out of the window, then insert ``event``, then infer anew.

        Returns:
            What changed in the union of the graphs.
        """


@dataclass(slots=True)
class Changes:
    """The change of the window that one round requests."""

    inserted: dict[Triple, None] = field(default_factory=dict)
    replaced: dict[tuple[Subject, IRI], None] = field(default_factory=dict)
    removed: dict[Triple, None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.inserted or self.removed)


@dataclass(slots=True)
class Run:
    """The rules' work for one message."""

    host: RuleHost
    message: Message
    time: Instant
    memory: RuleMemory
    changes: Changes = field(default_factory=Changes)
    alerts: list[Alert] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    quiet: dict[AlertKey, Instant] = field(default_factory=dict)
    ticks: dict[str, int] = field(default_factory=dict)
    held: dict[str, Mapping[SolutionKey, Holding]] = field(default_factory=dict)
    timers: dict[str, Instant | None] = field(default_factory=dict)
    raised: set[AlertKey] = field(default_factory=set)
    names: int = 0
    cleared: list[Cleared] = field(default_factory=list)

    def clear(self, rule: str, key: str) -> None:
        """End the open alert of a rule and key; alerts raised from now on are not meant."""
        place = len(self.alerts)
        self.cleared.append(Cleared(rule, "rule", key, self.time, self.message.id, place))


@dataclass(slots=True)
class Firing:
    """One solution of a rule's conditions, with which its actions are carried out."""

    run: Run
    solution: Solution
    _new: str = ""

    @property
    def new(self) -> str:
        """``{new}``: a text that no other firing has, in this message or any other.

        It is the message's id and a count, so that a replay makes the same names.
        """
        if not self._new:
            self.run.names += 1
            self._new = f"{self.run.message.id}-{self.run.names}"
        return self._new
