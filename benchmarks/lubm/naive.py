"""The naive loop: the rules as SPARQL Update on Oxigraph, again and again until nothing is new.

What is derived is never taken back: after a change, everything is derived anew.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import pyoxigraph as ox

from benchmarks.lubm.files import RULES, SCHEMA


def updates() -> list[str]:
    """The updates of the rule set, each with the prefixes."""
    lines = [
        line for line in RULES.read_text(encoding="utf-8").split("\n") if not line.startswith("#")
    ]
    prefixes = "\n".join(line for line in lines if line.startswith("PREFIX"))
    bodies = "\n".join(line for line in lines if not line.startswith("PREFIX"))
    return [f"{prefixes}\n{each}" for each in re.split(r";\n", f"{bodies}\n") if each.strip()]


class NaiveLoop:
    """Oxigraph, a store for each event or one for all; ``seconds`` of CPU so far."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._updates = updates()
        store = ox.Store()
        store.bulk_load(SCHEMA.read_bytes(), ox.RdfFormat.TURTLE)
        self._close(store)
        self._schema = ox.serialize(store, format=ox.RdfFormat.N_QUADS)
        assert self._schema is not None
        self._store = store

    def answer(self, data: bytes, queries: Sequence[str]) -> list[int]:
        """Load an event, close it, ask; how many solutions each query has."""
        begun = time.process_time()
        self._load(data)
        found = []
        for text in queries:
            solutions = self._store.query(text)
            assert isinstance(solutions, ox.QuerySolutions)
            found.append(sum(1 for _ in solutions))
        self.seconds += time.process_time() - begun
        return found

    def change(self, data: bytes) -> float:
        """Add to what was loaded, and close it again; the CPU seconds of that."""
        begun = time.process_time()
        self._store.load(data, ox.RdfFormat.N_TRIPLES)
        self._close(self._store)
        return time.process_time() - begun

    def _load(self, data: bytes) -> None:
        self._store = ox.Store()
        assert self._schema is not None
        self._store.bulk_load(self._schema, ox.RdfFormat.N_QUADS)
        self._store.bulk_load(data, ox.RdfFormat.N_TRIPLES)
        self._close(self._store)

    def _close(self, store: ox.Store) -> None:
        size = -1
        while size != len(store):
            size = len(store)
            for update in self._updates:
                store.update(update)
