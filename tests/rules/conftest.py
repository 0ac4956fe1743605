"""A host of semantic rules that is a window without bounds; conditions in step, or anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from sensorstream.kb.graph_index import KnowledgeBase, Origin
from sensorstream.language import parse
from sensorstream.model import rdf
from sensorstream.model.events import (
    Alert,
    Cleared,
    Delta,
    Departure,
    Event,
    Individual,
    Message,
    Provenance,
    net_delta,
)
from sensorstream.model.schema import Schema
from sensorstream.model.terms import IRI, Subject, Triple, term
from sensorstream.model.timeline import Timeline
from sensorstream.rules.continuous import ConditionEvaluator
from sensorstream.rules.rule_compiler import CompiledRule, compile_rules
from sensorstream.rules.rule_effects import RulesRun
from sensorstream.rules.rule_memory import RuleMemory, RuleMemoryChange
from sensorstream.rules.rule_rounds import RuleIndex, run_rules

HEAD = """\
prefix : <http://example.org/>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
"""
E = "http://example.org/"


@dataclass
class Host:
    """The window graph, with one implication: a Child is a Human (inferred)."""

    kb: KnowledgeBase = field(default_factory=KnowledgeBase)
    departures: list[Departure] = field(default_factory=list)
    applied: list[tuple[Event | None, tuple[Triple, ...]]] = field(default_factory=list)
    evaluator: ConditionEvaluator = field(init=False)

    def __post_init__(self) -> None:
        self.evaluator = ConditionEvaluator(self.kb)

    def stay(self, name: Subject) -> Individual | None:
        """Whoever has a type was last spoken of at time 1, by a message named after it."""
        if not any(self.kb.match(name, rdf.TYPE, None)):
            return None
        return Individual(name, 1, 0, 1, 0, f"m-{name.rpartition('/')[2]}")

    def said_by(self, triple: Triple) -> Sequence[str]:
        """Each statement has a message of its own, named after its subject."""
        return [f"m-{triple[0].rpartition('/')[2]}"]

    def apply(self, event: Event | None, removed: Sequence[Triple]) -> Delta:
        self.applied.append((event, tuple(removed)))
        added: tuple[Triple, ...] = ()
        replaced: list[Triple] = []
        time = 0
        if event is not None:
            added, time = event.triples, event.time
            replaced = [
                t for s, p in event.replaces for t in self.kb.match(s, p, None) if t not in added
            ]
        gone = [t for t in (*removed, *replaced) if t not in added]
        return self.change(Delta(time, added, tuple(gone)))

    def change(self, delta: Delta) -> Delta:
        told = self.kb.apply(Origin.WINDOW, delta)
        child, human = IRI(f"{E}Child"), IRI(f"{E}Human")

        def implied(triples: Sequence[Triple]) -> tuple[Triple, ...]:
            return tuple((s, rdf.TYPE, human) for s, p, o in triples if (p, o) == (rdf.TYPE, child))

        inferred = Delta(delta.time, implied(told.added), implied(told.removed))
        return net_delta(delta.time, [told, self.kb.apply(Origin.INFERRED, inferred)])


class RuleResult(NamedTuple):
    """What the rules made of one message."""

    news: RuleMemoryChange
    fired: tuple[str, ...]
    alerts: tuple[Alert, ...]
    replies: tuple[str, ...]
    warnings: tuple[str, ...]
    cleared: tuple[Cleared, ...]


class Play:
    """Rules on a stage: :meth:`say` is one message."""

    keeps_in_step = True

    def __init__(self, text: str, timeline: Timeline = Timeline.INTEGER, rounds: int = 16) -> None:
        file = parse(HEAD + text, "test.rules")
        self.rules: tuple[CompiledRule, ...] = compile_rules([file], Schema(), timeline)
        self.host = Host()
        # What it is not prepared for is evaluated anew.
        self.host.evaluator.prepare(rule.queries for rule in self.rules if self.keeps_in_step)
        self.memory = RuleMemory()
        self.rounds = rounds
        self.count = 0

    def say(
        self,
        *triples: str,
        remove: Sequence[str] = (),
        depart: Mapping[str, Sequence[str]] | None = None,
        time: int = 0,
        lost: bool = False,
    ) -> RuleResult:
        """One message that adds and removes triples, written ``a b c`` (terms of :).

        ``depart`` holds individuals that leave, each with what is known of it. A message that is
        ``lost`` is taken back afterwards.
        """
        before = set(self.host.kb.triples(Origin.WINDOW))
        self.count += 1
        message = Message(f"m{self.count}", b"", time)
        leaving = depart or {}
        gone = [triple(t) for t in remove]
        departures = []
        for name, told in leaving.items():
            about = [triple(f"{name} {each}") for each in told]
            gone += about
            statements = dict.fromkeys(about, Provenance("m0", 0))
            individual = Individual(IRI(E + name), 1, 0, 0, 0, "m0", statements)
            departures.append(Departure(individual, time))
        self.host.departures = departures
        delta = self.host.change(Delta(time, tuple(triple(t) for t in triples), tuple(gone)))
        said = {triple(t)[0] for t in triples}
        work = RulesRun(self.host, message, time, self.memory, said=said)
        run_rules(RuleIndex(self.rules), work, delta, tuple(departures), max_rounds=self.rounds)
        if lost:
            after = set(self.host.kb.triples(Origin.WINDOW))
            self.host.change(Delta(time, tuple(before - after), tuple(after - before)))
        else:
            self.memory.keep(time, work.news)
        return RuleResult(
            work.news,
            tuple(work.fired),
            tuple(work.alerts),
            tuple(work.replies),
            tuple(work.warnings),
            tuple(work.cleared),
        )

    def window(self) -> set[str]:
        """The window graph, written as :meth:`say` takes it."""
        return {written(t) for t in self.host.kb.triples(Origin.WINDOW)}


def triple(text: str) -> Triple:
    s, p, o = text.split(" ", 2)
    value = term(o) if o.startswith(('"', "<")) else IRI(E + o)
    return IRI(E + s), rdf.TYPE if p == "a" else IRI(E + p), value


def written(each: Triple) -> str:
    s, p, o = each
    predicate = "a" if p == rdf.TYPE else p.removeprefix(E)
    return f"{s.removeprefix(E)} {predicate} {o.removeprefix(E)}"


class AnewPlay(Play):
    """Rules whose conditions are evaluated anew each time."""

    keeps_in_step = False


@pytest.fixture(scope="session", params=[Play, AnewPlay], ids=["network", "anew"])
def play(request: pytest.FixtureRequest) -> type[Play]:
    """Make a stage: ``play("rule …").say("ann a Human")``."""
    stage: type[Play] = request.param
    return stage
