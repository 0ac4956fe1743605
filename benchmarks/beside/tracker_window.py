"""The paper's messages: beside lxml with a dict, beside the paper's way, and the naive one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from statistics import mean
from typing import Final

from benchmarks.beside.turns import Pair, agree, as_a_server, timed
from benchmarks.floor import ways
from benchmarks.paper.systems import Engine, PapersWay, System
from benchmarks.peers.process import Peer
from benchmarks.scenario import PHASES, SLIDING, deployment, paper_ontology
from sensorstream.cli.simulation.tracker_messages import tracker_messages
from sensorstream.kb.graph_index import Origin
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


@contextmanager
def window_of(profile: str) -> Iterator[tuple[Engine, Iterator[bytes]]]:
    """Our engine with a full window, and the messages that come next."""
    stream = tracker_messages()
    settings = deployment(profile, SLIDING, SIZE)
    with closing(Engine(settings, time.thread_time)) as engine:
        for content in islice(stream, SIZE):
            engine.take(content)
        yield engine, stream


def turn(system: System, stream: Iterator[bytes], size: int) -> float:
    """CPU seconds a message, those of other processes included."""
    messages = list(islice(stream, size))
    begun = system.cpu()
    system.steps(messages)
    return (system.cpu() - begun) / size


@contextmanager
def beside_papers_way(profile: str, size: int) -> Iterator[Pair]:
    """Beside Jena with Pellet over one model, as the paper runs them; the same types come out."""
    ontology = to_ntriples(parse_ontology(paper_ontology().read_bytes(), "text/turtle").triples)
    with (
        closing(PapersWay(ontology.decode(), SLIDING, SIZE)) as peer,
        window_of(profile) as (mine, stream),
    ):
        theirs = tracker_messages()
        peer.fill(list(islice(theirs, SIZE)), 1)
        mine.steps(list(islice(stream, _PEER_STEPS)))
        peer.steps(list(islice(theirs, _PEER_STEPS)))
        ours = mine.types(mine.individuals())
        agree("types", ours, peer.types(ours))
        yield Pair(lambda: turn(mine, stream, size), lambda: turn(peer, theirs, _PEER_STEPS))


@contextmanager
def beside_owlready(reasoner: str, size: int) -> Iterator[Pair]:
    """Beside owlready2's ``sync_reasoner_*`` on the whole window, anew for every message."""
    with closing(Peer("owlready")) as peer, window_of(reasoner) as (mine, stream):

        def theirs() -> float:
            kb, types = mine.engine.kb, mine.types(mine.individuals())
            triples = to_ntriples([*kb.triples(Origin.STATIC), *kb.triples(Origin.WINDOW)])
            told = peer.ask(
                "reason", triples=triples.decode(), individuals=list(types), reasoner=reasoner
            )
            found = {name: frozenset(kinds) for name, kinds in told["types"].items()}
            agree("types", types, found)
            return float(told["cpu"])

        yield Pair(lambda: turn(mine, stream, size), theirs)


def phases(profile: str, messages: int) -> dict[str, float]:
    """Microseconds of this thread for a message, by phase of the paper's equation (10)."""
    with window_of(profile) as (mine, stream), as_a_server():
        steps = mine.steps(list(islice(stream, messages)))
        return {
            phase: 1e6 * mean(step.seconds.get(phase, 0.0) for step in steps) for phase in PHASES
        }
