"""What other rules would make of recent messages, beside what the present ones make of them.

Both are tried on engines of their own with empty windows, so that the running one is not touched.
HermiT and Pellet are replaced by the plain profile: a second Java would cost seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import Final

from sensorstream.app.wiring import Deployment, Machine, build_machine
from sensorstream.engine.arrival import Arrived
from sensorstream.errors import SensorStreamError
from sensorstream.journal.effects import in_order
from sensorstream.journal.records import Record
from sensorstream.model.terms import Triple

MOST_MESSAGES: Final = 100
MOST_BYTES: Final = 16 * 1024 * 1024
"""What a trial may hold of the journal."""
_SECONDS: Final = 10.0
"""Someone waits for the answer, and the engine gets less of the processor meanwhile."""
_MOST_DIFFERENCES: Final = 20
_MOST_STATEMENTS: Final = 50


@dataclass(slots=True)
class Effect:
    """What became of a message: ``reason`` is why it was not taken in, ``matched`` mapping rules.

    ``statements`` are what the mapping rules made of it, as N-Triples without the full stop;
    ``alerts`` those that it led to, as "severity rule: text".
    """

    status: str = "held"
    reason: str = ""
    matched: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    alerts: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Difference:
    """A message that the rules that were tried treat in another way.

    Of the statements only those of one side are kept, and of those the first 50.
    """

    message: str
    before: Effect
    after: Effect


@dataclass(frozen=True, slots=True)
class RuleTrial:
    """``messages`` were tried, ``different`` of them had another effect; the first ones are here.

    If rules are at fault, ``faults`` has all of them, and nothing was tried.
    """

    faults: tuple[SensorStreamError, ...] = ()
    messages: int = 0
    different: int = 0
    differences: tuple[Difference, ...] = ()


def try_rules(
    now: Deployment, new: Deployment, records: Sequence[Record], counter: Callable[[], float]
) -> RuleTrial:
    """Try the rules of two deployments on messages, in order, for some seconds at most.

    ``counter`` gives seconds, as :meth:`sensorstream.clock.Clock.counter` does.

    Raises:
        ReasonerError: a reasoner does not start.
    """
    with ExitStack() as stack:
        sides = (_Side(stack, now, counter), _Side(stack, new, counter))
        end = counter() + _SECONDS
        done = 0
        for record in records:
            if counter() > end:
                break
            for side in sides:
                side.take(record)
            done += 1
        before, after = (side.effects for side in sides)
        different = [each for each in before if before[each] != after.get(each)]
        shown = different[:_MOST_DIFFERENCES]
        return RuleTrial(
            messages=done,
            different=len(different),
            differences=tuple(_difference(each, before[each], after[each]) for each in shown),
        )


class _Side:
    """An engine, and the effects of the messages that it has taken, by their ids."""

    def __init__(
        self, stack: ExitStack, deployment: Deployment, counter: Callable[[], float]
    ) -> None:
        settings = deployment.settings
        if settings.reasoning.profile in ("hermit", "pellet"):
            plain = replace(settings.reasoning, profile="plain")
            deployment = replace(deployment, settings=replace(settings, reasoning=plain))
        self._machine: Machine = build_machine(deployment, counter)
        stack.enter_context(closing(self._machine.engine))
        self.effects: dict[str, Effect] = {}

    def take(self, record: Record) -> None:
        arrived = self._machine.mapper.map(record.message)
        effect = self.effects[record.message.id] = Effect()
        if isinstance(arrived, Arrived):
            events = arrived.mapped.events
            said = {_line(triple) for event in events for triple in event.triples}
            effect.statements = tuple(sorted(said))
        for outcome in in_order(self._machine.engine.take(arrived)):
            # Messages that waited are told when they are released.
            told = self.effects.get(outcome.message.id, effect)
            told.status = outcome.status.value
            told.reason = "" if outcome.rejection is None else str(outcome.rejection)
            told.matched = outcome.matched or told.matched
            told.alerts += (f"{each.severity} {each.rule}: {each.text}" for each in outcome.alerts)


def _difference(message: str, before: Effect, after: Effect) -> Difference:
    common = set(before.statements) & set(after.statements)
    return Difference(message, _without(before, common), _without(after, common))


def _without(effect: Effect, common: set[str]) -> Effect:
    own = [each for each in effect.statements if each not in common]
    return replace(effect, statements=tuple(own[:_MOST_STATEMENTS]))


def _line(triple: Triple) -> str:
    return " ".join(term.n3 for term in triple)
