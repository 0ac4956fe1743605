"""Time that passes without a message: when something is due, and what happens then.

Each rule that waits is evaluated at the time it waits for. Whatever is due before a message is done
before it, so that the result of a stream does not depend on whether the clock or the next message
brought the time. All that is due at one time happens together; if that fails, each rule has a turn
of its own, and the ones that then fail are passed over. A rule that waits for an answer of the
history is tried with its solutions, at the present.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from sensorstream.engine.engine_state import Core, told_as
from sensorstream.engine.message_run import MessageRun
from sensorstream.engine.notices import RULE_FAILED
from sensorstream.engine.outcome import Outcome, Timings, following
from sensorstream.errors import QueryError, SensorStreamError
from sensorstream.model.events import Cleared, Event, Message, Status
from sensorstream.model.timeline import Instant
from sensorstream.model.waits import Waits
from sensorstream.rules.history_rules import waiting
from sensorstream.rules.rule_effects import RulesRun
from sensorstream.rules.rule_memory import Answer, HistoryQuestion, RuleMemoryChange

_MOST_STEPS: Final = 1000
"""Due times that one entry works off one by one; the rest at once."""


class Dues:
    """The times from which an engine has something to do in silence; it changes nothing."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def tick(self) -> Instant | None:
        """The first time of arrival at which :meth:`.Engine.tick` has work; None: never."""
        return _first((self._of_arrival, self._of_queries, self._of_rules))

    @property
    def waits(self) -> Waits:
        """The first times at which :meth:`.Engine.pass_time` has work."""
        core, received = self._core, self._of_arrival
        if core.held:
            return Waits(received)
        margin = core.clock.margin
        moved, news = core.due(with_window=True), core.queries.processor.next_news
        by_clock = self._by_clock
        present = _first(
            (
                None if news is None else news + 1 + margin,
                None if by_clock is None else by_clock + margin,
            )
        )
        quiet = core.order.quiet
        if quiet is not None and (moved is not None or present is not None):
            # While a source of this engine is waited for, it decides the application time.
            return Waits(quiet if received is None else min(received, quiet))
        return Waits(received, moved, present)

    def tick_content(self, received: Instant) -> bytes:
        """The application time reached in silence, for a tick; empty if it stands still. The tick
        holds it, for a replay cannot know how long the server did not run.
        """
        told: list[Instant | None] = []
        for due, clock in (
            (self._of_queries, self._core.queries.clock),
            (self._of_rules, self._core.clock),
        ):
            told.append(None if due is None or received < due else clock.present(received))
        while told and told[-1] is None:
            told.pop()
        return " ".join("-" if each is None else str(each) for each in told).encode()

    @property
    def _of_arrival(self) -> Instant | None:
        """The first time of arrival at which messages are released, or load shedding ends."""
        shedder = self._core.shedder
        return _first((self._core.order.due, None if shedder is None else shedder.due))

    @property
    def _by_clock(self) -> Instant | None:
        """The application time at which rules, or the window, change something in silence."""
        clock = self._core.clock
        return self._core.due(with_window=clock.for_window) if clock.for_rules else None

    @property
    def _of_rules(self) -> Instant | None:
        """The first time of arrival at which :attr:`_by_clock` has come."""
        return None if self._core.held else self._core.clock.wake(self._by_clock)

    @property
    def _of_queries(self) -> Instant | None:
        """The first time of arrival at which silence moves a query's window, or a report is due."""
        # While a source is waited for, it decides the application time.
        return None if self._core.held else self._core.queries.due


def times_of(content: bytes) -> tuple[Instant | None, Instant | None]:
    """The application times of a tick, for queries and for rules; None: it stands still."""
    found = [None if each == b"-" else int(each) for each in content.split()]
    return found[0] if found else None, found[1] if len(found) > 1 else None


def _first(dues: Iterable[Instant | None]) -> Instant | None:
    return min((due for due in dues if due is not None), default=None)


def elapse(
    core: Core,
    entry: Message,
    time: Instant,
    *,
    with_window: bool = False,
    waiting_only: bool = False,
) -> Outcome | None:
    """Let application time come to ``time``, by an entry from whose id names and alert ids derive;
    None: nothing was due. ``waiting_only`` leaves out rules that a message tells when it is their
    time.
    """
    done: Outcome | None = None
    for number in range(1, _MOST_STEPS + 1):
        due = core.waiting_due if waiting_only else core.due(with_window=with_window)
        if due is None or due > time:
            break
        # Time never goes back: a message may have brought a later one.
        now = max(due if number < _MOST_STEPS else time, core.present(due))
        late = core.clock.note(due, entry.received)
        outcome = step(core, entry, now, f"{entry.id}-t{number}", late, with_window=with_window)
        done = following(done, outcome)
    return done


