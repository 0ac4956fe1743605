"""Algorithm 1 of the paper: a message comes in, the knowledge base moves, rules react.

The engine does no I/O and reads no clock but the counter it is given for the phase times. The
same messages and ticks in the same order give the same outcomes: recovery rests on that.

A message is mapped when it arrives. With a lateness it may then wait until nothing earlier can
come (:mod:`sensorstream.engine.reorder`); the window, the reasoner and the rules get it when it
is released, in order of application time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace

from lxml import etree

from sensorstream.engine.archive import archived
from sensorstream.engine.cycle import Arrived, Cycle, outcome_of
from sensorstream.engine.filters import Filter
from sensorstream.engine.notices import Notices
from sensorstream.engine.outcome import Outcome, Status, Timings
from sensorstream.engine.queries import QueriesState
from sensorstream.engine.reorder import Disorder, ReorderBuffer, ReorderState, Waiting
from sensorstream.engine.shedding import LoadShedder, LoadState, Shedding
from sensorstream.errors import (
    MessageError,
    SensorStreamError,
)
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.mapping.document import parse_document
from sensorstream.mapping.plan import Mapped, MappingPlan
from sensorstream.model.events import Alert, Delta, Message
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.reasoning.aside import Aside
from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.rules.compile import CompiledRule
from sensorstream.rules.conditions import ConditionEvaluator
from sensorstream.rules.memory import RuleMemory
from sensorstream.window.state import WindowState
from sensorstream.window.window import Window

_LOG = logging.getLogger(__name__)
_NONE: frozenset[str] = frozenset()


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
    held: ReorderState[Arrived] = field(default_factory=ReorderState)
    archived: int = 0
    """How many individuals went straight to history."""
    load: LoadState = field(default_factory=LoadState)
    degraded: str = ""
    """Why the plain profile stands in for the reasoner; "" while it does not."""
    queries: QueriesState | None = None
    """The continuous queries; None in a state that is older than they."""


class Engine:
    """The knowledge base and all that reacts to it; owned by one thread.

    ``counter`` gives seconds for the phase times (:meth:`sensorstream.clock.Clock.counter`).
    """

    def __init__(
        self,
        *,
        knowledge: KnowledgeBase,
        window: Window,
        mapping: MappingPlan,
        reasoner: Reasoner,
        rules: Sequence[CompiledRule],
        evaluator: ConditionEvaluator,
        max_rounds: int,
        max_depth: int,
        counter: Callable[[], float],
        timeline: Timeline,
        disorder: Disorder | None = None,
        filters: Sequence[Filter] = (),
        shedding: Shedding | None = None,
    ) -> None:
        self.kb = knowledge
        self.window = window
        self.evaluator = evaluator
        self._cycle = Cycle(
            knowledge=knowledge,
            window=window,
            reasoner=reasoner,
            rules=rules,
            evaluator=evaluator,
            max_rounds=max_rounds,
            counter=counter,
            timeline=timeline,
            filters=filters,
            shedder=None if shedding is None else LoadShedder(shedding),
        )
        self.queries = self._cycle.queries
        self._mapping = mapping
        self._max_depth = max_depth
        self._counter = counter
        self._timeline = timeline
        # None: messages are taken as they come.
        self._order = None if disorder is None else ReorderBuffer[Arrived](disorder)
        # Messages that waited when the lateness was taken out of the settings.
        self._left: tuple[Arrived, ...] = ()

    def read(self, content: bytes) -> Reading:
        """Parse a message without taking it in; safe to call from any thread.

        Raises:
            MalformedMessage: not well-formed XML, or XML that is refused.
        """
        start = self._counter()
        document = parse_document(content, max_depth=self._max_depth)
        return Reading(document, self._counter() - start)

    def process(
        self, message: Message, reading: Reading, refused: Container[str] = _NONE
    ) -> Outcome:
        """Take one message in, and all that waited for it.

        A message that cannot be taken in (:class:`MessageError`, a reasoner that fails twice,
        or a fault of our own) leaves the knowledge base as it was and comes back as a rejected
        outcome.

        Args:
            message: it arrives no earlier than the messages and ticks before it.
            reading: what :meth:`read` made of it.
            refused: ids of messages that were rejected when they were released, in an earlier
                life of this engine: they are rejected again, whatever the reasoner says now.

        Returns:
            What became of the message; ``released`` holds the outcomes of those that waited.
        """
        timings = Timings(t_m=reading.seconds)
        news = self._weigh(message, 1)
        arrived = self._map(message, reading, timings)
        if self._order is not None:
            outcome = self._in_order(self._order, message, arrived, timings, refused)
        else:
            left = self._release_left(refused, message.received)
            if isinstance(arrived, Arrived):
                arrived = self._cycle.take_in(arrived, timings, refused)
            outcome = replace(arrived, released=left) if left else arrived
        if news:
            outcome = replace(outcome, alerts=(*news, *outcome.alerts))
        return self._marked(outcome)

    def tick(self, tick: Message, refused: Container[str] = _NONE) -> Outcome:
        """Let time pass without a message: what waited for silent sources is released.

        Load shedding may end, and then the synopses of what was shed enter the window.

        Args:
            tick: its arrival time is the time, its content what :meth:`tick_content` said.
            refused: as for :meth:`process`.
        """
        news = self._weigh(tick, 0)
        if self._order is None:
            released = self._release_left(refused, tick.received)
        else:
            self._order.advance(tick.received)
            released = tuple(
                self._cycle.take_in(each, Timings(), refused, tick.received)
                for each in self._order.release()
            )
        outcome = Outcome(tick, Status.ACCEPTED)
        if self._cycle.shedder is not None and self._cycle.shedder.closing(None):
            outcome = self._cycle.take_in(Arrived(tick, Mapped((), (), ())), Timings(), refused)
            if outcome.status is Status.REJECTED:
                # A rule that cannot stand a synopsis must not be asked again for ever.
                self._cycle.shedder.settle({}, 0, True, {})
        if tick.content:
            self.queries.advance(int(tick.content))
            outcome = self._cycle.with_queries(outcome)
        return self._marked(replace(outcome, released=released, alerts=(*news, *outcome.alerts)))

    @property
    def due(self) -> Instant | None:
        """From which time of arrival on a :meth:`tick` would change something; None: never."""
        dues = (
            0 if self._left else None,
            None if self._order is None else self._order.due,
            None if self._cycle.shedder is None else self._cycle.shedder.due,
            self._queries_due,
        )
        return min((due for due in dues if due is not None), default=None)

    def tick_content(self, received: Instant) -> bytes:
        """How far application time has come in silence; empty if it stands still.

        It is said in the tick, for a replay cannot know how long the server did not run.
        """
        due = self._queries_due
        present = None if due is None or received < due else self.queries.present(received)
        return b"" if present is None else str(present - self._margin).encode()

    @property
    def _queries_due(self) -> Instant | None:
        """From which time of arrival on silence makes a query's window move, or a report due."""
        if self.held:
            return None
        # While a source is waited for, application time is what it says.
        idle = 0 if self._order is None else self._order.disorder.idle + 1
        return self.queries.due(self._margin, idle)

    @property
    def _margin(self) -> int:
        """How late a message may still come."""
        if self._order is None:
            return 0
        disorder = self._order.disorder
        return max(disorder.lateness, *disorder.by_source.values(), 0)

    @property
    def held(self) -> int:
        """Messages that wait for earlier ones."""
        return len(self._left) if self._order is None else len(self._order)

    def _map(self, message: Message, reading: Reading, timings: Timings) -> Arrived | Outcome:
        """What the mapping rules make of a message, or why it ends here."""
        start = self._counter()
        try:
            mapped = self._mapping.apply(reading.document, message)
        except MessageError as error:
            return self.reject(message, error, timings)
        except Exception as error:
            return self._cycle.fault(message, error, timings)
        finally:
            timings.t_m += self._counter() - start
        if mapped.matched:
            return Arrived(message, mapped)
        root = str(reading.document.getroot().tag)
        return Outcome(
            message,
            Status.UNMATCHED,
            alerts=self._cycle.notices.unmatched(message, root, mapped.hint, self.window.now),
            phases=timings,
            warnings=(f"no mapping rule matched: {mapped.hint}",),
        )

    def _in_order(
        self,
        order: ReorderBuffer[Arrived],
        message: Message,
        arrived: Arrived | Outcome,
        timings: Timings,
        refused: Container[str],
    ) -> Outcome:
        """Let a message wait for its turn, and release those whose turn it is."""
        own: Outcome | None = None
        order.advance(message.received)
        if isinstance(arrived, Outcome):
            own = arrived
        elif not arrived.mapped.events:
            # It says nothing of any time, so there is nothing to wait for.
            own = self._cycle.take_in(arrived, timings, refused)
        elif not order.offer(
            message.source, arrived.mapped.events[0].time, message.received, _kept(arrived)
        ):
            own = self._set_late(arrived, timings)
        released: list[Outcome] = []
        forced = order.overflow()
        for each in (*forced, *order.release()):
            if each.message.id == message.id:
                assert isinstance(arrived, Arrived)
                own = self._cycle.take_in(arrived, timings, refused)
            else:
                released.append(self._cycle.take_in(each, Timings(), refused, message.received))
        if own is None:
            assert isinstance(arrived, Arrived)
            own = outcome_of(arrived, Status.HELD, timings)
        if forced:
            notices = self._cycle.notices.overflow(
                message, order.disorder.max_held, self.window.now
            )
            own = replace(own, alerts=(*own.alerts, *notices), forced=len(forced))
        return replace(own, released=tuple(released)) if released else own

    def register_query(self, message: Message) -> Outcome:
        """Start a continuous query between two messages.

        Args:
            message: the journal's entry: the query's text, and as source its name.

        Raises:
            QueryError: the text is not a valid query.
            UnsupportedQuery: no stream can answer it, or the name is taken.
        """
        self.queries.register(message.source, message.content.decode(), message.id)
        return Outcome(message, Status.ACCEPTED)

    def remove_query(self, message: Message) -> Outcome:
        """Stop a continuous query between two messages; its name is the entry's source.

        Raises:
            UnknownQuery: no query has that name.
        """
        self.queries.unregister(message.source)
        return Outcome(message, Status.ACCEPTED)

    def _marked(self, outcome: Outcome) -> Outcome:
        return replace(outcome, degraded=True) if self.degraded else outcome

    def _weigh(self, message: Message, messages: int) -> tuple[Alert, ...]:
        """Count a message in the load; tells when load shedding begins or ends."""
        shedder = self._cycle.shedder
        if shedder is None or not shedder.advance(message.received, messages):
            return ()
        state, budget = shedder.state, shedder.shedding.budget
        now = self.window.now
        return (self._cycle.notices.shedding(message, state.active, budget, state.shed, now),)

    def _release_left(self, refused: Container[str], received: Instant) -> tuple[Outcome, ...]:
        left, self._left = self._left, ()
        return tuple(self._cycle.take_in(each, Timings(), refused, received) for each in left)

    def _set_late(self, arrived: Arrived, timings: Timings) -> Outcome:
        """Send a message that came too late for the window straight to history."""
        message, time = arrived.message, arrived.mapped.events[0].time
        told = (
            f"late: something later than {self._timeline.format(time)} has been released already; "
            "the message went straight to history, not into the window"
        )
        departures = archived(arrived.mapped.events, self._cycle.archived)
        self._cycle.archived += len(departures)
        return replace(
            outcome_of(arrived, Status.LATE, timings),
            alerts=self._cycle.notices.late(message, told, self.window.now),
            archived=departures,
            warnings=(*arrived.mapped.warnings, told),
        )

    def state(self) -> EngineState:
        """What :meth:`restore` needs to go on from here."""
        if self._order is None:
            left = [
                Waiting(each.mapped.events[0].time, n, each) for n, each in enumerate(self._left)
            ]
            held = ReorderState[Arrived](held=left)
        else:
            held = self._order.state()
        return EngineState(
            self.window.state(),
            self._cycle.memory,
            self._cycle.notices,
            held,
            self._cycle.archived,
            LoadState() if self._cycle.shedder is None else self._cycle.shedder.at_rest(),
            self.degraded,
            self.queries.state(),
        )

    def restore(self, state: EngineState) -> None:
        """Go on from a state; call it on a new engine, before any message."""
        self.window.restore(state.window)
        self._cycle.memory = state.memory
        self._cycle.notices = state.notices
        self._cycle.archived = state.archived
        if self._cycle.shedder is not None:
            self._cycle.shedder.state = state.load
        if state.degraded:
            self.degrade(state.degraded)
        if self._order is None:
            self._left = tuple(each.item for each in state.held.held)
        else:
            self._order.restore(state.held)
        held = tuple(t for each in self.window for t in each.statements)
        delta = self.kb.apply(Origin.WINDOW, Delta(self.window.now or 0, added=held))
        if delta:
            self.kb.apply(Origin.INFERRED, self._cycle.reasoner.react(self.kb, delta))
        if state.queries is not None:
            self.queries.restore(state.queries)

    @property
    def reasoner(self) -> Reasoner:
        """What derives the inferred graph; another one after :meth:`adopt`."""
        return self._cycle.reasoner

    @property
    def degraded(self) -> str:
        """Why the plain profile stands in for HermiT or Pellet; "" while it does not."""
        return self._cycle.degraded

    def degrade(self, reason: str) -> None:
        """Go on with the plain profile, as if the reasoner had failed."""
        self._cycle.degrade(reason)

    def adopt(
        self,
        aside: Aside,
        mapping: MappingPlan,
        rules: Sequence[CompiledRule],
        filters: Sequence[Filter],
        shedding: Shedding | None,
    ) -> None:
        """Exchange ontology, reasoner, rules, filters and policies between two messages.

        See :meth:`.Cycle.adopt`. Messages that wait were mapped already.

        Raises:
            Inconsistent: the window contradicts the new ontology; nothing was changed.
            ReasonerError: the new reasoner failed; the same.
        """
        self._cycle.adopt(aside, rules, filters, shedding)
        self._mapping = mapping

    def readmit(self, message: Message, aside: Aside) -> Outcome:
        """Exchange a reasoner that failed for a new one; see :meth:`.Cycle.readmit`."""
        return self._cycle.readmit(message, aside)

    def reject(
        self, message: Message, error: SensorStreamError, timings: Timings | None = None
    ) -> Outcome:
        """Set a message aside: it changes nothing but the count of such messages."""
        return self._cycle.reject(message, error, timings)

    def report(self, message: Message, kind: str, key: str) -> Outcome:
        """Raise an alert of the system itself; ``message`` holds its text."""
        alert = self._cycle.notices.told(message, kind, key, self.window.now)
        return Outcome(message, Status.ACCEPTED, alerts=(alert,))

    def close(self) -> None:
        """Stop the reasoner."""
        self._cycle.reasoner.close()


def _kept(arrived: Arrived) -> Arrived:
    """A message as it waits: its text is in the journal and needed no more."""
    return replace(arrived, message=replace(arrived.message, content=b""))
