"""The way of messages through window, reasoner, rules and queries (Algorithm 1): all or nothing.

A message is taken in as it comes, or when nothing earlier can come any more. ``refused`` are,
everywhere, the ids of messages that are rejected when their turn comes; ``received`` is the time of
arrival.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sensorstream.engine.elapsed_time import elapse
from sensorstream.engine.engine_state import Core, told_as
from sensorstream.engine.message_filters import kinds_of
from sensorstream.engine.message_reading import Arrived
from sensorstream.engine.message_run import MessageRun
from sensorstream.engine.outcome import Outcome, Timings, Withheld, following
from sensorstream.engine.shedding import LoadShedder, Summary, add_to
from sensorstream.errors import MessageError, Overrun, ReasonerError
from sensorstream.model.events import (
    Delta,
    Departure,
    Event,
    Individual,
    Message,
    Provenance,
    Status,
)
from sensorstream.model.terms import IRI, Subject, Term, Triple
from sensorstream.model.timeline import Instant
from sensorstream.reasoning.profiles import unread_axiom
from sensorstream.reasoning.reasoner import NoReasoner
from sensorstream.rules.rule_effects import RulesRun
from sensorstream.window.window_partition import owners_of

_LOG: Final = logging.getLogger(__name__)


def take_in(
    core: Core,
    arrived: Arrived,
    timings: Timings,
    refused: Container[str],
    received: Instant | None = None,
) -> Outcome:
    """Let window, reasoner and rules have a message; all or nothing. Rules that wait for a time
    before it come first, whatever its outcome. ``received`` is the time of arrival of the entry
    that released it, if it had to wait.
    """
    message, events = arrived.message, arrived.mapped.events
    heard = message.received if received is None else received
    passed: Outcome | None = None
    if events and core.waiting_due is not None:
        entry = replace(message, received=heard)
        passed = elapse(core, entry, events[0].time, waiting_only=True)
    if message.id in refused or message.id in core.refused:
        outcome = outcome_of(arrived, Status.REJECTED, timings)
        core.notices.doubt([rule.name for rule in core.rules.rules])
    else:
        outcome = _taken(core, arrived, timings, heard, waited=received is not None)
        if outcome.time is not None and (now := core.now) is not None:
            core.clock.heard(core.present(now), heard)
    return following(passed, outcome)


def outcome_of(arrived: Arrived, status: Status, timings: Timings) -> Outcome:
    """An outcome with the content of a message, but not yet its effects."""
    mapped = arrived.mapped
    return Outcome(
        arrived.message,
        status,
        matched=mapped.matched,
        individuals=mapped.individuals,
        phases=timings,
        warnings=(*mapped.warnings, *mapped.notes),
    )


def _taken(
    core: Core, arrived: Arrived, timings: Timings, heard: Instant, *, waited: bool
) -> Outcome:
    message, parts = arrived.message, core.parts
    if parts.turn is not None:
        parts.turn(message.id)
    if parts.window is None:
        return _passed(core, arrived, timings, heard)
    before = core.degraded
    closing = {} if core.shedder is None else _closing(core, arrived)
    result = _attempt(core, arrived, timings, heard, closing)
    if closing and isinstance(result, Exception):
        # A message must not be rejected for a synopsis of earlier ones: try it without.
        alone = _attempt(core, arrived, timings, heard, {})
        result = alone if isinstance(alone, Exception) else _given_up(core, alone, result)
    if isinstance(result, Exception):
        known = (MessageError, Overrun, ReasonerError)
        result = core.reject(message, told_as(result, known, f"message {message.id}"), timings)
    outcome = core.with_queries(result)
    if waited and parts.answers and outcome.replies:
        told = f"{len(outcome.replies)} replies not sent: the message had waited"
        outcome.warnings += (told,)
    return core.with_reasoner(outcome, before)


def _passed(core: Core, arrived: Arrived, timings: Timings, heard: Instant) -> Outcome:
    """Let only the windows of the queries have a message."""
    events, left_out = arrived.mapped.events, arrived.mapped.warnings
    if events:
        core.queries.take_in(events, (), events[-1].time, heard)
    outcome = outcome_of(arrived, Status.PARTIAL if left_out else Status.ACCEPTED, timings)
    if left_out:
        outcome.alerts = core.notices.partial(arrived.message, left_out, core.now)
    outcome.time = core.now
    return core.with_queries(outcome)


def _attempt(
    core: Core,
    arrived: Arrived,
    timings: Timings,
    heard: Instant,
    closing: Mapping[IRI, Summary],
) -> Outcome | Exception:
    """Take in a message after the synopses before it; an error has left no trace."""
    run = MessageRun(core, arrived.message.id, timings)
    outcome = run.whole(_react, core, arrived, run, closing)
    if isinstance(outcome, Outcome):
        tell_queries(core, run, heard)
    return outcome


def tell_queries(core: Core, run: MessageRun, received: Instant) -> None:
    """Let the queries take in the changes, which arrived at a time."""
    if (now := core.window.now) is not None:
        core.queries.take_in(run.said, run.visible, now, received)


def _given_up(core: Core, outcome: Outcome, error: Exception) -> Outcome:
    """Report that a message was taken in without the synopses that were due with it."""
    _LOG.error("synopses given up at message %s", outcome.message.id, exc_info=error)
    told = f"the synopses of what was shed do not enter the window: {error}"
    outcome.alerts += core.notices.given_up(outcome.message, told, core.now)
    outcome.warnings += (told,)
    return outcome


def _react(
    core: Core, arrived: Arrived, run: MessageRun, closing: Mapping[IRI, Summary]
) -> Outcome:
    message, mapped = arrived.message, arrived.mapped
    verdicts = Verdicts(core.archived) if core.filters or core.shedder is not None else None
    latest = core.window.now
    applied: list[Delta] = []
    for event in mapped.events if verdicts is None else _entering(core, arrived, verdicts, closing):
        applied.append(run.enter(event))
        run.said.append(event)
    present = core.window.now
    now = core.present(message.received if present is None else present)
    said = {t[0] for event in mapped.events for t in event.triples} if core.rules.listen else ()
    outcome = run.ruled(RulesRun(run, message, now, core.memory, said=said), applied)
    warnings = [*mapped.warnings, *mapped.notes]
    if verdicts is not None:
        _settle(core, arrived, verdicts)
        warnings += verdicts.warnings()
        outcome.archived = tuple(verdicts.departures)
        outcome.filtered, outcome.shed = tuple(verdicts.filtered), tuple(verdicts.shed)
    if mapped.warnings:
        outcome.status = Status.PARTIAL
        outcome.alerts += core.notices.partial(message, mapped.warnings, now)
    unread = unread_axiom(core.reasoner, mapped.events)
    if unread:
        outcome.alerts += core.notices.unread(message, unread, now)
        warnings.append(unread)
    if latest is not None and any(event.time < latest for event in run.said):
        warnings.append(_unrepaired(core, run.said, latest))
    outcome.matched, outcome.individuals = mapped.matched, mapped.individuals
    if warnings:
        outcome.warnings = (*warnings, *outcome.warnings)
    return outcome


def _unrepaired(core: Core, said: Sequence[Event], latest: Instant) -> str:
    """Warn that a message from before the latest one has not all the effects of its order."""
    time, now = map(core.timeline.format, (min(each.time for each in said), latest))
    inferred = ""
    if not isinstance(core.reasoner, NoReasoner):
        inferred = (
            f"what is inferred from it begins at {now} only (repaired by: sensorstream "
            f"rereason --from {time} --to {now} --apply), "
        )
    return (
        f"late-update: its time {time} is before {now}, the latest so far: what it says has "
        f"its place in history, but {inferred}values that messages only add to, departures "
        "and what rules did stay as they came: docs/use/history.md, late updates"
    )


def _closing(core: Core, arrived: Arrived) -> Mapping[IRI, Summary]:
    """The summaries of a shedding period that ends with a message."""
    events = arrived.mapped.events
    assert core.shedder is not None
    return core.shedder.closing(events[0].time if events else None)


def _entering(
    core: Core, arrived: Arrived, verdicts: Verdicts, closing: Mapping[IRI, Summary]
) -> Iterator[Event]:
    """The rest of a message after filters and load shedding, each event when its turn has come. The
    synopses of a period that ends with the message come before it.
    """
    for number, (about, summary) in enumerate(closing.items(), 1):
        yield summary.event(about, arrived.message.id, number, core.timeline)
    for event in arrived.mapped.events:
        part = admit(core, event, verdicts)
        if part is not None:
            yield part


def _settle(core: Core, arrived: Arrived, verdicts: Verdicts) -> None:
    """Remember the decisions about a message that has been taken in."""
    core.archived += len(verdicts.departures)
    if core.shedder is None:
        return
    events = arrived.mapped.events
    time = events[0].time if events else 0
    closed = bool(_closing(core, arrived))
    if closed or verdicts.summaries or verdicts.entered:
        core.shedder.settle(verdicts.summaries, time, closed, verdicts.entered)


_NONE: Final[frozenset[str]] = frozenset()


def take_in_turn(
    core: Core,
    message: Message,
    arrived: Arrived | Outcome,
    timings: Timings,
    refused: Container[str],
) -> Outcome:
    """Take in a message, or an outcome if it has been set aside already.

    Returns:
        Its outcome; ``released`` holds the outcomes of those whose turn it is now.
    """
    order, own = core.order, arrived if isinstance(arrived, Outcome) else None
    released = [*release(core, message.received, refused)] if order and not order.waits else []
    if isinstance(arrived, Outcome):
        order.advance(message.received)
    elif not arrived.mapped.events:
        # It has no time, so there is nothing to wait for.
        order.advance(message.received)
        own = take_in(core, arrived, timings, refused)
    else:
        time = arrived.mapped.events[0].time
        if not order.waits:
            own = take_in(core, arrived, timings, refused)
            own.released = (*own.released, *released)
            return own
        if not order.offer(message.source, time, message.received, _kept(arrived)):
            own = _set_late(core, arrived, timings)
    forced = order.overflow()
    for each in (*forced, *order.release()):
        if each.message.id == message.id:
            assert isinstance(arrived, Arrived)
            own = take_in(core, arrived, timings, refused)
        else:
            released.append(take_in(core, each, Timings(), refused, message.received))
    if own is None:
        assert isinstance(arrived, Arrived)
        own = outcome_of(arrived, Status.HELD, timings)
    if forced:
        own.alerts += core.notices.overflow(message, order.disorder.max_held, core.now)
        own.forced = len(forced)
    own.released = (*own.released, *released)
    return own


def release(
    core: Core, received: Instant | None = None, refused: Container[str] = _NONE
) -> tuple[Outcome, ...]:
    """Take in the released messages; ``received`` is the time of arrival that has released them."""
    return tuple(take_in(core, each, Timings(), refused, received) for each in core.order.release())


def _set_late(core: Core, arrived: Arrived, timings: Timings) -> Outcome:
    """Send a message that came too late for the window straight to history."""
    message, time = arrived.message, arrived.mapped.events[0].time
    told = (
        f"late: something later than {core.timeline.format(time)} has been released already; "
        "the message went straight to history, not into the window"
    )
    verdicts = Verdicts(core.archived)
    for event in arrived.mapped.events:
        for name, said in statements_of(event).items():
            verdicts.archive(event, name, said)
    core.archived += len(verdicts.departures)
    outcome = outcome_of(arrived, Status.LATE, timings)
    outcome.alerts = core.notices.late(message, told, core.now)
    outcome.archived = tuple(verdicts.departures)
    outcome.warnings += (told,)
    return outcome


def _kept(arrived: Arrived) -> Arrived:
    """A message as it waits: its text is in the journal and needed no more."""
    if not arrived.message.content:
        return arrived
    return replace(arrived, message=replace(arrived.message, content=b""), seconds=0.0)


# -- between a message and the window: filters and load shedding -----------------------------


def statements_of(event: Event) -> dict[Subject, list[Triple]]:
    """The statements of an event by individual, in order; blank nodes are with their owners."""
    owners = owners_of(event, {})
    found: dict[Subject, list[Triple]] = {}
    for triple in event.triples:
        found.setdefault(owners[triple[0]], []).append(triple)
    return found


def departure(event: Event, name: Subject, triples: Sequence[Triple], number: int) -> Departure:
    """An individual that departs without having stayed in the window. It holds at the time of its
    message and no longer. Its stay is ``-number``: the window numbers its own from 1 upwards.
    Nothing is inferred for it.
    """
    said = Provenance(event.message, event.time)
    individual = Individual(
        name,
        -number,
        event.time,
        event.time,
        number,
        event.message,
        dict.fromkeys(triples, said),
    )
    return Departure(individual, event.time)


@dataclass(slots=True)
class Verdicts:
    """The decisions about the individuals of a message; nothing else remembers them yet."""

    archived: int
    """How many individuals went straight to history before this message."""
    filtered: list[Withheld] = field(default_factory=list)
    shed: list[Withheld] = field(default_factory=list)
    departures: list[Departure] = field(default_factory=list)
    summaries: dict[IRI, Summary] = field(default_factory=dict)
    entered: dict[Subject, Instant] = field(default_factory=dict)
    """The individuals that enter while load is shed, and the ends of their periods."""

    def archive(self, event: Event, name: Subject, said: Sequence[Triple]) -> None:
        """Send an individual straight to history."""
        number = self.archived + len(self.departures) + 1
        self.departures.append(departure(event, name, said, number))

    def warnings(self) -> Iterator[str]:
        """The individuals that did not enter the window, counted by cause."""
        for what, withheld in (("filter", self.filtered), ("load shedding for", self.shed)):
            for cause, count in Counter(each.cause for each in withheld).items():
                yield f"{what} '{cause}' kept {count} out of the window"


def admit(core: Core, event: Event, verdicts: Verdicts) -> Event | None:
    """The part of an event that enters the window; None where nothing does. Filters are asked in
    their order, the first that drops an individual decides. The others may be shed, while the load
    is too high.
    """
    filters, shedder, window = core.filters, core.shedder, core.window
    if shedder is not None and not shedder.state.active:
        shedder = None
    if not filters and shedder is None:
        return event
    kept: list[Triple] = []
    parts = statements_of(event)
    for name, said in parts.items():
        kinds = kinds_of(name, said, core.kb)
        dropping = next(
            (each for each in filters if each.drops(name, kinds, said, event.time, window)), None
        )
        if dropping is not None:
            verdicts.filtered.append(Withheld(name, dropping.name))
            if dropping.store:
                verdicts.archive(event, name, said)
            continue
        if shedder is not None and _shed(event, name, kinds, said, shedder, verdicts):
            continue
        kept += said
    if len(kept) == len(event.triples):
        return event
    if not kept:
        return None
    subjects = {triple[0] for triple in kept}
    replaces = frozenset(each for each in event.replaces if each[0] in subjects)
    return event.part(kept, replaces)


def _shed(
    event: Event,
    name: Subject,
    kinds: frozenset[Term],
    said: Sequence[Triple],
    shedder: LoadShedder,
    verdicts: Verdicts,
) -> bool:
    """Whether an individual stays out because of the load."""
    shedding, time = shedder.shedding, event.time
    earlier = verdicts.entered.get(name)
    known = shedder.state.entered.holds(name, time)
    first = not known and (earlier is None or time >= earlier)
    about = shedding.verdict(name, kinds, first)
    if about is None:
        if first and shedding.thins_out:
            verdicts.entered[name] = shedding.end_of_period(time)
        return False
    verdicts.shed.append(Withheld(name, about))
    verdicts.archive(event, name, said)
    add_to(verdicts.summaries, about, Summary.of(name, said, time))
    return True