def step(
    core: Core, entry: Message, now: Instant, names: str, late: str, *, with_window: bool
) -> Outcome:
    """Let time come to ``now``, which is not before the present, by ``entry``. All or nothing; if
    it fails, the window and each rule that is due have a turn of their own. The ones that then fail
    are not tried again: they are passed over. New names and alert ids begin with ``names``;
    ``late`` is a note for alerts that should have been raised earlier.
    """
    before = core.degraded
    outcome = _turn(core, entry, now, names, late, with_window=with_window)
    if isinstance(outcome, Exception):
        due = core.rules.due_by(core.memory, now)
        turns: list[tuple[Collection[str], bool]] = [((each,), False) for each in due]
        if with_window:
            turns.insert(0, ((), True))
        done: Outcome | None = None
        for number, (rules, moves) in enumerate(turns, 1):
            prefix = f"{names}-{number}"
            own: Outcome | Exception = outcome
            if len(turns) > 1:
                own = _turn(core, entry, now, prefix, late, rules=rules, with_window=moves)
            if isinstance(own, Exception):
                own = _passed_over(core, entry, now, own, prefix, rules, with_window=moves)
            done = following(done, own)
        outcome = done or _passed_over(core, entry, now, outcome, names, (), with_window=False)
    return _ended(core, outcome, now, before)


def asked(core: Core) -> list[HistoryQuestion]:
    """The questions of rules to the history that wait for their answers, the oldest first."""
    found = [
        each
        for rule in core.rules.rules
        if rule.question is not None
        for each in waiting(rule.name, rule.question, core.memory, core.timeline)
    ]
    return sorted(found, key=lambda each: each.now)


def answer(core: Core, entry: Message, answer: Answer) -> Outcome:
    """Let a rule have an answer of the history, once; nothing happens if it waits for none. It
    happens at the present, since the moment of the answer has passed. A failure is reported, and
    not tried again.
    """
    wanted = [each for each in asked(core) if _of(each) == _of(answer)]
    if not wanted:
        return core.marked(Outcome(entry, Status.ACCEPTED))
    now, rule, before = core.present(wanted[0].now), answer.rule, core.degraded
    if answer.failure:
        error = QueryError(answer.failure)
        error.rule = rule
        alerts = core.notices.rule_failed(entry, error, now)
        outcome = Outcome(
            entry, Status.ACCEPTED, alerts=alerts, warnings=(answer.failure,), time=now
        )
    else:
        late = core.clock.note(wanted[0].now, entry.received)
        made = _turn(core, entry, now, entry.id, late, rules=(rule,), answer=answer)
        if isinstance(made, Exception):
            outcome = _passed_over(core, entry, now, made, entry.id, (rule,), with_window=False)
        else:
            # It works again, even if it found nothing.
            worked = core.notices.worked([rule])
            ends = (Cleared("", RULE_FAILED, each, now, entry.id) for each in worked)
            made.cleared = (*ends, *made.cleared)
            outcome = made
    core.memory.keep(now, RuleMemoryChange(held={rule: {answer.moment: None}}))
    return core.marked(_ended(core, outcome, now, before))


def _of(told: HistoryQuestion | Answer) -> tuple[object, ...]:
    return told.rule, told.digest, told.moment


def _turn(
    core: Core,
    entry: Message,
    now: Instant,
    names: str,
    late: str,
    *,
    rules: Collection[str] | None = None,
    with_window: bool = False,
    answer: Answer | None = None,
) -> Outcome | Exception:
    """Evaluate the rules whose time has come; return the outcome, or an error that left no trace.
    ``rules``: only these are evaluated now. ``answer``: that of the history to one of them.
    """
    run = MessageRun(core, entry.id, Timings())
    work = RulesRun(
        run, entry, now, core.memory, prefix=names, late=late, in_turn=rules, answer=answer
    )

    def react() -> Outcome:
        applied = [run.enter(Event((), now, entry.id))] if with_window else []
        return run.ruled(work, applied, silent=True)

    outcome = run.whole(react)
    if isinstance(outcome, Outcome) and run.visible:
        core.queries.take_in((), run.visible, now, entry.received)
    return outcome


def _passed_over(
    core: Core,
    entry: Message,
    now: Instant,
    error: Exception,
    names: str,
    rules: Collection[str],
    *,
    with_window: bool,
) -> Outcome:
    """Give up all that was due, and report the error."""
    core.rules.give_up(core.memory, now, rules)
    if with_window:
        core.stuck = now
    due = core.timeline.format(now)
    told = told_as(error, SensorStreamError, f"what was due at {due}")
    place = names.removeprefix(entry.id)
    notices = core.notices.passed_over(entry, told, due, now, place)
    failed = core.notices.rule_failed(entry, told, now, place)
    return Outcome(
        entry, Status.ACCEPTED, alerts=(*notices, *failed), warnings=(str(told),), time=now
    )


def _ended(core: Core, outcome: Outcome, now: Instant, before: str) -> Outcome:
    """Finish an outcome at ``now``; ``before``: why the reasoner was away before."""
    core.memory.time = now
    return core.with_reasoner(core.with_queries(outcome), before)
