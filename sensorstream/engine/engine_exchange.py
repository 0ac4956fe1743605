"""The exchange of ontology, reasoner, rules, filters and policies between two messages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sensorstream.engine.engine_state import Core
from sensorstream.engine.inferences import latest_message
from sensorstream.engine.message_filters import EntryFilter
from sensorstream.engine.message_run import MessageRun
from sensorstream.engine.message_stages import tell_queries
from sensorstream.engine.notices import restored_ends
from sensorstream.engine.outcome import Outcome, Timings
from sensorstream.engine.shedding import Shedding
from sensorstream.errors import Inconsistent, Overrun
from sensorstream.kb.graph_index import Origin
from sensorstream.model.events import Delta, Departure, Individual, Message, Status
from sensorstream.model.terms import Triple
from sensorstream.model.timeline import Instant
from sensorstream.reasoning.dl.dl_reasoner import ResilientReasoner
from sensorstream.reasoning.reasoner import Aside, without_limits
from sensorstream.rules.continuous import unlimited
from sensorstream.rules.rule_compiler import CompiledRule
from sensorstream.rules.rule_rounds import RuleIndex
from sensorstream.window.window import Window


def degrade(core: Core, reason: str) -> None:
    """Go on with the plain profile, as if the reasoner had failed."""
    if isinstance(core.reasoner, ResilientReasoner):
        inferred = core.reasoner.degrade(core.kb, reason)
        _follow(core, inferred, latest_message(core.window))


def adopt(
    core: Core,
    aside: Aside,
    rules: Sequence[CompiledRule],
    filters: Sequence[EntryFilter],
    shedding: Shedding | None,
    cause: str,
    left: Iterable[Individual] = (),
) -> None:
    """Exchange ontology, reasoner, rules, filters and policies between two messages.

    Static and inferred graph become those of ``aside``; window and memories stay. No rule runs: new
    axioms count from the next message on. Messages that wait were mapped already. ``cause`` is the
    id of the journal's entry, ``left`` are the individuals that it took out of the window.

    Raises:
        Inconsistent: the window contradicts the new ontology; nothing was changed.
        ReasonerError: the new reasoner failed; the same.
    """
    aside.follow(core.kb.triples(Origin.WINDOW))
    _exchange(core, aside, cause, left)
    adopt_rules(core, rules)
    core.filters = tuple(filters)
    if core.shedder is not None and shedding is not None:
        # The load and what has been shed go on.
        core.shedder.shedding = shedding


def adopt_rules(core: Core, rules: Sequence[CompiledRule], received: Instant | None = None) -> None:
    """Exchange the semantic rules; the window stays, and no rule runs now.

    The memory of a rule belongs to its name. A rule that is evaluated every so often begins anew if
    that time has changed, for its ticks were counted in the old one; one that waits, if anything of
    its trigger has changed. ``received`` is the time of arrival: a new rule has no moments from
    before it.
    """
    before = {rule.name: (rule.every, rule.waits) for rule in core.rules.rules}
    core.rules = RuleIndex(rules)
    core.evaluator.prepare(rule.queries for rule in rules)
    same = {rule.name for rule in rules if before.get(rule.name) == (rule.every, rule.waits)}
    core.memory.forget_but(same)
    _begin(core, received)
    core.dropped += core.notices.dropped({rule.name for rule in rules})


def _begin(core: Core, received: Instant | None) -> None:
    """Let new rules with moments of their own count from the present on, if it is known."""
    if core.window.now is None:
        return
    present = core.present(core.window.now)
    by_clock = None if received is None else core.clock.present(received)
    if by_clock is not None and core.clock.for_rules:
        present = max(present, by_clock)
    for rule in core.rules.rules:
        if rule.punctual and rule.every is not None:
            core.memory.ticks.setdefault(rule.name, rule.every.number(present))


def readmit(core: Core, message: Message, aside: Aside) -> Outcome:
    """Exchange a reasoner that failed for the new one of ``aside``, which catches up with the
    window. Statements that were taken in without it and contradict the ontology leave the window
    for history, message by message in the order of their times. No rule runs; ``message`` is the
    entry of this event. Raises ReasonerError if the new one failed as well; nothing was changed.
    """
    expelled, outcome = _give_way(core, message, aside)
    _exchange(core, aside, message.id, (each.individual for each in outcome.departures))
    outcome.alerts = core.notices.restored(message, expelled, core.now)
    outcome.cleared = restored_ends(outcome.alerts[0])
    return core.with_queries(outcome)


def give_way(core: Core, message: Message, aside: Aside, whose: str) -> Outcome:
    """Take the statements out of the window that contradict another ontology, or that its rule sets
    cannot follow, before it is adopted; see :func:`readmit`. ``whose`` names the window.

    Raises:
        ReasonerError: the new reasoner failed; nothing was changed.
    """
    expelled, outcome = _give_way(core, message, aside)
    if expelled:
        outcome.alerts = core.notices.gave_way(message, whose, expelled, core.now)
    return outcome


def _give_way(core: Core, message: Message, aside: Aside) -> tuple[list[Triple], Outcome]:
    """The statements that have left the window, and what has left history gets."""
    expelled: list[Triple] = []
    try:
        aside.follow(core.kb.triples(Origin.WINDOW))
    except (Inconsistent, Overrun):
        aside.follow(())
        expelled = aside.admit(_by_message(core.window))
    now = message.received if core.window.now is None else core.window.now
    change = core.window.retract(expelled, now)
    core.kb.apply(Origin.WINDOW, change.delta)
    for triple, (_, graphs) in change.graphs.items():
        core.kb.place(triple, graphs)
    aside.follow(core.kb.triples(Origin.WINDOW))
    departures = tuple(Departure(each, now) for each in change.departures)
    ended = tuple(change.ended)
    return expelled, Outcome(message, Status.ACCEPTED, departures=departures, ended=ended)


def expel(core: Core, stays: Collection[int]) -> None:
    """Take individuals out of the window whose departure is in history already. Only rules and
    queries see it: history does not get it twice.
    """
    gone = [t for each in core.window if each.stay in stays for t in each.statements]
    if not gone:
        return
    run = MessageRun(core, latest_message(core.window), Timings())
    with unlimited(core.evaluator), without_limits(core.reasoner):
        run.apply(None, gone)
    tell_queries(core, run, core.window.now or 0)
    core.inferences.take_ended()


def _exchange(core: Core, aside: Aside, cause: str, left: Iterable[Individual] = ()) -> None:
    now = core.window.now or 0
    changes: dict[Origin, Delta] = {}
    with unlimited(core.evaluator):
        for origin in (Origin.STATIC, Origin.STATIC_INFERRED, Origin.INFERRED):
            wanted = dict.fromkeys(aside.kb.triples(origin))
            held = dict.fromkeys(core.kb.triples(origin))
            added = tuple(triple for triple in wanted if triple not in held)
            removed = tuple(triple for triple in held if triple not in wanted)
            changes[origin] = Delta(now, added, removed)
            core.kb.apply(origin, changes[origin])
    _follow(core, changes[Origin.INFERRED], cause, left)
    core.reasoner.close()
    aside.reasoner.lifted = core.reasoner.lifted
    core.reasoner = aside.reasoner
    # Or a query that begins now would see the change twice, and a restart would lose it.
    core.queries.settle()
    core.queries.processor.renew()


def _follow(core: Core, inferred: Delta, cause: str, left: Iterable[Individual] = ()) -> None:
    now, subjects = core.window.now or 0, {t[0]: None for each in left for t in each.statements}
    core.inferences.follow(now, inferred, core.window, core.kb, cause, [], subjects)


def _by_message(window: Window) -> list[list[Triple]]:
    """The statements of each message in the window, in the order of the messages' times."""
    parts: dict[tuple[Instant, int, str], list[Triple]] = {}
    for individual in window:
        for triple, said in individual.statements.items():
            parts.setdefault((said.time, len(said.message), said.message), []).append(triple)
    return [parts[key] for key in sorted(parts)]
