"""The effects that the rules of one round request, and those already carried out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol, cast

from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.model.events import Alert, Cleared, Delta, Departure, Event, Individual, Message
from sensorstream.model.frozen import field, mutable
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.rules.conditions import Solution
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.rules.lineage import Lineage
from sensorstream.rules.rule_memory import (
    AlertKey,
    Answer,
    Remembering,
    RuleMemory,
    RuleMemoryChange,
    SolutionKey,
    WaitingRule,
)


class RuleHost(Protocol):
    """The engine as rules see it."""

    @property
    def kb(self) -> KnowledgeBase:
        """The cache knowledge base, changed by :meth:`apply` only."""

    @property
    def evaluator(self) -> ConditionEvaluator:
        """The evaluator of the rules' SPARQL over ``kb``."""

    @property
    def departures(self) -> Sequence[Departure]:
        """The individuals that left the window in this message so far; rounds extend it."""

    def stay(self, name: Subject) -> Individual | None:
        """The stay of an individual in the window; None: it is not there."""

    def said_by(self, triple: Triple) -> Iterable[str]:
        """The ids of the messages that said a statement, or caused its inference."""

    def apply(self, event: Event | None, removed: Sequence[Triple]) -> Delta:
        """Remove ``removed`` from the window, insert ``event``, infer anew.

        Returns the change of the union of the graphs.
        """


@mutable
class Requested:
    """The change of the window that one round requests."""

    inserted: dict[Triple, None] = field(default_factory=dict)
    replaced: dict[tuple[Subject, IRI], None] = field(default_factory=dict)
    removed: dict[Triple, None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.inserted or self.removed)


@mutable
class RulesRun(Remembering):
    """The rules' work for one message, or for a time that has come.

    ``time`` is application time, never less than that of the message before. ``memory`` is the
    state after the messages before; it is not changed. ``said`` are the subjects in the message.
    Names and alert ids begin with ``prefix``; "": with the message's id. ``late``: a note for
    alerts that should have been raised earlier.
    """

    host: RuleHost
    message: Message
    time: Instant
    memory: RuleMemory
    changes: Requested = cast(Requested, None)
    alerts: list[Alert] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)
    news: RuleMemoryChange = field(default_factory=RuleMemoryChange)
    raised: set[AlertKey] = field(default_factory=set)
    names: int = 0
    cleared: list[Cleared] = field(default_factory=list)
    said: Collection[Subject] = ()
    prefix: str = ""
    late: str = ""
    fired: dict[str, set[frozenset[tuple[str, Term]]]] = field(default_factory=dict)
    """The solutions with which each rule has fired, in the order of its first firing."""
    made: dict[Triple, RuleFiring] = field(default_factory=dict)
    """The firing that inserted each statement during this message."""
    endings: list[AlertKey] = field(default_factory=list)
    """The alerts to clear when the rules of this round have fired."""
    in_turn: Collection[str] | None = None
    """The rules whose time has come; None: all rules with something due."""
    answer: Answer | None = None
    """The answer of the history to a rule."""

    def __post_init__(self) -> None:
        self.prefix = self.prefix or self.message.id

    def due(self, rule: str) -> dict[SolutionKey, WaitingRule]:
        """The waits of a rule that are due by now and have not fired."""
        if not self.is_in_turn(rule):
            return {}
        due = ((key, self.holding(rule, key)) for key in self.memory.due_by(rule, self.time))
        return {
            key: each
            for key, each in due
            if each is not None and each.due is not None and each.due <= self.time
        }

    def is_in_turn(self, rule: str) -> bool:
        """Whether a rule may fire now, if something of it is due."""
        return self.in_turn is None or rule in self.in_turn

    def clear(self, rule: str, key: str) -> None:
        """Clear the open alert of a rule and key; later alerts are not affected."""
        place = len(self.alerts)
        self.cleared.append(Cleared(rule, "rule", key, self.time, self.message.id, place))


@mutable
class RuleFiring:
    """A solution of a rule's conditions with which its actions are carried out."""

    run: RulesRun
    solution: Solution
    rule: Lineage
    _new: str = ""

    @property
    def new(self) -> str:
        """``{new}``: a text that differs for all firings, of this message and all others.

        It is the message's id and a count, so that a replay makes the same names.
        """
        if not self._new:
            self.run.names += 1
            self._new = f"{self.run.prefix}-{self.run.names}"
        return self._new
