"""One message through window, reasoner, rules and queries, all or nothing (Algorithm 1).

Here messages come in the order in which they are to be taken; who puts them into that order is
:mod:`sensorstream.engine.turns`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from sensorstream.engine.admission import Admission
from sensorstream.engine.arrival import Arrived
from sensorstream.engine.elapsing import elapse
from sensorstream.engine.filters import Filter
from sensorstream.engine.inferences import Inferences
from sensorstream.engine.intake import Verdicts, admit
from sensorstream.engine.live_queries import LiveQueries, QueryTerms
from sensorstream.engine.message_run import MessageRun
from sensorstream.engine.notices import RULE_FAILED, Notices
from sensorstream.engine.outcome import Outcome, Status, Timings, counted, following
from sensorstream.engine.shedding import LoadShedder
from sensorstream.engine.stream_clock import StreamClock
from sensorstream.engine.synopsis import Summary
from sensorstream.errors import (
    InternalFault,
    MessageError,
    Overrun,
    ReasonerError,
    SensorStreamError,
    SettingsError,
)
from sensorstream.kb.graph import KnowledgeBase
from sensorstream.model.events import (
    Alert,
    Cleared,
    Delta,
    Event,
    Message,
    net_delta,
)
from sensorstream.model.terms import IRI, Subject
from sensorstream.model.timeline import Instant, Timeline
from sensorstream.reasoning.dl.reasoner import ResilientReasoner
from sensorstream.reasoning.profiles import unread_axiom
from sensorstream.reasoning.reasoner import NoReasoner, Reasoner
from sensorstream.rules.answers import Answer
from sensorstream.rules.conditions import ConditionEvaluator
from sensorstream.rules.index import RuleIndex
from sensorstream.rules.memory import RuleMemory
from sensorstream.rules.rounds import run_rules
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.window.spec import Kind, Unit, WindowSpec
from sensorstream.window.window import Window, make_window

_LOG = logging.getLogger(__name__)
_TOLD: Final = 3
"""Open questions that a warning tells of."""
_EVERYTHING: Final = WindowSpec(Kind.LANDMARK, Unit.INDIVIDUALS)


class Cycle:
    """The knowledge base and all that reacts to it.

    Without a ``window`` events do not enter the knowledge base, only the windows of the queries.
    ``archived`` counts the individuals that went straight to history. ``refused`` are the ids of
    messages that wait, and are to be rejected in their turn.

    Raises:
        SettingsError: rules, filters or load shedding, which are about the window, without one.
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
        counter: Callable[[], float],
        turn: Callable[[str], None] | None,
        timeline: Timeline,
        filters: Sequence[Filter],
        shedder: LoadShedder | None,
        terms: QueryTerms | None,
        answers: bool,
        clock: StreamClock,
    ) -> None:
        if window is None and (rules or filters or shedder is not None):
            raise SettingsError(
                "semantic rules, filters and load shedding are about the window of the knowledge "
                "base, and this engine has no window: expected one, such as 'landmark'"
            )
        self.kb = knowledge
        self.window = make_window(_EVERYTHING) if window is None else window
        self.evaluator = evaluator
        self.queries = LiveQueries(
            knowledge, timeline, terms, lambda triple: self.reasoner.conclusions(triple)
        )
        self.memory = RuleMemory()
        self.notices = Notices()
        self.shedder = shedder
        self.admission = Admission()
        self.inferences = Inferences()
        self.clock = clock
        self.archived = 0
        self.refused: frozenset[str] = frozenset()
        self.reasoner = reasoner
        self.rules = RuleIndex(rules)
        self._max_rounds = max_rounds
        self._counter = counter
        self._turn = turn
        self.timeline = timeline
        self.filters = tuple(filters)
        self._windowless = window is None
        self._answers = answers
        self.dropped: list[str] = []
        """Rules that had failed and are in force no more, until an outcome tells of it."""
        self.stuck: Instant | None = None
        """Up to then the window could not be moved without a message."""
        reasoner.start(knowledge)
        evaluator.prepare(rule.queries for rule in rules)

    @property
    def now(self) -> Instant | None:
        """Application time: the latest time any event brought; None before the first."""
        return self.queries.now if self._windowless else self.window.now

    def due(self, *, with_window: bool) -> Instant | None:
        """From which application time on rules change something although no message comes.

        ``with_window``: or the window.
        """
        rules = self.rules.due(self.memory)
        window = self.window.due if with_window else None
        if window is not None and self.stuck is not None and window <= self.stuck:
            window = None
        return min((due for due in (rules, window) if due is not None), default=None)

    @property
    def waiting_due(self) -> Instant | None:
        """The same, of the rules whose time comes before the message that tells of it."""
        return self.rules.due(self.memory, waiting_only=True)

    def present(self, time: Instant) -> Instant:
        """A time, or the present of window and rules if that is later."""
        known = (time, self.window.now, self.memory.time)
        return max(each for each in known if each is not None)

    def take_in(
        self,
        arrived: Arrived,
        timings: Timings,
        refused: Container[str],
        received: Instant | None = None,
    ) -> Outcome:
        """Let window, reasoner and rules have a message; all or nothing.

        Rules that wait for a time before it come first, whatever becomes of the message.
        ``received`` is the time of arrival of what released it, if it had to wait.
        """
        message, events = arrived.message, arrived.mapped.events
        heard = message.received if received is None else received
        passed: Outcome | None = None
        if events and self.waiting_due is not None:
            passed = elapse(self, message, events[0].time, heard, waiting_only=True)
        if message.id in refused or message.id in self.refused:
            outcome = outcome_of(arrived, Status.REJECTED, timings)
            self.notices.doubt([rule.name for rule in self.rules.rules])
        else:
            outcome = self._take(arrived, timings, heard, waited=received is not None)
            if outcome.time is not None and self.now is not None and not arrived.silent:
                self.clock.heard(self.present(self.now), heard)
        return outcome if passed is None else following(passed, outcome)

    def _take(self, arrived: Arrived, timings: Timings, heard: Instant, *, waited: bool) -> Outcome:
        message = arrived.message
        if self._turn is not None:
            self._turn(message.id)
        if self._windowless:
            return self._pass(arrived, timings, heard)
        before = self.degraded
        closing = self._closing(arrived)
        result = self._attempt(arrived, timings, heard, closing)
        if closing and isinstance(result, Exception):
            # Whose fault is it? A message must not be rejected for what others said before it.
            alone = self._attempt(arrived, timings, heard, {})
            result = alone if isinstance(alone, Exception) else self._given_up(alone, result)
        if isinstance(result, Outcome):
            outcome = result
        elif isinstance(result, MessageError | Overrun | ReasonerError):
            outcome = self.reject(message, result, timings)
        else:
            outcome = self.fault(message, result, timings)
        outcome = self.with_queries(outcome)
        if waited and self._answers and outcome.replies:
            told = f"{len(outcome.replies)} replies not sent: the message had waited"
            outcome = replace(outcome, warnings=(*outcome.warnings, told))
        return self.with_reasoner(outcome, before)

    def _attempt(
        self, arrived: Arrived, timings: Timings, heard: Instant, closing: Mapping[IRI, Summary]
    ) -> Outcome | Exception:
        """What a message comes to, and the synopses before it; an error has left no trace."""
        run = self.run_of(arrived.message.id, timings)
        try:
            outcome = self._react(arrived, run, timings, closing)
        except Exception as error:
            run.take_back()
            self.queries.take_back()
            self.inferences.settle()
            return error
        self.inferences.settle()
        self.tell_queries(run, heard)
        return outcome

    def run_of(self, message: str, timings: Timings) -> MessageRun:
        """The changes of a message, by its id: none yet."""
        return MessageRun(
            self.kb,
            self.window,
            self.reasoner,
            self.evaluator,
            self._counter,
            timings,
            self.admission,
            self.inferences,
            message,
        )

    def _pass(self, arrived: Arrived, timings: Timings, heard: Instant) -> Outcome:
        """Let only the windows of the queries have a message."""
        events = arrived.mapped.events
        if events:
            self.queries.take_in(events, (), events[-1].time, heard)
        message, mapped, left_out = arrived.message, arrived.mapped, arrived.mapped.warnings
        notices = self.notices.partial(message, left_out, self.now) if left_out else ()
        raised, cleared = self.queries.alerts.raised(message.id, 0)
        stopped, now = self._stopped(message), self.now
        over = self.queries.alerts.over(message.id, now or 0, len(raised))
        return Outcome(
            message,
            Status.PARTIAL if left_out else Status.ACCEPTED,
            matched=mapped.matched,
            individuals=mapped.individuals,
            alerts=(*notices, *raised, *stopped),
            phases=timings,
            warnings=(*left_out, *mapped.notes),
            reports=self.queries.take_reports(),
            time=now,
            cleared=(*cleared, *over),
        )

    def _given_up(self, outcome: Outcome, error: Exception) -> Outcome:
        """Tell that a message was taken in without the synopses that were due with it."""
        _LOG.error("synopses given up at message %s", outcome.message.id, exc_info=error)
        told = f"the synopses of what was shed do not enter the window: {error}"
        notices = self.notices.given_up(outcome.message, told, self.now)
        return replace(
            outcome,
            alerts=(*outcome.alerts, *notices),
            warnings=(*outcome.warnings, told),
        )

    def _closing(self, arrived: Arrived) -> Mapping[IRI, Summary]:
        """What was shed in a period that ends with a message."""
        events = arrived.mapped.events
        if self.shedder is None:
            return {}
        return self.shedder.closing(events[0].time if events else None)

    def tell_queries(self, run: MessageRun, received: Instant) -> None:
        """Let the queries take in what has changed, which arrived at a time."""
        now = self.window.now
        if now is not None:
            self.queries.take_in(run.said, run.visible, now, received)

    def with_queries(self, outcome: Outcome) -> Outcome:
        """The outcome with what queries have reported, and those that a fault has stopped.

        Inferred statements that hold no more are told with it, too.
        """
        ended = self.inferences.take_ended()
        if ended:
            outcome = replace(outcome, ended=(*outcome.ended, *ended))
        if self.dropped:
            now, message = self.now or 0, outcome.message.id
            ended_rules = (Cleared("", RULE_FAILED, rule, now, message) for rule in self.dropped)
            outcome = replace(outcome, cleared=(*ended_rules, *outcome.cleared))
            self.dropped = []
        stopped = self._stopped(outcome.message)
        reports = self.queries.take_reports()
        if not stopped and not reports and not self.queries.alerts.ending:
            return outcome
        before, message = counted(outcome.alerts), outcome.message.id
        raised, cleared = self.queries.alerts.raised(message, before)
        over = self.queries.alerts.over(message, self.now or 0, before + len(raised))
        return replace(
            outcome,
            reports=(*outcome.reports, *reports),
            alerts=(*outcome.alerts, *raised, *stopped),
            cleared=(*outcome.cleared, *cleared, *over),
        )

    def _stopped(self, message: Message) -> tuple[Alert, ...]:
        """An alert for each query that a fault has stopped."""
        now = self.now
        return tuple(
            self.notices.stopped(message, name, entry, error, now)
            for name, entry, error in self.queries.take_faults()
        )

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

    def skip(self, message: Message, error: Overrun, timings: Timings) -> Outcome:
        """Pass over a message that takes too long; a replay does so without trying it again."""
        error.message_id = message.id
        return Outcome(
            message,
            Status.SKIPPED,
            # Not counted with its like: a replay does not know of it.
            alerts=(self.notices.overrun(message, error, self.now),),
            phases=timings,
            warnings=(str(error),),
            rejection=error,
        )

    def fault(self, message: Message, error: Exception, timings: Timings) -> Outcome:
        # One message must not stop all that come after it, nor be met again on recovery.
        _LOG.error("a fault of our own at message %s", message.id, exc_info=error)
        fault = InternalFault(f"a fault of the server: {type(error).__name__}: {error}")
        return self.reject(message, fault, timings)

    def with_reasoner(self, outcome: Outcome, before: str) -> Outcome:
        """Tell what the reasoner did not decide, or that it is away: as an alert if that is new."""
        reasoner = self.reasoner
        open_ = reasoner.take_left_open() if isinstance(reasoner, ResilientReasoner) else ()
        if open_:
            notices = self.notices.left_open(outcome.message, open_, self.now)
            outcome = replace(
                outcome,
                alerts=(*outcome.alerts, *notices),
                warnings=(*outcome.warnings, *open_[:_TOLD]),
            )
        if not self.degraded:
            return outcome
        alerts = outcome.alerts
        if not before:
            notice = self.notices.degraded(outcome.message, self.degraded, self.now)
            alerts = (*alerts, notice)
        warnings = outcome.warnings
        if outcome.status in (Status.ACCEPTED, Status.PARTIAL):
            told = f"inferred by the plain profile only, the reasoner is away: {self.degraded}"
            warnings = (*warnings, told)
        return replace(outcome, alerts=alerts, warnings=warnings)

    def _react(
        self,
        arrived: Arrived,
        run: MessageRun,
        timings: Timings,
        closing: Mapping[IRI, Summary],
    ) -> Outcome:
        message, mapped = arrived.message, arrived.mapped
        verdicts = Verdicts(self.archived)
        latest = self.window.now
        applied = self._enter(arrived, run, verdicts, closing)
        now = self.present(message.received if self.window.now is None else self.window.now)
        said = {t[0] for event in mapped.events for t in event.triples} if self.rules.listen else ()
        outcome = self.ruled(run, message, now, applied, said=said, silent=arrived.silent)
        self._settle(arrived, verdicts)
        left_out = mapped.warnings
        notices = self.notices.partial(message, left_out, now) if left_out else ()
        unread = unread_axiom(self.reasoner, (t for each in mapped.events for t in each.triples))
        if unread:
            notices = (*notices, *self.notices.unread(message, unread, now))
        return replace(
            outcome,
            status=Status.PARTIAL if left_out else Status.ACCEPTED,
            matched=mapped.matched,
            individuals=mapped.individuals,
            alerts=(*outcome.alerts, *notices),
            phases=timings,
            warnings=(
                *left_out,
                *mapped.notes,
                *verdicts.warnings(),
                *([unread] if unread else []),
                *self._unrepaired(run.said, latest),
                *outcome.warnings,
            ),
            archived=tuple(verdicts.departures),
            filtered=tuple(verdicts.filtered),
            shed=tuple(verdicts.shed),
        )

    def _unrepaired(self, said: Sequence[Event], latest: Instant | None) -> Iterator[str]:
        """What order would have given and a message from before the latest one does not."""
        first = min((each.time for each in said), default=latest)
        if latest is None or first is None or first >= latest:
            return
        time, now = map(self.timeline.format, (first, latest))
        inferred = ""
        if not isinstance(self.reasoner, NoReasoner):
            inferred = (
                f"what is inferred from it begins at {now} only (repaired by: sensorstream "
                f"rereason --from {time} --to {now} --apply), "
            )
        yield (
            f"late-update: its time {time} is before {now}, the latest so far: what it says has "
            f"its place in history, but {inferred}values that messages only add to, departures "
            "and what rules did stay as they came: docs/history.md, late updates"
        )

    def ruled(
        self,
        run: MessageRun,
        entry: Message,
        now: Instant,
        applied: Sequence[Delta],
        *,
        said: Collection[Subject] = (),
        names: str = "",
        late: str = "",
        silent: bool = False,
        in_turn: Collection[str] | None = None,
        answer: Answer | None = None,
    ) -> Outcome:
        """Let the rules react to what ``applied`` has changed, or to an answer of the history."""
        timings = run.timings
        start, spent = self._counter(), timings.t_i + timings.t_w
        result = run_rules(
            self.rules,
            run,
            message=entry,
            time=now,
            delta=net_delta(now, applied),
            departures=tuple(run.departures),
            memory=self.memory,
            max_rounds=self._max_rounds,
            silent=silent,
            said=said,
            prefix=names,
            late=late,
            in_turn=in_turn,
            answer=answer,
        )
        # The rules' own share: what their actions cost window and reasoner is counted there.
        timings.t_s += self._counter() - start - (timings.t_i + timings.t_w - spent)
        self.memory.keep(now, result.news)
        worked = self.notices.worked(result.fired)
        return Outcome(
            entry,
            Status.ACCEPTED,
            alerts=result.alerts,
            replies=result.replies,
            departures=tuple(run.departures),
            ended=tuple(run.ended),
            revoked=tuple(run.revoked),
            phases=timings,
            warnings=result.warnings,
            time=now,
            cleared=(
                *(Cleared("", RULE_FAILED, rule, now, entry.id) for rule in worked),
                *result.cleared,
            ),
        )

    def _enter(
        self,
        arrived: Arrived,
        run: MessageRun,
        verdicts: Verdicts,
        closing: Mapping[IRI, Summary],
    ) -> list[Delta]:
        """Let the window have what filters and load shedding leave of a message.

        Before it come the synopses of a period that ends with the message.
        """
        message, events, shedder = arrived.message, arrived.mapped.events, self.shedder
        if shedder is None and not self.filters:
            run.said += events
            return [run.enter(event) for event in events]
        applied: list[Delta] = []
        for number, (about, summary) in enumerate(closing.items(), 1):
            event = summary.event(about, message.id, number, self.timeline)
            applied.append(run.enter(event))
            run.said.append(event)
        for event in events:
            part = admit(event, self.filters, shedder, self.kb, self.window, verdicts)
            if part is not None:
                applied.append(run.enter(part))
                run.said.append(part)
        return applied

    def _settle(self, arrived: Arrived, verdicts: Verdicts) -> None:
        """Remember what was decided of a message that has been taken in."""
        self.archived += len(verdicts.departures)
        if self.shedder is None:
            return
        events = arrived.mapped.events
        time = events[0].time if events else 0
        closed = bool(self._closing(arrived))
        if closed or verdicts.summaries or verdicts.entered:
            self.shedder.settle(verdicts.summaries, time, closed, verdicts.entered)

    @property
    def degraded(self) -> str:
        """Why the plain profile stands in for HermiT or Pellet; "" while it does not."""
        reasoner = self.reasoner
        return reasoner.degraded if isinstance(reasoner, ResilientReasoner) else ""


def outcome_of(arrived: Arrived, status: Status, timings: Timings) -> Outcome:
    """An outcome that tells what a message said, but not yet what came of it."""
    mapped = arrived.mapped
    return Outcome(
        arrived.message,
        status,
        matched=mapped.matched,
        individuals=mapped.individuals,
        phases=timings,
        warnings=(*mapped.warnings, *mapped.notes),
    )
