"""Algorithm 1 of the paper: events come in, the knowledge base moves, rules and queries react.

The one engine of the server, of ``sensorstream run`` and ``explain``, and of programs that use
SensorStream as a library. It is built from values, does no I/O, starts no thread, and reads no
clock but the counter it is given for the phase times. The same events, messages and ticks in the
same order give the same outcomes: recovery rests on that.

Messages are mapped before they come here (:mod:`sensorstream.engine.message_reading`). With a
lateness they may then wait until nothing earlier can come (:mod:`sensorstream.engine.reorder`); the
window, the reasoner, the rules and the queries get them when they are released, in order of
application time.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Final

from sensorstream.engine import elapsed_time, engine_exchange
from sensorstream.engine.elapsed_time import Dues, elapse, step, times_of
from sensorstream.engine.engine_queries import QueriesState
from sensorstream.engine.engine_state import Core, Parts, told_as
from sensorstream.engine.inferences import InferredState
from sensorstream.engine.message_reading import Arrived, UnmappedMessage
from sensorstream.engine.message_stages import release, take_in, take_in_turn
from sensorstream.engine.notices import Notices, over
from sensorstream.engine.outcome import Outcome, Timings, following
from sensorstream.engine.reorder import ReorderState
from sensorstream.engine.shedding import LoadState
from sensorstream.engine.stream_clock import ClockMoved
from sensorstream.errors import InvalidTerm, MessageError, Overrun
from sensorstream.kb.graph_index import Origin
from sensorstream.mapping.mapping_plan import MappedMessage
from sensorstream.model.events import Delta, Event, Message, Status
from sensorstream.model.frozen import field, frozen, replace
from sensorstream.model.timeline import Instant
from sensorstream.reasoning.reasoner import without_limits
from sensorstream.rules.continuous import unlimited
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.rules.rule_memory import RuleMemory
from sensorstream.streams.continuous_query import ContinuousQuery
from sensorstream.window.window_partition import WindowState

_NONE: Final[frozenset[str]] = frozenset()
_NO_MESSAGE: Final = Message("", b"", 0)
"""The message of outcomes without one: time passed, or the streams ended."""


@frozen
class EngineState:
    """The state that must survive a restart; inferences are derived again."""

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
    """The beginnings of inferences; None in a state that is older than this field."""
    moved: ClockMoved | None = None
    """When a message last brought application time."""


class Engine(Core):
    """The knowledge base and all that reacts to it, with its entries; owned by one thread."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.dues = Dues(self)

    asked = elapsed_time.asked
    adopt = engine_exchange.adopt
    adopt_rules = engine_exchange.adopt_rules
    readmit = engine_exchange.readmit
    give_way = engine_exchange.give_way
    expel = engine_exchange.expel
    degrade = engine_exchange.degrade

    def take(
        self, arrived: Event | Arrived | UnmappedMessage, refused: Container[str] = _NONE
    ) -> Outcome:
        """Take one event in, or the events of one message, and all that waited for them; the
        outcomes of these are in ``released``. It arrives no earlier than the messages and ticks
        before it. A message that cannot be taken in (:class:`MessageError`, a reasoner that fails
        twice, or an internal fault) leaves the knowledge base as it was and comes back as a
        rejected outcome. ``refused`` are ids of messages that were rejected when they were
        released, before a restart of this engine: they are rejected again, whatever the reasoner
        says now.
        """
        if isinstance(arrived, Event):
            arrived = Arrived.of(arrived)
        if isinstance(arrived, Arrived):
            try:
                self.admission.check(arrived.mapped.events)
            except InvalidTerm as error:
                arrived = UnmappedMessage(arrived.message, error, seconds=arrived.seconds)
        message, timings = arrived.message, Timings(t_m=arrived.seconds)
        news = None if self.shedder is None else self._weigh(message, 1)
        own = self._set_aside(arrived, timings) if isinstance(arrived, UnmappedMessage) else arrived
        return self.marked(following(news, take_in_turn(self, message, own, timings, refused)))

    def advance(self, time: Instant) -> Outcome:
        """Let application time come to ``time``: nothing earlier will come any more. Messages that
        waited for it are released, rules that wait for a time up to then fire, and windows of
        queries close. With a lateness, events from before it are late from now on.
        """
        self.order.complete(time)
        released = release(self)
        passed = elapse(self, Message(f"at-{time}", b"", 0), time)
        self.queries.advance(time)
        outcome = following(passed, self.accepted(_NO_MESSAGE))
        outcome.released = released
        return self.marked(outcome)

    def finish(self) -> Outcome:
        """End the streams: all that waits is released, and windows close once more."""
        self.order.complete(None)
        released = release(self)
        self.queries.processor.finish()
        outcome = self.accepted(_NO_MESSAGE)
        outcome.released = released
        return self.marked(outcome)

    def accepted(self, message: Message) -> Outcome:
        """The outcome of an entry that is no message, with what queries have reported by now."""
        return self.with_queries(Outcome(message, Status.ACCEPTED))

    def tick(self, tick: Message, refused: Container[str] = _NONE) -> Outcome:
        """Let time pass without a message: messages that waited for silent sources are released.
        Load shedding may end, and then the synopses of what was shed enter the window. ``tick`` has
        the time as its arrival, and :meth:`.Dues.tick_content` as its content.
        """
        news = self._weigh(tick, 0)
        self.order.advance(tick.received)
        released = release(self, tick.received, refused)
        outcome = Outcome(tick, Status.ACCEPTED)
        if self.shedder is not None and self.shedder.closing(None):
            outcome = take_in(self, Arrived(tick, MappedMessage((), (), ())), Timings(), refused)
            if outcome.status is Status.REJECTED:
                # A rule that fails on a synopsis must not be tried again for ever.
                self.shedder.settle({}, 0, True, {})
        for_queries, for_rules = times_of(tick.content)
        if for_rules is not None:
            outcome = self._elapse(outcome, tick, for_rules)
        if for_queries is not None:
            self.queries.advance(for_queries)
            outcome = self.with_queries(outcome)
        outcome.released = released
        return self.marked(following(news, outcome))

    def _elapse(self, outcome: Outcome, entry: Message, time: Instant) -> Outcome:
        """Let time pass for all that follows the clock, after the outcome of an entry."""
        passed = elapse(self, entry, time, with_window=self.clock.for_window)
        if passed is None:
            return outcome
        passed = following(outcome, passed)
        passed.status, passed.rejection = outcome.status, outcome.rejection
        return passed

    def pass_time(
        self,
        entry: Message,
        moved: Instant,
        present: Instant,
        refused: Container[str] = _NONE,
    ) -> Outcome:
        """Let time pass as it has passed for all engines whose messages make up one stream:
        ``entry`` has its arrival, ``moved`` is application time as messages have brought it to any
        of the engines, ``present`` the same, or later where all of them are silent.

        Where nothing waits for it (:attr:`.Dues.waits`), it changes nothing. Otherwise the oldest
        content of the window leaves it, and rules and queries follow, as if a message without
        content had come. With a lateness, the messages of this engine's own sources decide the
        time, until all of them are silent for longer than ``time.idle``.
        """
        if not self.dues.waits.over(entry.received, moved, present):
            return Outcome(entry, Status.ACCEPTED)
        outcome = self.tick(replace(entry, content=b""), refused)
        if self.held or self.order.quiet is not None:
            return outcome
        due = self.due(with_window=True)
        if due is not None and due <= moved:
            # Nothing waits: only events from before it are late from now on.
            self.order.complete(moved)
            outcome = self._move(outcome, entry, moved)
        if self.clock.for_rules:
            outcome = self._elapse(outcome, entry, present - self.clock.margin)
        if outcome.status is Status.ACCEPTED:
            self.queries.advance(present - self.clock.margin)
            outcome = self.with_queries(outcome)
        return self.marked(outcome)

    def _move(self, outcome: Outcome, entry: Message, time: Instant) -> Outcome:
        """Let time come to where messages to other engines have brought it, as one here would."""
        passed = elapse(self, entry, time, waiting_only=True)
        outcome = outcome if passed is None else following(outcome, passed)
        due = self.due(with_window=True)
        if due is not None and due <= time:
            moved = step(self, entry, self.present(time), entry.id, "", with_window=True)
            outcome = following(outcome, moved)
        return outcome

    answer = elapsed_time.answer

    def number_stays_after(self, number: int) -> None:
        """Give stays that begin from now on numbers above ``number``, and above all before. Engines
        that write to one history need ranges of their own.
        """
        self.window.number_stays_after(number)
        self.archived = max(self.archived, number)

    def lift_limits(self, lifted: bool) -> None:
        """Lift the limits of messages and queries that were accepted before, or restore them."""
        self.queries.lift_limits(lifted)
        if not lifted and self.evaluator.lifted:
            # Finish the changes of before.
            self.evaluator.settle()
        self.evaluator.lifted = self.reasoner.lifted = lifted

    def _set_aside(self, unmapped: UnmappedMessage, timings: Timings) -> Outcome:
        """The outcome of a message that gives no events."""
        message, error = unmapped.message, unmapped.error
        if unmapped.skipped:
            return Outcome(message, Status.SKIPPED)
        if isinstance(error, Overrun):
            # It takes too long: a replay passes it over without trying it again.
            error.message_id = message.id
            return Outcome(
                message,
                Status.SKIPPED,
                # Not counted with its kind: a replay does not know of it.
                alerts=(self.notices.overrun(message, error, self.now),),
                phases=timings,
                warnings=(str(error),),
                rejection=error,
            )
        if error is not None:
            return self.reject(
                message, told_as(error, MessageError, f"message {message.id}"), timings
            )
        root, hint = unmapped.root, unmapped.hint
        return Outcome(
            message,
            Status.UNMATCHED,
            alerts=self.notices.unmatched(message, root, hint, self.now),
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
        """Stop a query, and operators only it used; raises UnknownQuery if none has that name."""
        self.queries.unregister(name)

    def _weigh(self, message: Message, messages: int) -> Outcome | None:
        """Count a message in the load; returns an outcome when load shedding begins or ends."""
        shedder = self.shedder
        if shedder is None or not shedder.advance(message.received, messages):
            return None
        state, budget = shedder.state, shedder.shedding.budget
        told = self.notices.shedding(message, state.active, budget, state.shed, self.now)
        cleared = () if state.active else (over(told),)
        return Outcome(message, Status.ACCEPTED, alerts=(told,), cleared=cleared)

    def state(self) -> EngineState:
        """The state from which :meth:`restore` goes on."""
        return EngineState(
            self.window.state(),
            self.memory.copy(),
            self.notices,
            self.order.state(),
            self.archived,
            LoadState() if self.shedder is None else self.shedder.at_rest(),
            self.degraded,
            self.queries.state(),
            self.inferences.state(),
            self.clock.moved,
        )

    def restore(self, state: EngineState) -> None:
        """Go on from a state; call it on a new engine, before any message."""
        self.window.restore(state.window)
        self.memory = state.memory.copy()
        self.clock.moved = state.moved
        self.notices = state.notices
        self.archived = state.archived
        if self.shedder is not None:
            self.shedder.state = state.load
        if state.degraded:
            self.degrade(state.degraded)
        self.order.restore(state.held)
        held = tuple(t for each in self.window for t in each.statements)
        with unlimited(self.evaluator), without_limits(self.reasoner):
            delta = self.kb.apply(Origin.WINDOW, Delta(self.window.now or 0, added=held))
            for each in self.window:
                for triple, said in each.statements.items():
                    if said.graphs:
                        self.kb.place(triple, said.graph_names)
            if delta:
                self.reasoner.react(self.kb, delta)
        self.inferences.restore(state.inferred, self.window, self.kb)
        if state.queries is not None:
            self.queries.restore(state.queries)

    def check_rules(self, rules: Sequence[CompiledRule]) -> None:
        """Check that these rules can be adopted now.

        Raises:
            Overrun: to prepare for their conditions takes more than the limits.
        """
        self.evaluator.check(rule.queries for rule in rules)

    def refuse(self, messages: Iterable[str]) -> None:
        """Reject messages that wait when their turn comes; ``messages`` are their ids."""
        self.refused |= set(messages)

    def report(self, message: Message, kind: str, key: str) -> Outcome:
        """Raise an alert of the system itself; ``message`` holds its text."""
        alert = self.notices.told(message, kind, key, self.now)
        return Outcome(message, Status.ACCEPTED, alerts=(alert,))

    def close(self) -> None:
        self.reasoner.close()
