"""The systems that are measured: our engine in this process, its peers in processes of theirs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

import psutil

from benchmarks.paper.results import Step
from benchmarks.peers.process import Peer
from benchmarks.scenario import NAMESPACE, PHASES
from sensorstream.app.control.wiring import build_machine, read_deployment
from sensorstream.engine.outcome import Outcome
from sensorstream.kb.graph_index import Origin
from sensorstream.model import rdf
from sensorstream.model.events import Message, Status
from sensorstream.model.terms import IRI
from sensorstream.reasoning.dl.dl_reasoner import ResilientReasoner
from sensorstream.settings.settings import Settings

T = TypeVar("T")


class System(Protocol):
    """Takes messages in and says what each cost."""

    def steps(self, messages: Sequence[bytes]) -> list[Step]:
        """Process some messages, in order."""

    def types(self, individuals: Iterable[str]) -> dict[str, frozenset[str]]:
        """The named classes of the scenario's ontology that each individual is known to have."""

    def cpu(self) -> float:
        """CPU seconds so far of all its processes and threads."""

    def close(self) -> None:
        """End its processes."""


class Engine:
    """Our engine, without journal and network: what the paper calls process time."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.perf_counter) -> None:
        deployment = read_deployment(settings)
        machine, self._processes = _started_by(lambda: build_machine(deployment, clock))
        self.engine, self._mapper = machine.engine, machine.mapper
        self._number = 0
        self._asked = self._misses()

    def take(self, content: bytes) -> Outcome:
        """Take a message in.

        Raises:
            RuntimeError: it was not accepted, or the reasoner did not answer.
        """
        self._number += 1
        message = Message(f"m{self._number}", content, self._number)
        outcome = self.engine.take(self._mapper.map(message))
        if outcome.status is not Status.ACCEPTED:
            raise RuntimeError(f"{message.id} was {outcome.status.value}: {outcome.warnings}")
        if self.engine.degraded:
            raise RuntimeError(f"the reasoner is away: {self.engine.degraded}")
        return outcome

    def steps(self, messages: Sequence[bytes]) -> list[Step]:
        return [self._step(content) for content in messages]

    def types(self, individuals: Iterable[str]) -> dict[str, frozenset[str]]:
        kb = self.engine.kb
        return {
            name: frozenset(
                str(value)
                for _, _, value in kb.match(IRI(name), rdf.TYPE, None)
                if value.startswith(NAMESPACE)
            )
            for name in individuals
        }

    def individuals(self) -> list[str]:
        """The humans of the window."""
        humans = self.engine.kb.match(None, rdf.TYPE, IRI(f"{NAMESPACE}Human"))
        return [str(name) for name, _, _ in humans]

    def window(self) -> str:
        """The asserted triples of the window, as N-Triples."""
        triples = self.engine.kb.triples(Origin.WINDOW)
        return "".join(f"{s.n3} <{p}> {o.n3} .\n" for s, p, o in triples)

    def cpu(self) -> float:
        return time.process_time() + _cpu(self._processes)

    def close(self) -> None:
        self.engine.close()

    def _misses(self) -> int | None:
        """How often the reasoner's process had to be asked; None if there is no process."""
        reasoner = self.engine.reasoner
        return reasoner.memo.misses if isinstance(reasoner, ResilientReasoner) else None

    def _step(self, content: bytes) -> Step:
        outcome = self.take(content)
        asked = self._misses()
        remembered, self._asked = asked is not None and asked == self._asked, asked
        kb = self.engine.kb
        asserted = kb.size(Origin.STATIC) + kb.size(Origin.WINDOW)
        inferred = kb.size(Origin.INFERRED) + kb.size(Origin.STATIC_INFERRED)
        return Step(self._number, outcome.timings, asserted, asserted + inferred, remembered)


class PapersWay:
    """Jena and Pellet as the paper runs them (:mod:`benchmarks.peers.jena_pellet`)."""

    def __init__(
        self, ontology: str, kind: str, size: int, *, rebuilt: bool = False, listing: bool = False
    ) -> None:
        self._number = 0
        self._peer, self._processes = _started_by(lambda: Peer("jena_pellet"))
        try:
            self._peer.ask(
                "load", ontology=ontology, kind=kind, size=size, rebuilt=rebuilt, listing=listing
            )
        except BaseException:
            self._peer.close()
            raise

    def fill(self, messages: Sequence[bytes], first: int) -> None:
        """Bring messages in at once; the first of them is number ``first`` of the stream."""
        self._peer.ask("fill", messages=[each.decode() for each in messages])
        self._number = first + len(messages) - 1

    def steps(self, messages: Sequence[bytes]) -> list[Step]:
        answers = self._peer.ask("steps", messages=[each.decode() for each in messages])
        steps = []
        for answer in answers:
            self._number += 1
            seconds = {phase: answer[phase] for phase in PHASES}
            steps.append(Step(self._number, seconds, int(answer["statements"])))
        return steps

    def types(self, individuals: Iterable[str]) -> dict[str, frozenset[str]]:
        found = self._peer.ask("types", names=list(individuals))
        return {name: frozenset(types) for name, types in found.items()}

    def cpu(self) -> float:
        return _cpu(self._processes)

    def close(self) -> None:
        self._peer.close()


def _started_by(make: Callable[[], T]) -> tuple[T, list[psutil.Process]]:
    """What ``make`` returns, and the processes that it started."""
    before = set(psutil.Process().children(recursive=True))
    made = make()
    return made, [p for p in psutil.Process().children(recursive=True) if p not in before]


def _cpu(processes: Sequence[psutil.Process]) -> float:
    """CPU seconds so far of those that are there, threads of Java and children included."""
    spent = 0.0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            spent += sum(process.cpu_times()[:4])
    return spent
