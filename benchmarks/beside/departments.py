"""Rule sets on LUBM: departments of some 6,840 statements, each an event; 14 queries stand."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyoxigraph as ox

from benchmarks.beside.turns import Pair, agree, as_a_server
from benchmarks.lubm.files import Reader, line_of, minimal, ontology
from benchmarks.lubm.generator import QUERIES, department, materialised, text_of
from benchmarks.lubm.naive import NaiveLoop
from benchmarks.lubm.standing import Standing
from benchmarks.peers.process import Peer
from sensorstream.reasoning.ontology import to_ntriples
from sensorstream.reasoning.reasoner import Reasoner, SchemaClosure
from sensorstream.reasoning.rulesets.rule_reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set_reader import bundled_rules


def reasoner(profile: str) -> Reasoner:
    """The reasoner of a profile; ``minimal`` are the rules that the queries need."""
    if profile == "plain":
        return SchemaClosure(ontology().schema)
    return RuleReasoner(minimal() if profile == "minimal" else bundled_rules(profile))


def come(
    profile: str, events: Sequence[str], *, stay: bool, queries: Sequence[str] = QUERIES
) -> tuple[float, Standing]:
    """CPU seconds for events to come, reading included: they all stay, or replace each other."""
    standing, reader = Standing(reasoner(profile), ontology(), queries), Reader()
    lines = [line_of(event) for event in events]
    begun = time.process_time()
    for line in lines:
        said = reader.read(line)
        if stay:
            standing.come(said)
        else:
            standing.replace(said)
    return time.process_time() - begun, standing


@contextmanager
def closure_beside(
    module: str, operation: str, options: dict[str, Any], size: int
) -> Iterator[Pair]:
    """OWL 2 RL of so many statements, queries and reading included here; elsewhere closed only."""
    text = "".join(text_of(department(0)).splitlines(keepends=True)[:size])
    with TemporaryDirectory() as name, closing(Peer(module)) as peer:
        source, target = Path(name) / "said.ttl", Path(name) / "closed.nt"
        source.write_bytes(to_ntriples(ontology().triples) + text.encode())

        def theirs() -> float:
            told = peer.ask(operation, source=str(source), target=str(target), **options)
            return float(told["seconds"]) / size

        theirs()  # Java is warm then.
        _, standing = come("owl2rl", [text], stay=True)
        if module != "closures" or operation != "owlrl":
            agree("solutions", standing.found, solutions(target))
        yield Pair(lambda: come("owl2rl", [text], stay=True)[0] / size, theirs)


def solutions(file: Path) -> list[int]:
    """How many each query has in a file of N-Triples."""
    store = ox.Store()
    store.bulk_load(path=file, format=ox.RdfFormat.N_TRIPLES, lenient=True)
    return _answers(store)


def _answers(store: ox.Store) -> list[int]:
    found = []
    for text in QUERIES:
        answer = store.query(text)
        assert isinstance(answer, ox.QuerySolutions)
        found.append(sum(1 for _ in answer))
    return found


@contextmanager
def rules_beside_updates(size: int) -> Iterator[Pair]:
    """Eleven rules, each department in the place of the one before; beside SPARQL Update on
    Oxigraph until nothing is new.
    """
    events = [text_of(department(number)) for number in range(size)]
    count = sum(each.count("\n") for each in events)

    def theirs() -> float:
        loop = NaiveLoop()
        found = [loop.answer(each.encode(), QUERIES) for each in events]
        agree("solutions", standing.found, [sum(each) for each in zip(*found, strict=True)])
        return loop.seconds / count

    _, standing = come("minimal", events, stay=False)
    yield Pair(lambda: come("minimal", events, stay=False)[0] / count, theirs)


@contextmanager
def queries_beside_oxigraph(size: int) -> Iterator[Pair]:
    """Nothing to infer: 14 queries over each department, beside Oxigraph that loads and asks."""
    events = [text_of(materialised(department(number))) for number in range(size)]
    count = sum(each.count("\n") for each in events)

    def theirs() -> float:
        found, begun = [0] * len(QUERIES), time.process_time()
        for each in events:
            store = ox.Store()
            store.bulk_load(each.encode(), ox.RdfFormat.N_TRIPLES)
            found = [one + other for one, other in zip(found, _answers(store), strict=True)]
        spent = time.process_time() - begun
        agree("solutions", standing.found, found)
        return spent / count

    _, standing = come("plain", events, stay=False)
    yield Pair(lambda: come("plain", events, stay=False)[0] / count, theirs)


def phases(profile: str, size: int) -> dict[str, float]:
    """Microseconds of a statement of departments that stay: read, written, reasoned, answered."""
    events = [text_of(department(number)) for number in range(size)]
    count = sum(each.count("\n") for each in events)
    with as_a_server():
        # Joins run as soon as the window is written: without queries is told apart.
        bare, standing = min(
            (come(profile, events, stay=True, queries=()) for _ in range(3)),
            key=lambda found: found[0],
        )
        whole = min(come(profile, events, stay=True)[0] for _ in range(3))
    times = standing.times
    parts = (bare - times.together, times.written, times.reasoned, whole - bare)
    named = zip(("read", "written", "reasoned", "answered"), parts, strict=True)
    return {name: 1e6 * each / count for name, each in named}
