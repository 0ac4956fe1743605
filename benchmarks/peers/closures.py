"""OWL 2 RL engines of others in Python: owlrl and reasonable, each over a whole graph at once."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks.peers.process import serve


def owlrl(source: str, target: str) -> dict[str, Any]:
    """Close a file of N-Triples into another one; CPU seconds without reading and writing."""
    import owlrl as engine
    import rdflib

    graph = rdflib.Graph(bind_namespaces="none")
    graph.parse(source, format="nt")
    begun = time.process_time()
    closure = engine.DeductiveClosure(
        engine.OWLRL_Semantics, axiomatic_triples=False, datatype_axioms=False
    )
    closure.expand(graph)
    seconds = time.process_time() - begun
    # Its triples about literals and its messages are no RDF.
    kept = (
        f"{s.n3()} {p.n3()} {o.n3()} .\n"
        for s, p, o in graph
        if isinstance(s, rdflib.URIRef | rdflib.BNode) and isinstance(p, rdflib.URIRef)
    )
    Path(target).write_text("".join(kept), encoding="utf-8")
    return {"seconds": seconds, "triples": len(graph)}


def reasonable(source: str, target: str) -> dict[str, Any]:
    """Close a file of N-Triples into another one; CPU seconds without reading and writing."""
    import rdflib
    from reasonable import PyReasoner

    reasoner = PyReasoner()
    reasoner.load_file(source)
    begun = time.process_time()
    found = reasoner.reason()
    seconds = time.process_time() - begun
    kept = (
        f"{s.n3()} {p.n3()} {o.n3()} .\n" for s, p, o in found if not isinstance(s, rdflib.Literal)
    )
    Path(target).write_text("".join(kept), encoding="utf-8")
    return {"seconds": seconds, "triples": len(found)}


if __name__ == "__main__":
    serve({"owlrl": owlrl, "reasonable": reasonable})
