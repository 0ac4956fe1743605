"""Algorithm 1 of the paper: events come in, the knowledge base moves, rules and queries react.

The one engine of the server, of ``sensorstream run`` and ``explain``, and of programs that use
SensorStream as a library. It is built from values, does no I/O, starts no thread, and reads no
clock but the counter it is given for the phase times. The same events, messages and ticks in the
same order give the same outcomes: recovery rests on that.

Messages are mapped before they come here (:mod:`sensorstream.engine.arrival`). With a lateness
they may then wait until nothing earlier can come (:mod:`sensorstream.engine.reorder`); the window,
the reasoner, the rules and the queries get them when they are released, in order of application
time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sensorstream.engine import answering, exchange
from sensorstream.engine.arrival import Arrived, Unmapped
from sensorstream.engine.cycle import Cycle
from sensorstream.engine.dues import Dues, times_of
from sensorstream.engine.elapsing import elapse, step
from sensorstream.engine.filters import Filter
from sensorstream.engine.inferences import Inferences, InferredState
from sensorstream.engine.live_queries import Moved, QueriesState, QueryTerms
from sensorstream.engine.notices import Notices, over
from sensorstream.engine.outcome import Outcome, Status, Timings, following
from sensorstream.engine.reorder import Disorder, ReorderState
from sensorstream.engine.shedding import LoadShedder, LoadState, Shedding
from sensorstream.engine.stream_clock import StreamClock
from sensorstream.engine.turns import Turns
from sensorstream.errors import InvalidTerm, MessageError, Overrun, SensorStreamError
from sensorstream.kb.graph import KnowledgeBase, Origin
from sensorstream.mapping.plan import Mapped
from sensorstream.model.events import Alert, Cleared, Delta, Event, Message
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.model.waits import Silence
from sensorstream.reasoning.reasoner import Aside, Reasoner, without_limits
from sensorstream.rules.answers import Answer, Asked
from sensorstream.rules.conditions import ConditionEvaluator, unlimited
from sensorstream.rules.memory import RuleMemory
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.window.state import WindowState
from sensorstream.window.window import Window

_NONE: Final[frozenset[str]] = frozenset()
_NO_MESSAGE: Final = Message("", b"", 0)
"""What outcomes are told for that no message brought: time passed, or the streams ended."""


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
    inferred: tuple[InferredState, ...] | None = None
    """Since when what is inferred holds; None in a state that is older than this field."""
    moved: Moved | None = None
    """When a message last brought application time."""


def _no_time() -> float:
    return 0.0


class Engine:
    """The knowledge base and all that reacts to it; owned by one thread.

    Args:
        knowledge: holds the static graph.
        window: keeps what enters the knowledge base; None: events enter the windows of the
            queries only, and there are no rules.
        reasoner: derives the inferred graph; it is started here.
        rules: the semantic rules, in the order in which their actions are carried out.
        evaluator: answers the conditions of the rules.
        max_rounds: how many rounds of rules one message may cause.
        counter: gives seconds for the phase times (:meth:`sensorstream.clock.Clock.counter`).
        turn: is told the id of each message whose turn it is, just before it is taken in.
        timeline: how times are written.
        disorder: how late events may be; what is later is left out. None: events are taken as
            they come, one from before the present happens at the present.
        filters: what of a message enters the window.
        shedding: the load to be shed.
        queries: what continuous queries may count on.
        silence: whose time goes on with the clock while no message comes.
        answers: whether senders wait for the outcome of their own message and see no other, so
            that the replies of a message that had to wait cannot be sent.
    """

    def __init__(
        self,
        *,
        knowledge: KnowledgeBase,
        window: Window | None,
        reasoner: Reasoner,
        rules: Sequence[CompiledRule],
        evaluator: ConditionEvaluator,
        max_rounds: int,
        timeline: Timeline,
        counter: Callable[[], float] = _no_time,
        turn: Callable[[str], None] | None = None,
        disorder: Disorder | None = None,
        filters: Sequence[Filter] = (),
        shedding: Shedding | None = None,
        queries: QueryTerms | None = None,
        answers: bool = True,
        silence: Silence = Silence.QUERIES,
    ) -> None:
        self.kb = knowledge
        self.evaluator = evaluator
        self._cycle = Cycle(
            knowledge=knowledge,
            window=window,
            reasoner=reasoner,
            rules=rules,
            evaluator=evaluator,
            max_rounds=max_rounds,
            counter=counter,
            turn=turn,
            timeline=timeline,
            filters=filters,
            shedder=None if shedding is None else LoadShedder(shedding),
            terms=queries,
            answers=answers,
            clock=StreamClock(silence, timeline, disorder),
        )
        self.window = self._cycle.window
        self.queries = self._cycle.queries
        self._turns = Turns(self._cycle, disorder)
        self.dues = Dues(self._cycle, self._turns)

    def take(self, arrived: Event | Arrived | Unmapped, refused: Container[str] = _NONE) -> Outcome:
        """Take one event in, or the events of one message, and all that waited for them.

        What cannot be taken in (:class:`MessageError`, a reasoner that fails twice, or a fault
        of our own) leaves the knowledge base as it was and comes back as a rejected outcome.

        Args:
            arrived: an event, or what :meth:`.Mapper.map` made of a message. It arrives no
                earlier than the messages and ticks before it.
            refused: ids of messages that were rejected when they were released, in an earlier
                life of this engine: they are rejected again, whatever the reasoner says now.

        Returns:
            What became of it; ``released`` holds the outcomes of those that waited.
        """
        if isinstance(arrived, Event):
            arrived = Arrived.of(arrived)
        arrived = self._admitted(arrived)
        message, timings = arrived.message, Timings(t_m=arrived.seconds)
        news, ends = self._weigh(message, 1)
        own = self._set_aside(arrived, timings) if isinstance(arrived, Unmapped) else arrived
        outcome = self._turns.take(message, own, timings, refused)
        if news:
            outcome = replace(
                outcome, alerts=(*news, *outcome.alerts), cleared=(*ends, *outcome.cleared)
            )
        return self._marked(outcome)

    def advance(self, time: Instant) -> Outcome:
        """Application time has come so far: nothing earlier than ``time`` will come any more.

        What waited for it is released, rules that wait for a time up to then fire, and windows of
        queries close. With a lateness, events from before it are late from now on.
        """
        released = self._turns.complete(time)
        passed = elapse(self._cycle, Message(f"at-{time}", b"", 0), time, 0)
        self.queries.advance(time)
        outcome = self.accepted(_NO_MESSAGE)
        if passed is not None:
            outcome = following(passed, outcome)
        return self._marked(replace(outcome, released=released))

    def finish(self) -> Outcome:
        """The streams have ended: all that waits is released, and windows close once more."""
        released = self._turns.finish()
        self.queries.finish()
        return self._marked(replace(self.accepted(_NO_MESSAGE), released=released))

    def accepted(self, message: Message) -> Outcome:
        """The outcome of an entry that is no message, with what queries have reported by now."""
        return self._cycle.with_queries(Outcome(message, Status.ACCEPTED))

    def tick(self, tick: Message, refused: Container[str] = _NONE) -> Outcome:
        """Let time pass without a message: what waited for silent sources is released.

        Load shedding may end, and then the synopses of what was shed enter the window.

        Args:
            tick: its arrival time is the time, its content that of :meth:`.Dues.tick_content`.
            refused: as for :meth:`process`.
        """
        news, ends = self._weigh(tick, 0)
        released = self._turns.advance(tick.received, refused)
        outcome = Outcome(tick, Status.ACCEPTED)
        if self._cycle.shedder is not None and self._cycle.shedder.closing(None):
            outcome = self._cycle.take_in(Arrived(tick, Mapped((), (), ())), Timings(), refused)
            if outcome.status is Status.REJECTED:
                # A rule that cannot stand a synopsis must not be asked again for ever.
                self._cycle.shedder.settle({}, 0, True, {})
        for_queries, for_rules = times_of(tick.content)
        if for_rules is not None:
            outcome = self._elapse(outcome, tick, for_rules)
        if for_queries is not None:
            self.queries.advance(for_queries)
            outcome = self._cycle.with_queries(outcome)
        outcome = replace(outcome, released=released, alerts=(*news, *outcome.alerts))
        return self._marked(replace(outcome, cleared=(*ends, *outcome.cleared)))

    def _elapse(self, outcome: Outcome, entry: Message, time: Instant) -> Outcome:
        """Let time pass for what follows the clock, after what became of an entry."""
        with_window = self._clock.for_window
        passed = elapse(self._cycle, entry, time, entry.received, with_window=with_window)
        if passed is None:
            return outcome
        return replace(
            following(outcome, passed), status=outcome.status, rejection=outcome.rejection
        )

    def elapse_again(self, entry: Message, time: Instant, *, waiting_only: bool) -> None:
        """What was due by ``time`` has been told when an entry came, and is not told once more.

        For an entry that is passed over: all else that it has done does not happen.
        ``waiting_only`` is that of :func:`.elapse`.
        """
        elapse(self._cycle, entry, time, entry.received, waiting_only=waiting_only)

    def _move(self, outcome: Outcome, entry: Message, time: Instant) -> Outcome:
        """Let time come to where messages to other engines have brought it, as one here would."""
        cycle, received = self._cycle, entry.received
        passed = elapse(cycle, entry, time, received, waiting_only=True)
        outcome = outcome if passed is None else following(outcome, passed)
        due = cycle.due(with_window=True)
        if due is not None and due <= time:
            now = cycle.present(time)
            moved = step(cycle, entry, now, received, names=entry.id, late="", with_window=True)
            outcome = following(outcome, moved)
        return outcome

    @property
    def _clock(self) -> StreamClock:
        return self._cycle.clock

    def pass_time(
        self,
        entry: Message,
        moved: Instant,
        present: Instant,
        refused: Container[str] = _NONE,
    ) -> Outcome:
        """Let time pass as it has passed for all engines whose messages make up one stream.

        Where nothing waits for it (:attr:`.Dues.waits`), it changes nothing. Otherwise what the
        window has held for long enough leaves it, and rules and queries follow, as if a message
        had come that says nothing. With a lateness, the messages of this engine's own sources say
        how far time has come, until all of them are silent for longer than ``time.idle``.

        Args:
            entry: its arrival time is the time.
            moved: application time, as messages have brought it to any of the engines.
            present: the same, or later where all of them are silent.
            refused: as for :meth:`take`.
        """
        if not self.dues.waits.over(entry.received, moved, present):
            return Outcome(entry, Status.ACCEPTED)
        outcome = self.tick(replace(entry, content=b""), refused)
        if self.held or self._turns.quiet is not None:
            return outcome
        due = self._cycle.due(with_window=True)
        if due is not None and due <= moved:
            # Nothing waits: it says only that what comes from before it is late.
            self._turns.complete(moved)
            outcome = self._move(outcome, entry, moved)
        if self._clock.for_rules:
            outcome = self._elapse(outcome, entry, present - self._clock.margin)
        if outcome.status is Status.ACCEPTED:
            self.queries.advance(present - self._clock.margin)
            outcome = self._cycle.with_queries(outcome)
        return self._marked(outcome)

    def asked(self) -> list[Asked]:
        """The questions of rules to the history that wait for their answers, the oldest first."""
        return answering.asked(self._cycle)

    def answer(self, entry: Message, answer: Answer) -> Outcome:
        """Let a rule have the answer of the history; see :func:`.answering.answered`."""
        return self._marked(answering.answered(self._cycle, entry, answer))

    def number_stays_after(self, number: int) -> None:
        """Give stays that begin from now on numbers above ``number``, and above all before.

        Engines that write to one history need ranges of their own.
        """
        self.window.number_stays_after(number)
        self._cycle.archived = max(self._cycle.archived, number)

    def lift_limits(self, lifted: bool) -> None:
        """Let messages and queries take what they take, or not: it was accepted before."""
        self.queries.lift_limits(lifted)
        if not lifted and self.evaluator.lifted:
            # What is left of what came before.
            self.evaluator.settle()
        self.evaluator.lifted = self._cycle.reasoner.lifted = lifted

    @property
    def now(self) -> Instant | None:
        """Application time: the latest time any event brought; None before the first."""
        return self._cycle.now

    @property
    def held(self) -> int:
        """Messages that wait for earlier ones."""
        return len(self._turns)

    def _admitted(self, arrived: Arrived | Unmapped) -> Arrived | Unmapped:
        """What arrived, set aside if it says what is no RDF."""
        if isinstance(arrived, Arrived):
            try:
                self._cycle.admission.check(arrived.mapped.events)
            except InvalidTerm as error:
                return Unmapped(arrived.message, error, seconds=arrived.seconds)
        return arrived

    def _set_aside(self, unmapped: Unmapped, timings: Timings) -> Outcome:
        """What a message comes to that gives no events."""
        message, error = unmapped.message, unmapped.error
        if unmapped.skipped:
            return Outcome(message, Status.SKIPPED)
        if isinstance(error, Overrun):
            return self._cycle.skip(message, error, timings)
        if isinstance(error, MessageError):
            return self.reject(message, error, timings)
        if error is not None:
            return self._cycle.fault(message, error, timings)
        root, hint = unmapped.root, unmapped.hint
        return Outcome(
            message,
            Status.UNMATCHED,
            alerts=self._cycle.notices.unmatched(message, root, hint, self._cycle.now),
            phases=timings,
            warnings=(f"no mapping rule matched: {hint}",),
        )

    def register(self, name: str, text: str, entry: str = "") -> ContinuousQuery:
        """Start a continuous query; it begins with the present content of the knowledge base.

        ``entry`` is the journal's id of its registration, if there is a journal.

        Raises:
            QueryError: the text is not a valid query, or asks for a graph that is not there.
            UnsupportedQuery: no stream can answer it, or the name is taken.
        """
        return self.queries.register(name, text, entry)

    def unregister(self, name: str) -> None:
        """Stop a continuous query; what only it used is given back.

        Raises:
            UnknownQuery: no query has that name.
        """
        self.queries.unregister(name)

    def _marked(self, outcome: Outcome) -> Outcome:
        return replace(outcome, degraded=True) if self.degraded else outcome

    def _weigh(
        self, message: Message, messages: int
    ) -> tuple[tuple[Alert, ...], tuple[Cleared, ...]]:
        """Count a message in the load; tells when load shedding begins or ends, which clears it."""
        shedder = self._cycle.shedder
        if shedder is None or not shedder.advance(message.received, messages):
            return (), ()
        state, budget = shedder.state, shedder.shedding.budget
        now = self._cycle.now
        told = self._cycle.notices.shedding(message, state.active, budget, state.shed, now)
        return (told,), () if state.active else (over(told),)

    def state(self) -> EngineState:
        """What :meth:`restore` needs to go on from here."""
        return EngineState(
            self.window.state(),
            self._cycle.memory.copy(),
            self._cycle.notices,
            self._turns.state(),
            self._cycle.archived,
            LoadState() if self._cycle.shedder is None else self._cycle.shedder.at_rest(),
            self.degraded,
            self.queries.state(),
            self._cycle.inferences.state(),
            self._clock.moved,
        )

    def restore(self, state: EngineState) -> None:
        """Go on from a state; call it on a new engine, before any message."""
        self.window.restore(state.window)
        self._cycle.memory = state.memory.copy()
        self._clock.moved = state.moved
        self._cycle.notices = state.notices
        self._cycle.archived = state.archived
        if self._cycle.shedder is not None:
            self._cycle.shedder.state = state.load
        if state.degraded:
            self.degrade(state.degraded)
        self._turns.restore(state.held)
        held = tuple(t for each in self.window for t in each.statements)
        with unlimited(self.evaluator), without_limits(self._cycle.reasoner):
            delta = self.kb.apply(Origin.WINDOW, Delta(self.window.now or 0, added=held))
            for each in self.window:
                for triple, said in each.statements.items():
                    if said.graphs:
                        self.kb.place(triple, said.graph_names)
            if delta:
                self._cycle.reasoner.react(self.kb, delta)
        self._cycle.inferences.restore(state.inferred, self.window, self.kb)
        if state.queries is not None:
            self.queries.restore(state.queries)

    @property
    def memory(self) -> RuleMemory:
        """What the semantic rules remember."""
        return self._cycle.memory.copy()

    @property
    def inferences(self) -> Inferences:
        """Since when each inferred statement holds."""
        return self._cycle.inferences

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
        exchange.degrade(self._cycle, reason)

    def adopt(
        self,
        aside: Aside,
        rules: Sequence[CompiledRule],
        filters: Sequence[Filter],
        shedding: Shedding | None,
        cause: str,
    ) -> None:
        """Exchange ontology, reasoner, rules, filters and policies between two messages.

        See :func:`.exchange.adopt`. Messages that wait were mapped already.

        Raises:
            Inconsistent: the window contradicts the new ontology; nothing was changed.
            ReasonerError: the new reasoner failed; the same.
        """
        exchange.adopt(self._cycle, aside, rules, filters, shedding, cause)

    def check_rules(self, rules: Sequence[CompiledRule]) -> None:
        """Check that these rules can be adopted now.

        Raises:
            Overrun: to prepare for their conditions takes more than the limits.
        """
        self.evaluator.check(rule.queries for rule in rules)

    def adopt_rules(self, rules: Sequence[CompiledRule], received: Instant | None = None) -> None:
        """Exchange the semantic rules between two messages; see :func:`.exchange.adopt_rules`."""
        exchange.adopt_rules(self._cycle, rules, received)

    def readmit(self, message: Message, aside: Aside) -> Outcome:
        """Exchange a reasoner that failed for a new one; see :func:`.exchange.readmit`."""
        return exchange.readmit(self._cycle, message, aside)

    def refuse(self, messages: Iterable[str]) -> None:
        """Reject messages that wait when their turn comes; ``messages`` are their ids."""
        self._cycle.refused |= set(messages)

    def expel(self, stays: Collection[int]) -> None:
        """Take individuals that have left the window already out; see :func:`.exchange.expel`."""
        exchange.expel(self._cycle, stays)

    def reject(
        self, message: Message, error: SensorStreamError, timings: Timings | None = None
    ) -> Outcome:
        """Set a message aside: it changes nothing but the count of such messages."""
        return self._cycle.reject(message, error, timings)

    def report(self, message: Message, kind: str, key: str) -> Outcome:
        """Raise an alert of the system itself; ``message`` holds its text."""
        alert = self._cycle.notices.told(message, kind, key, self._cycle.now)
        return Outcome(message, Status.ACCEPTED, alerts=(alert,))

    def close(self) -> None:
        """Stop the reasoner."""
        self._cycle.reasoner.close()
