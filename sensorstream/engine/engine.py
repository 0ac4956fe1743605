"""Algorithm 1 of the paper: a message comes in, the knowledge base moves, rules react.

The engine does no I/O and reads no clock but the counter it is given for the phase times. The
same messages and ticks in the same order give the same outcomes: recovery rests on that.

A message is mapped when it arrives. With a lateness it may then wait until nothing earlier can
come (:mod:`sensorstream.engine.reorder`); the window, the reasoner and the rules get it when it
is released, in order of application time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lxml import etree

from sensorstream.engine.archive import archived
from sensorstream.engine.filters import Filter
from sensorstream.engine.intake import Verdicts, admit
from sensorstream.engine.notices import Notices
from sensorstream.engine.outcome import Outcome, Status, Timings
from sensorstream.engine.queries import LiveQueries
from sensorstream.engine.reorder import Disorder, ReorderBuffer, ReorderState, Waiting
from sensorstream.engine.run import MessageRun
from sensorstream.engine.shedding import LoadShedder, LoadState, Shedding
from sensorstream.errors import (
    Inconsistent,
    InternalFault,
    MessageError,
    ReasonerError,
    SensorStreamError,
)
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.mapping.document import parse_document
from sensorstream.mapping.plan import Mapped, MappingPlan
from sensorstream.model.events import Alert, Delta, Departure, Message, net_delta
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.reasoning.aside import Aside
from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.reasoning.resilient import ResilientReasoner
from sensorstream.rules.compile import CompiledRule
from sensorstream.rules.conditions import ConditionEvaluator
from sensorstream.rules.index import RuleIndex
from sensorstream.rules.memory import RuleMemory
from sensorstream.rules.rounds import run_rules
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
class Arrived:
    """A mapped message on its way into the window."""

    message: Message
    mapped: Mapped


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
    queries: Mapping[str, Any] = field(default_factory=dict)
    """The continuous queries, as :meth:`.LiveQueries.state` gives them."""


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
        self.queries = LiveQueries(knowledge.index, timeline)
        self._mapping = mapping
        self._reasoner = reasoner
        self._rules = RuleIndex(rules)
        self._max_rounds = max_rounds
        self._max_depth = max_depth
        self._counter = counter
        self._timeline = timeline
        self._memory = RuleMemory()
        self._notices = Notices()
        # None: messages are taken as they come.
        self._order = None if disorder is None else ReorderBuffer[Arrived](disorder)
        # Messages that waited when the lateness was taken out of the settings.
        self._left: tuple[Arrived, ...] = ()
        self._filters = tuple(filters)
        self._shedder = None if shedding is None else LoadShedder(shedding)
        self._archived = 0
        reasoner.start(knowledge)
        evaluator.prepare(rule.queries for rule in rules)

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
                arrived = self._take_in(arrived, timings, refused)
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
                self._take_in(each, Timings(), refused, tick.received)
                for each in self._order.release()
            )
        outcome = Outcome(tick, Status.ACCEPTED)
        if self._shedder is not None and self._shedder.closing(None):
            outcome = self._take_in(Arrived(tick, Mapped((), (), ())), Timings(), refused)
            if outcome.status is Status.REJECTED:
                # A rule that cannot stand a synopsis must not be asked again for ever.
                self._shedder.settle({}, 0, True, {})
        if tick.content:
            self.queries.advance(int(tick.content))
            outcome = self._with_queries(outcome)
        return self._marked(replace(outcome, released=released, alerts=(*news, *outcome.alerts)))

    @property
    def due(self) -> Instant | None:
        """From which time of arrival on a :meth:`tick` would change something; None: never."""
        dues = (
            0 if self._left else None,
            None if self._order is None else self._order.due,
            None if self._shedder is None else self._shedder.due,
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

    def _map(self, message: Message, reading: Reading, timings: Timings) -> Arrived | Outcome:
        """What the mapping rules make of a message, or why it ends here."""
        start = self._counter()
        try:
            mapped = self._mapping.apply(reading.document, message)
        except MessageError as error:
            return self.reject(message, error, timings)
        except Exception as error:
            return self._fault(message, error, timings)
        finally:
            timings.t_m += self._counter() - start
        if mapped.matched:
            return Arrived(message, mapped)
        root = str(reading.document.getroot().tag)
        return Outcome(
            message,
            Status.UNMATCHED,
            alerts=self._notices.unmatched(message, root, mapped.hint, self.window.now),
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
            own = self._take_in(arrived, timings, refused)
        elif not order.offer(
            message.source, arrived.mapped.events[0].time, message.received, _kept(arrived)
        ):
            own = self._set_late(arrived, timings)
        released: list[Outcome] = []
        forced = order.overflow()
        for each in (*forced, *order.release()):
            if each.message.id == message.id:
                assert isinstance(arrived, Arrived)
                own = self._take_in(arrived, timings, refused)
            else:
                released.append(self._take_in(each, Timings(), refused, message.received))
        if own is None:
            assert isinstance(arrived, Arrived)
            own = _outcome(arrived, Status.HELD, timings)
        if forced:
            notices = self._notices.overflow(message, order.disorder.max_held, self.window.now)
            own = replace(own, alerts=(*own.alerts, *notices), forced=len(forced))
        return replace(own, released=tuple(released)) if released else own

    def _take_in(
        self,
        arrived: Arrived,
        timings: Timings,
        refused: Container[str] = _NONE,
        received: Instant | None = None,
    ) -> Outcome:
        """Let window, reasoner and rules have a message; all or nothing.

        ``received`` is the time of arrival of what released it, if it had to wait.
        """
        message, answered = arrived.message, received is not None
        if message.id in refused:
            return _outcome(arrived, Status.REJECTED, timings)
        before = self.degraded
        run = MessageRun(
            self.kb, self.window, self._reasoner, self.evaluator, self._counter, timings
        )
        try:
            outcome = self._react(arrived, run, timings)
        except (MessageError, ReasonerError) as error:
            run.take_back()
            self.queries.take_back()
            outcome = self.reject(message, error, timings)
        except Exception as error:
            run.take_back()
            self.queries.take_back()
            outcome = self._fault(message, error, timings)
        else:
            self._tell_queries(run, message.received if received is None else received)
        outcome = self._with_queries(outcome)
        if answered and outcome.replies:
            told = f"{len(outcome.replies)} replies not sent: the message had waited"
            outcome = replace(outcome, warnings=(*outcome.warnings, told))
        return self._with_reasoner(outcome, before) if self.degraded else outcome

    def _tell_queries(self, run: MessageRun, received: Instant) -> None:
        now = self.window.now
        if now is not None:
            self.queries.take_in(run.said, run.visible, now, received)

    def _with_queries(self, outcome: Outcome) -> Outcome:
        """The outcome with what queries have reported, and those that a fault has stopped."""
        message, now = outcome.message, self.window.now
        stopped = tuple(
            self._notices.stopped(message, name, entry, error, now)
            for name, entry, error in self.queries.take_faults()
        )
        reports = self.queries.take_reports()
        if not stopped and not reports:
            return outcome
        return replace(
            outcome,
            reports=(*outcome.reports, *reports),
            alerts=(*outcome.alerts, *stopped),
        )

    def register_query(self, message: Message) -> Outcome:
        """Start a continuous query between two messages.

        Args:
            message: the journal's entry: the query's text, and as source its name.

        Raises:
            QueryError: the text is no query, or asks for named graphs.
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

    def _with_reasoner(self, outcome: Outcome, before: str) -> Outcome:
        """Tell that the reasoner is away; as an alert only when that is new."""
        alerts = outcome.alerts
        if not before:
            notice = self._notices.degraded(outcome.message, self.degraded, self.window.now)
            alerts = (*alerts, notice)
        warnings = outcome.warnings
        if outcome.status in (Status.ACCEPTED, Status.PARTIAL):
            told = f"inferred by the plain profile only, the reasoner is away: {self.degraded}"
            warnings = (*warnings, told)
        return replace(outcome, alerts=alerts, warnings=warnings)

    def _react(self, arrived: Arrived, run: MessageRun, timings: Timings) -> Outcome:
        message, mapped = arrived.message, arrived.mapped
        verdicts = Verdicts(self._archived)
        applied = self._enter(arrived, run, verdicts)
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
        self._settle(arrived, verdicts)
        left_out = mapped.warnings
        notices = self._notices.partial(message, left_out, now) if left_out else ()
        return Outcome(
            message,
            Status.PARTIAL if left_out else Status.ACCEPTED,
            matched=mapped.matched,
            individuals=mapped.individuals,
            alerts=(*result.alerts, *notices),
            replies=result.replies,
            departures=tuple(run.departures),
            superseded=tuple(run.superseded),
            phases=timings,
            warnings=(*left_out, *verdicts.warnings(), *result.warnings),
            archived=tuple(verdicts.departures),
            filtered=tuple(verdicts.filtered),
            shed=tuple(verdicts.shed),
        )

    def _enter(self, arrived: Arrived, run: MessageRun, verdicts: Verdicts) -> list[Delta]:
        """Let the window have what filters and load shedding leave of a message.

        Before it come the synopses of a period that ends with the message.
        """
        message, events, shedder = arrived.message, arrived.mapped.events, self._shedder
        if shedder is None and not self._filters:
            run.said += events
            return [run.apply(event, ()) for event in events]
        applied: list[Delta] = []
        if shedder is not None:
            closing = shedder.closing(events[0].time if events else None)
            for number, (about, summary) in enumerate(closing.items(), 1):
                event = summary.event(about, message.id, number, self._timeline)
                applied.append(run.apply(event, ()))
                run.said.append(event)
        for event in events:
            part = admit(event, self._filters, shedder, self.kb, self.window, verdicts)
            if part is not None:
                applied.append(run.apply(part, ()))
                run.said.append(part)
        return applied

    def _settle(self, arrived: Arrived, verdicts: Verdicts) -> None:
        """Remember what was decided of a message that has been taken in."""
        self._archived += len(verdicts.departures)
        if self._shedder is None:
            return
        events = arrived.mapped.events
        time = events[0].time if events else None
        closed = bool(self._shedder.closing(time))
        if closed or verdicts.summaries or verdicts.entered:
            self._shedder.settle(verdicts.summaries, time or 0, closed, verdicts.entered)

    def _weigh(self, message: Message, messages: int) -> tuple[Alert, ...]:
        """Count a message in the load; tells when load shedding begins or ends."""
        shedder = self._shedder
        if shedder is None or not shedder.advance(message.received, messages):
            return ()
        state, budget = shedder.state, shedder.shedding.budget
        now = self.window.now
        return (self._notices.shedding(message, state.active, budget, state.shed, now),)

    def _release_left(self, refused: Container[str], received: Instant) -> tuple[Outcome, ...]:
        left, self._left = self._left, ()
        return tuple(self._take_in(each, Timings(), refused, received) for each in left)

    def _set_late(self, arrived: Arrived, timings: Timings) -> Outcome:
        """Send a message that came too late for the window straight to history."""
        message, time = arrived.message, arrived.mapped.events[0].time
        told = (
            f"late: something later than {self._timeline.format(time)} has been released already; "
            "the message went straight to history, not into the window"
        )
        departures = archived(arrived.mapped.events, self._archived)
        self._archived += len(departures)
        return replace(
            _outcome(arrived, Status.LATE, timings),
            alerts=self._notices.late(message, told, self.window.now),
            archived=departures,
            warnings=(*arrived.mapped.warnings, told),
        )

    def _fault(self, message: Message, error: Exception, timings: Timings) -> Outcome:
        # One message must not stop all that come after it, nor be met again on recovery.
        _LOG.exception("a fault of our own at message %s", message.id)
        fault = InternalFault(f"a fault of the server: {type(error).__name__}: {error}")
        return self.reject(message, fault, timings)

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
            self._memory,
            self._notices,
            held,
            self._archived,
            LoadState() if self._shedder is None else self._shedder.at_rest(),
            self.degraded,
            self.queries.state(),
        )

    def restore(self, state: EngineState) -> None:
        """Go on from a state; call it on a new engine, before any message."""
        self.window.restore(state.window)
        self._memory = state.memory
        self._notices = state.notices
        self._archived = state.archived
        if self._shedder is not None:
            self._shedder.state = state.load
        if state.degraded:
            self.degrade(state.degraded)
        if self._order is None:
            self._left = tuple(each.item for each in state.held.held)
        else:
            self._order.restore(state.held)
        held = tuple(t for each in self.window for t in each.statements)
        delta = self.kb.apply(Origin.WINDOW, Delta(self.window.now or 0, added=held))
        if delta:
            self.kb.apply(Origin.INFERRED, self._reasoner.react(self.kb, delta))
        if state.queries:
            self.queries.restore(state.queries)

    @property
    def reasoner(self) -> Reasoner:
        """What derives the inferred graph; another one after :meth:`adopt`."""
        return self._reasoner

    @property
    def degraded(self) -> str:
        """Why the plain profile stands in for HermiT or Pellet; "" while it does not."""
        reasoner = self._reasoner
        return reasoner.degraded if isinstance(reasoner, ResilientReasoner) else ""

    def degrade(self, reason: str) -> None:
        """Go on with the plain profile, as if the reasoner had failed."""
        if isinstance(self._reasoner, ResilientReasoner):
            self.kb.apply(Origin.INFERRED, self._reasoner.degrade(self.kb, reason))

    def adopt(
        self,
        aside: Aside,
        mapping: MappingPlan,
        rules: Sequence[CompiledRule],
        filters: Sequence[Filter],
        shedding: Shedding | None,
    ) -> None:
        """Exchange ontology, reasoner, rules, filters and policies between two messages.

        Static and inferred graph become those of ``aside``; window and memories stay. No rule
        runs: new axioms count from the next message on. Messages that wait were mapped already.

        Raises:
            Inconsistent: the window contradicts the new ontology; nothing was changed.
            ReasonerError: the new reasoner failed; the same.
        """
        aside.follow(self.kb.triples(Origin.WINDOW))
        self._exchange(aside)
        self._mapping = mapping
        self._rules = RuleIndex(rules)
        self.evaluator.prepare(rule.queries for rule in rules)
        self._filters = tuple(filters)
        if self._shedder is not None and shedding is not None:
            # The load and what has been shed go on.
            self._shedder.shedding = shedding

    def readmit(self, message: Message, aside: Aside) -> Outcome:
        """Exchange a reasoner that failed for a new one, which catches up with the window.

        What was taken in without it and contradicts the ontology leaves the window for history,
        message by message in the order of their times. No rule runs.

        Args:
            message: the journal's entry of this event; its content is empty.
            aside: the same ontology with the new reasoner.

        Raises:
            ReasonerError: the new reasoner failed as well; nothing was changed.
        """
        expelled: list[Triple] = []
        try:
            aside.follow(self.kb.triples(Origin.WINDOW))
        except Inconsistent:
            aside.follow(())
            expelled = aside.admit(_by_message(self.window))
        now = message.received if self.window.now is None else self.window.now
        change = self.window.retract(expelled, now)
        self.kb.apply(Origin.WINDOW, change.delta)
        aside.follow(self.kb.triples(Origin.WINDOW))
        self._exchange(aside)
        return Outcome(
            message,
            Status.ACCEPTED,
            alerts=self._notices.restored(message, expelled, self.window.now),
            departures=tuple(Departure(each, now) for each in change.departures),
            superseded=change.superseded,
        )

    def report(self, message: Message) -> Outcome:
        """Raise the alert of an audit that found differences; ``message`` holds its report."""
        text = message.content.decode()
        return Outcome(
            message,
            Status.ACCEPTED,
            alerts=self._notices.audit(message, text, self.window.now),
        )

    def _exchange(self, aside: Aside) -> None:
        for origin in (Origin.STATIC, Origin.STATIC_INFERRED, Origin.INFERRED):
            wanted = dict.fromkeys(aside.kb.triples(origin))
            held = dict.fromkeys(self.kb.triples(origin))
            added = tuple(triple for triple in wanted if triple not in held)
            removed = tuple(triple for triple in held if triple not in wanted)
            self.kb.apply(origin, Delta(0, added, removed))
        self._reasoner.close()
        self._reasoner = aside.reasoner

    def close(self) -> None:
        """Stop the reasoner."""
        self._reasoner.close()


def _by_message(window: Window) -> list[list[Triple]]:
    """What each message said of the window, in the order of their times."""
    parts: dict[tuple[Instant, int, str], list[Triple]] = {}
    for individual in window:
        for triple, said in individual.statements.items():
            parts.setdefault((said.time, len(said.message), said.message), []).append(triple)
    return [parts[key] for key in sorted(parts)]


def _kept(arrived: Arrived) -> Arrived:
    """A message as it waits: its text is in the journal and needed no more."""
    return replace(arrived, message=replace(arrived.message, content=b""))


def _outcome(arrived: Arrived, status: Status, timings: Timings) -> Outcome:
    mapped = arrived.mapped
    return Outcome(
        arrived.message,
        status,
        matched=mapped.matched,
        individuals=mapped.individuals,
        phases=timings,
        warnings=mapped.warnings,
    )
