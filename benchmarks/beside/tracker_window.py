"""The paper's messages: beside lxml with a dict, beside the paper's way, and the naive one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from statistics import mean
from typing import Any, Final

import psutil

from benchmarks.beside.turns import Pair, agree, as_a_server, timed
from benchmarks.floor import ways
from benchmarks.peers.process import Peer
from benchmarks.scenario import NAMESPACE, PHASES, SLIDING, deployment, paper_ontology
from sensorstream.app.control.wiring import build_machine, read_deployment
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.kb.graph_index import Origin
from sensorstream.model import rdf
from sensorstream.model.events import Message, Status
from sensorstream.model.terms import IRI
from sensorstream.reasoning.ontology import parse_ontology, to_ntriples

SIZE: Final = 191
"""Individuals in the window: the smallest of the paper's table 1."""
_PEER_STEPS: Final = 5


@contextmanager
def beside_floor(way: str, size: int) -> Iterator[Pair]:
    """A way of :mod:`benchmarks.floor` beside the floor; ``size`` messages a turn."""
    measured, stream = ways(), tracker_messages()
    for content in islice(stream, 2 * SIZE):
        for each in ("floor", "engine"):
            measured[each](content)

    def turn(name: str) -> float:
        messages, take = list(islice(stream, size)), measured[name]

        def all_of_them() -> None:
            for content in messages:
                take(content)

        return timed(all_of_them, size)()

    yield Pair(lambda: turn(way), lambda: turn("floor"))


class Engine:
    """Our engine with a profile, without journal and network: the paper's process time."""

    def __init__(self, profile: str, size: int = SIZE) -> None:
        before = set(psutil.Process().children(recursive=True))
        settings = deployment(profile, SLIDING, size)
        machine = build_machine(read_deployment(settings), time.thread_time)
        self.engine, self._mapper = machine.engine, machine.mapper
        self._processes = [
            each for each in psutil.Process().children(recursive=True) if each not in before
        ]
        self._stream = tracker_messages()
        self.phases: dict[str, list[float]] = {phase: [] for phase in PHASES}
        self._number = 0
        self.take(size)

    def take(self, count: int) -> list[str]:
        """Take messages in, and return them."""
        messages = list(islice(self._stream, count))
        for content in messages:
            self._number += 1
            message = Message(f"m{self._number}", content, self._number)
            outcome = self.engine.take(self._mapper.map(message))
            if outcome.status is not Status.ACCEPTED:
                raise RuntimeError(f"{message.id} was {outcome.status.value}: {outcome.warnings}")
            for phase, spent in self.phases.items():
                spent.append(outcome.timings.get(phase, 0.0))
        return [each.decode() for each in messages]

    def turn(self, count: int) -> float:
        """CPU seconds a message, the reasoner's process included."""
        begun = time.process_time() + cpu(self._processes)
        self.take(count)
        return (time.process_time() + cpu(self._processes) - begun) / count

    def types(self) -> dict[str, set[str]]:
        """The classes of the paper's ontology of each human in the window."""
        kb = self.engine.kb
        return {
            str(name): {
                str(kind)
                for _, _, kind in kb.match(name, rdf.TYPE, None)
                if str(kind).startswith(NAMESPACE)
            }
            for name, _, _ in kb.match(None, rdf.TYPE, IRI(f"{NAMESPACE}Human"))
        }

    def close(self) -> None:
        """End its processes."""
        self.engine.close()


def cpu(processes: list[psutil.Process]) -> float:
    """CPU seconds so far of those that are there, threads of Java and children included."""
    spent = 0.0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            spent += sum(process.cpu_times()[:4])
    return spent


@contextmanager
def beside_papers_way(profile: str, size: int) -> Iterator[Pair]:
    """Beside Jena with Pellet over one model, as the paper runs them; the same types come out."""
    ontology = to_ntriples(parse_ontology(paper_ontology().read_bytes(), "text/turtle").triples)
    before = set(psutil.Process().children(recursive=True))
    with closing(Peer("jena_pellet")) as peer:
        there = [p for p in psutil.Process().children(recursive=True) if p not in before]
        window: dict[str, Any] = {"kind": SLIDING, "size": SIZE, "rebuilt": False, "listing": False}
        peer.ask("load", ontology=ontology.decode(), **window)
        stream = (each.decode() for each in tracker_messages())
        peer.ask("fill", messages=list(islice(stream, SIZE)))
        with closing(Engine(profile)) as mine:
            messages = mine.take(_PEER_STEPS)
            peer.ask("steps", messages=list(islice(stream, len(messages))))
            ours = mine.types()
            found = peer.ask("types", names=list(ours))
            agree("types", ours, {name: set(kinds) for name, kinds in found.items()})

            def theirs() -> float:
                begun = cpu(there)
                peer.ask("steps", messages=list(islice(stream, _PEER_STEPS)))
                return (cpu(there) - begun) / _PEER_STEPS

            yield Pair(lambda: mine.turn(size), theirs)


@contextmanager
def beside_owlready(reasoner: str, size: int) -> Iterator[Pair]:
    """Beside owlready2's ``sync_reasoner_*`` on the whole window, anew for every message."""
    with closing(Peer("owlready")) as peer, closing(Engine(reasoner)) as mine:

        def theirs() -> float:
            kb, types = mine.engine.kb, mine.types()
            triples = to_ntriples([*kb.triples(Origin.STATIC), *kb.triples(Origin.WINDOW)])
            told = peer.ask(
                "reason", triples=triples.decode(), individuals=list(types), reasoner=reasoner
            )
            agree("types", types, {name: set(kinds) for name, kinds in told["types"].items()})
            return float(told["cpu"])

        yield Pair(lambda: mine.turn(size), theirs)


def phases(profile: str, messages: int) -> dict[str, float]:
    """Microseconds of this thread for a message, by phase of the paper's equation (10)."""
    with closing(Engine(profile)) as mine, as_a_server():
        for spent in mine.phases.values():
            spent.clear()
        mine.take(messages)
        return {phase: 1e6 * mean(spent) for phase, spent in mine.phases.items()}
