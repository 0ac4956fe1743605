"""The state of an engine, in one place, and what its stages ask of it.

The stages are functions of it: :mod:`.message_stages` puts messages into order, and lets each
through filters, window, reasoner, rules and queries; :mod:`.elapsed_time` lets time pass before it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from sensorstream.engine.engine_queries import LiveQueries, QueryTerms
from sensorstream.engine.inferences import Inferences
from sensorstream.engine.message_filters import EntryFilter
from sensorstream.engine.message_reading import Arrived, TermCheck
from sensorstream.engine.notices import RULE_FAILED, Notices
from sensorstream.engine.outcome import Outcome, Timings, counted
from sensorstream.engine.reorder import Disorder, ReorderBuffer
from sensorstream.engine.shedding import LoadShedder, Shedding
from sensorstream.engine.stream_clock import StreamClock
from sensorstream.errors import InternalFault, SensorStreamError, SettingsError
from sensorstream.kb.graph_index import KnowledgeBase
from sensorstream.model.events import Cleared, Message, Status
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.waits import SilentSource
from sensorstream.network.budget import no_time
from sensorstream.reasoning.dl.dl_reasoner import ResilientReasoner
from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.rules.rule_memory import RuleMemory
from sensorstream.rules.rule_rounds import RuleIndex
from sensorstream.window.window import Window, make_window
from sensorstream.window.window_spec import WindowMove, WindowSpec, WindowUnitKind

_LOG = logging.getLogger(__name__)
_TOLD: Final = 3
"""Open questions that a warning names."""
_EVERYTHING: Final = WindowSpec(WindowMove.LANDMARK, WindowUnitKind.INDIVIDUALS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts that an engine is built from."""

    knowledge: KnowledgeBase
    """Holds the static graph."""
    window: Window | None
    """Keeps what enters the knowledge base; None: events enter the windows of the queries only, and
    there are no rules."""
    reasoner: Reasoner
    """Derives the inferred graph; the engine starts it."""
    rules: Sequence[CompiledRule]
    """The semantic rules, in the order in which their actions are carried out."""
    evaluator: ConditionEvaluator
    """Answers the conditions of the rules."""
    max_rounds: int
    """How many rounds of rules one message may cause."""
    timeline: Timeline
    """How times are written."""
    counter: Callable[[], float] = no_time
    """Gives seconds for the phase times (:meth:`sensorstream.clock.Clock.counter`)."""
    turn: Callable[[str], None] | None = None
    """Gets the id of each message, just before it is taken in."""
    disorder: Disorder | None = None
    """How late events may be; what is later is left out. None: events are taken as they come, one
    from before the present happens at the present."""
    filters: Sequence[EntryFilter] = ()
    """Decide which individuals of a message enter the window."""
    shedding: Shedding | None = None
    """The load to be shed."""
    queries: QueryTerms = field(default_factory=QueryTerms)
    """The terms of continuous queries."""
    answers: bool = True
    """Whether senders wait for the outcome of their own message and see no other, so that the
    replies of a message that had to wait cannot be sent."""
    silence: SilentSource = SilentSource.QUERIES
    """Whose time goes on with the clock while no message comes."""


