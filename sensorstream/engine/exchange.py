"""The exchange of ontology, reasoner, rules, filters and policies between two messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from sensorstream.engine.cycle import Cycle
from sensorstream.engine.filters import Filter
from sensorstream.engine.inferences import latest_message
from sensorstream.engine.notices import restored_ends
from sensorstream.engine.outcome import Outcome, Status, Timings
from sensorstream.engine.shedding import Shedding
from sensorstream.errors import Inconsistent
from sensorstream.kb.graph import Origin
from sensorstream.model.events import Delta, Departure, Individual, Message
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant
from sensorstream.reasoning.dl.reasoner import ResilientReasoner
from sensorstream.reasoning.reasoner import Aside, without_limits
from sensorstream.rules.conditions import unlimited
from sensorstream.rules.index import RuleIndex
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.window.window import Window


def degrade(cycle: Cycle, reason: str) -> None:
    """Go on with the plain profile, as if the reasoner had failed."""
    if isinstance(cycle.reasoner, ResilientReasoner):
        inferred = cycle.reasoner.degrade(cycle.kb, reason)
        _follow(cycle, inferred, latest_message(cycle.window))


def adopt(
    cycle: Cycle,
    aside: Aside,
    rules: Sequence[CompiledRule],
    filters: Sequence[Filter],
    shedding: Shedding | None,
    cause: str,
) -> None:
    """Exchange ontology, reasoner, rules, filters and policies between two messages.

    Static and inferred graph become those of ``aside``; window and memories stay. No rule
    runs: new axioms count from the next message on. Messages that wait were mapped already.
    ``cause`` is the id of the journal's entry.

    Raises:
        Inconsistent: the window contradicts the new ontology; nothing was changed.
        ReasonerError: the new reasoner failed; the same.
    """
    aside.follow(cycle.kb.triples(Origin.WINDOW))
    _exchange(cycle, aside, cause)
    adopt_rules(cycle, rules)
    cycle.filters = tuple(filters)
    if cycle.shedder is not None and shedding is not None:
        # The load and what has been shed go on.
        cycle.shedder.shedding = shedding


def adopt_rules(
    cycle: Cycle, rules: Sequence[CompiledRule], received: Instant | None = None
) -> None:
    """Exchange the semantic rules; the window stays, and no rule runs now.

    What is remembered of a rule is remembered of its name. A rule that is evaluated every so
    often begins anew if that time has changed: its ticks were counted in the old one; one that
    waits if anything of its trigger has changed. ``received`` is the time of arrival: a rule that
    is new has no moments from before it.
    """
    before = {rule.name: (rule.every, rule.waits) for rule in cycle.rules.rules}
    cycle.rules = RuleIndex(rules)
    cycle.evaluator.prepare(rule.queries for rule in rules)
    same = {rule.name for rule in rules if before.get(rule.name) == (rule.every, rule.waits)}
    cycle.memory.forget_but(same)
    _begin(cycle, received)
    cycle.dropped += cycle.notices.dropped({rule.name for rule in rules})


def _begin(cycle: Cycle, received: Instant | None) -> None:
    """Let new rules with moments of their own count from the present on, if it is known."""
    if cycle.window.now is None:
        return
    present = cycle.present(cycle.window.now)
    by_clock = None if received is None else cycle.clock.present(received)
    if by_clock is not None and cycle.clock.for_rules:
        present = max(present, by_clock)
    for rule in cycle.rules.rules:
        if rule.punctual and rule.every is not None:
            cycle.memory.ticks.setdefault(rule.name, rule.every.number(present))


def readmit(cycle: Cycle, message: Message, aside: Aside) -> Outcome:
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
        aside.follow(cycle.kb.triples(Origin.WINDOW))
    except Inconsistent:
        aside.follow(())
        expelled = aside.admit(_by_message(cycle.window))
    now = message.received if cycle.window.now is None else cycle.window.now
    change = cycle.window.retract(expelled, now)
    cycle.kb.apply(Origin.WINDOW, change.delta)
    for triple, (_, graphs) in change.graphs.items():
        cycle.kb.place(triple, graphs)
    aside.follow(cycle.kb.triples(Origin.WINDOW))
    _exchange(cycle, aside, message.id, change.departures)
    alerts = cycle.notices.restored(message, expelled, cycle.now)
    outcome = Outcome(
        message,
        Status.ACCEPTED,
        alerts=alerts,
        cleared=restored_ends(alerts[0]),
        departures=tuple(Departure(each, now) for each in change.departures),
        ended=change.ended,
    )
    return cycle.with_queries(outcome)


def expel(cycle: Cycle, stays: Collection[int]) -> None:
    """Take individuals out of the window whose departure is in history already.

    Nobody hears of it but rules and queries: history does not get it twice.
    """
    gone = [t for each in cycle.window if each.stay in stays for t in each.statements]
    if not gone:
        return
    run = cycle.run_of(latest_message(cycle.window), Timings())
    with unlimited(cycle.evaluator), without_limits(cycle.reasoner):
        run.apply(None, gone)
    cycle.tell_queries(run, cycle.window.now or 0)
    cycle.inferences.take_ended()
    cycle.inferences.settle()


def _exchange(cycle: Cycle, aside: Aside, cause: str, left: Iterable[Individual] = ()) -> None:
    now = cycle.window.now or 0
    changes: dict[Origin, Delta] = {}
    with unlimited(cycle.evaluator):
        for origin in (Origin.STATIC, Origin.STATIC_INFERRED, Origin.INFERRED):
            wanted = dict.fromkeys(aside.kb.triples(origin))
            held = dict.fromkeys(cycle.kb.triples(origin))
            added = tuple(triple for triple in wanted if triple not in held)
            removed = tuple(triple for triple in held if triple not in wanted)
            changes[origin] = Delta(now, added, removed)
            cycle.kb.apply(origin, changes[origin])
    _follow(cycle, changes[Origin.INFERRED], cause, left)
    cycle.reasoner.close()
    aside.reasoner.lifted = cycle.reasoner.lifted
    cycle.reasoner = aside.reasoner
    # Or a query that begins now would see the change twice, and a restart would lose it.
    cycle.queries.settle()
    cycle.queries.processor.renew()


def _follow(cycle: Cycle, inferred: Delta, cause: str, left: Iterable[Individual] = ()) -> None:
    now = cycle.window.now or 0
    cycle.inferences.follow(replace(inferred, time=now), cycle.window, cycle.kb, cause, left=left)
    cycle.inferences.settle()


def _by_message(window: Window) -> list[list[Triple]]:
    """What each message said of the window, in the order of their times."""
    parts: dict[tuple[Instant, int, str], list[Triple]] = {}
    for individual in window:
        for triple, said in individual.statements.items():
            parts.setdefault((said.time, len(said.message), said.message), []).append(triple)
    return [parts[key] for key in sorted(parts)]
