"""The axioms of ontologies as the OWL API reads them: ``python owlapi_axioms.py HOME FILE …``.

One JSON list of axioms for each file, in a Java process of its own. Equalities of more than two
members are split into pairs, and annotations and declarations are left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sensorstream.reasoning.dl.reasoner_worker import start_java


def main() -> None:
    start_java(Path(sys.argv[1]), 256)
    import jpype

    manager = jpype.JClass("org.semanticweb.owlapi.apibinding.OWLManager")
    for name in sys.argv[2:]:
        loading = manager.createOWLOntologyManager()
        ontology = loading.loadOntologyFromOntologyDocument(jpype.JClass("java.io.File")(name))
        axioms: set[str] = set()
        for axiom in ontology.getLogicalAxioms():
            split = getattr(axiom, "asPairwiseAxioms", None)
            equal = "Equivalent" in str(axiom) or "SameIndividual" in str(axiom)
            parts = split() if split is not None and equal else [axiom]
            axioms.update(str(part.getAxiomWithoutAnnotations()) for part in parts)
        print(json.dumps(sorted(axioms)))


if __name__ == "__main__":
    main()