class Core:
    """The knowledge base and all that reacts to it; owned by one thread.

    Raises:
        SettingsError: rules, filters or load shedding, which are about the window, without one.
    """

    def __init__(self, parts: Parts) -> None:
        window = parts.window
        if window is None and (parts.rules or parts.filters or parts.shedding is not None):
            raise SettingsError(
                "semantic rules, filters and load shedding are about the window of the knowledge "
                "base, and this engine has no window: expected one, such as 'landmark'"
            )
        self.parts = parts
        self.kb = parts.knowledge
        self.window = make_window(_EVERYTHING) if window is None else window
        self.timeline = parts.timeline
        self.order = ReorderBuffer[Arrived](parts.disorder)
        """Messages that wait for earlier ones."""
        self.refused: frozenset[str] = frozenset()
        """The ids of messages that wait, and are to be rejected in their turn."""
        self.admission = TermCheck()
        self.filters = tuple(parts.filters)
        self.shedder = None if parts.shedding is None else LoadShedder(parts.shedding)
        self.archived = 0
        """How many individuals went straight to history."""
        self.reasoner = parts.reasoner
        """Derives the inferred graph; it may be exchanged."""
        self.inferences = Inferences()
        """Since when each inferred statement holds."""
        self.evaluator = parts.evaluator
        self.rules = RuleIndex(parts.rules)
        self.memory = RuleMemory()
        """What the semantic rules remember."""
        self.clock = StreamClock(parts.silence, parts.timeline, parts.disorder)
        self.queries = LiveQueries(
            self.kb,
            parts.timeline,
            parts.queries,
            parts.disorder,
            lambda triple: self.reasoner.conclusions(triple),
        )
        self.notices = Notices()
        self.dropped: list[str] = []
        """Rules that had failed and are in force no more, until an outcome tells of it."""
        self.stuck: Instant | None = None
        """Up to then the window could not be moved without a message."""
        self.reasoner.start(self.kb)
        self.evaluator.prepare(rule.queries for rule in parts.rules)

    @property
    def now(self) -> Instant | None:
        """Application time: the latest time any event brought; None before the first."""
        return self.queries.processor.now if self.parts.window is None else self.window.now

    @property
    def held(self) -> int:
        """Messages that wait for earlier ones."""
        return len(self.order)

    @property
    def degraded(self) -> str:
        """The reason why the plain profile stands in for HermiT or Pellet; "" while it does not."""
        return self.reasoner.degraded if isinstance(self.reasoner, ResilientReasoner) else ""

    def due(self, *, with_window: bool) -> Instant | None:
        """The application time at which rules (``with_window``: or the window) act in silence."""
        rules = self.rules.due(self.memory)
        window = self.window.due if with_window else None
        if window is not None and self.stuck is not None and window <= self.stuck:
            window = None
        return min((due for due in (rules, window) if due is not None), default=None)

    @property
    def waiting_due(self) -> Instant | None:
        """The :meth:`due` of rules that come before the message that brings their time."""
        return self.rules.due(self.memory, waiting_only=True)

    def present(self, time: Instant) -> Instant:
        """A time, or the present of window and rules if that is later."""
        for known in (self.window.now, self.memory.time):
            if known is not None and known > time:
                time = known
        return time

    # -- what became of an entry ------------------------------------------------------------

    def reject(
        self, message: Message, error: SensorStreamError, timings: Timings | None = None
    ) -> Outcome:
        """Set a message aside: it changes nothing but the count of such messages."""
        error.message_id = message.id
        return Outcome(
            message,
            Status.REJECTED,
            alerts=(
                *self.notices.rejected(message, error, self.now),
                *self.notices.rule_failed(message, error, self.now),
            ),
            phases=Timings() if timings is None else timings,
            warnings=(str(error),),
            rejection=error,
        )

    def with_queries(self, outcome: Outcome) -> Outcome:
        """Add the reports of queries, the queries stopped by a fault, and ended inferences."""
        queries = self.queries
        if self.inferences.ended:
            outcome.ended += self.inferences.take_ended()
        if not self.dropped and not queries.has_news:
            return outcome
        message, now = outcome.message, self.now
        if self.dropped:
            told = (Cleared("", RULE_FAILED, rule, now or 0, message.id) for rule in self.dropped)
            outcome.cleared = (*told, *outcome.cleared)
            self.dropped = []
        stopped = [
            self.notices.stopped(message, name, entry, error, now)
            for name, entry, error in queries.take_faults()
        ]
        before = counted(outcome.alerts)
        raised, cleared = queries.alerts.raised(message.id, before)
        over = queries.alerts.over(message.id, now or 0, before + len(raised))
        outcome.reports += queries.take_reports()
        outcome.alerts += (*raised, *stopped)
        outcome.cleared += (*cleared, *over)
        return outcome

    def with_reasoner(self, outcome: Outcome, before: str) -> Outcome:
        """Add the reasoner's open questions, or its absence; as an alert if that is new."""
        reasoner, message = self.reasoner, outcome.message
        if not isinstance(reasoner, ResilientReasoner):
            return outcome
        if open_ := reasoner.take_left_open():
            outcome.alerts += self.notices.left_open(message, open_, self.now)
            outcome.warnings += tuple(open_[:_TOLD])
        if self.degraded and not before:
            outcome.alerts += (self.notices.degraded(message, self.degraded, self.now),)
        if self.degraded and outcome.status in (Status.ACCEPTED, Status.PARTIAL):
            told = f"inferred by the plain profile only, the reasoner is away: {self.degraded}"
            outcome.warnings += (told,)
        return outcome

    def marked(self, outcome: Outcome) -> Outcome:
        """Mark an outcome while the plain profile stands in for the reasoner."""
        if self.degraded:
            outcome.degraded = True
        return outcome


def told_as(
    error: Exception, known: type[Exception] | tuple[type[Exception], ...], where: str
) -> SensorStreamError:
    """The error to report: one of the ``known`` kinds, else a fault of the server. One message must
    not stop all that come after it, nor be met again on recovery.
    """
    if isinstance(error, SensorStreamError) and isinstance(error, known):
        return error
    _LOG.error("a fault of our own at %s", where, exc_info=error)
    return InternalFault(f"a fault of the server: {type(error).__name__}: {error}")
