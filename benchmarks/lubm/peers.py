"""The closure of a university by OWL 2 RL, and by engines of others; their answers are compared."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyoxigraph as ox

from benchmarks.lubm.files import Reader, line_of, ontology
from benchmarks.lubm.generator import QUERIES
from benchmarks.lubm.standing import Standing
from benchmarks.peers.process import Peer, PeerFailed
from sensorstream.reasoning.ontology import to_ntriples
from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules

PEERS: Final[Sequence[tuple[str, str, str, dict[str, str]]]] = (
    ("reasonable", "closures", "reasonable", {}),
    ("Jena, OWLMicro", "jena_rules", "close", {"reasoner": "OWLMicro"}),
    ("Jena, OWLMini", "jena_rules", "close", {"reasoner": "OWLMini"}),
    ("Jena, OWL", "jena_rules", "close", {"reasoner": "OWL"}),
    ("owlrl", "closures", "owlrl", {}),
)


@dataclass(frozen=True, slots=True)
class Closure:
    """CPU seconds to close a graph, the triples then, and the solutions of each query.

    ``failure`` says why there are none.
    """

    name: str
    seconds: float = 0.0
    triples: int = 0
    solutions: tuple[int, ...] = ()
    failure: str = ""


def ours(events: Sequence[str]) -> Closure:
    """By the rule set ``owl2rl``: the departments come one after the other, and stay."""
    standing = Standing(RuleReasoner(bundled_rules("owl2rl")), ontology(), QUERIES)
    reader, lines = Reader(), [line_of(event) for event in events]
    begun = time.process_time()
    for line in lines:
        standing.come(reader.read(line))
    seconds = time.process_time() - begun
    return Closure("owl2rl, 14 queries standing", seconds, len(standing.kb), tuple(standing.found))


def theirs(events: Sequence[str], wait: float, without: Collection[str] = ()) -> Iterator[Closure]:
    """By the others, each in a process of its own; nobody is waited for longer than ``wait`` s.

    ``without`` are names of engines that are not asked.
    """
    with TemporaryDirectory(prefix="sensorstream-bench-") as name:
        source = Path(name) / "university.ttl"
        source.write_bytes(to_ntriples(ontology().triples) + "".join(events).encode())
        for title, module, operation, options in PEERS:
            if title in without:
                continue
            target = Path(name) / "closed.nt"
            with closing(Peer(module)) as peer:
                try:
                    told = peer.ask(
                        operation, seconds=wait, source=str(source), target=str(target), **options
                    )
                except PeerFailed as failed:
                    yield Closure(title, failure=str(failed))
                    continue
            yield Closure(title, told["seconds"], told["triples"], _solutions(target))


def _solutions(file: Path) -> tuple[int, ...]:
    store = ox.Store()
    store.bulk_load(path=file, format=ox.RdfFormat.N_TRIPLES, lenient=True)
    found = []
    for text in QUERIES:
        solutions = store.query(text)
        assert isinstance(solutions, ox.QuerySolutions)
        found.append(sum(1 for _ in solutions))
    return tuple(found)
