"""All that HermiT derives about the individuals of one document, in one run from nothing.

Runs in a process with a Java virtual machine.
"""

from __future__ import annotations

from typing import Any

from sensorstream.model.vocabulary import OWL_SAME_AS, RDF_TYPE
from sensorstream.reasoning.dl.protocol import Realised


def realise(document: str) -> Realised:
    """Types, links and equality of every named individual of an N-Triples document."""
    import jpype

    java = jpype.JClass
    stream = java("java.io.ByteArrayInputStream")(document.encode())
    manager = java("org.semanticweb.owlapi.apibinding.OWLManager").createOWLOntologyManager()
    ontology = manager.loadOntologyFromOntologyDocument(
        jpype.JObject(stream, "java.io.InputStream")
    )
    configuration = java("org.semanticweb.HermiT.Configuration")()
    configuration.ignoreUnsupportedDatatypes = True
    reasoner = java("org.semanticweb.HermiT.Reasoner")(configuration, ontology)
    if not reasoner.isConsistent():
        return Realised(None)
    inference = java("org.semanticweb.owlapi.reasoner.InferenceType")
    reasoner.precomputeInferences(
        inference.CLASS_ASSERTIONS, inference.OBJECT_PROPERTY_ASSERTIONS, inference.SAME_INDIVIDUAL
    )
    properties = [p for p in ontology.getObjectPropertiesInSignature() if not p.isTopEntity()]
    found: list[tuple[str, str, str]] = []
    for one in ontology.getIndividualsInSignature():
        name = _name(one)
        for each in reasoner.getTypes(one, False).getFlattened():
            if not each.isOWLThing():
                found.append((name, RDF_TYPE, _name(each)))
        for each in reasoner.getSameIndividuals(one).getEntities():
            found.append((name, OWL_SAME_AS, _name(each)))
        for role in properties:
            for other in reasoner.getObjectPropertyValues(one, role).getFlattened():
                found.append((name, _name(role), _name(other)))
    return Realised(found)


def _name(entity: Any) -> str:
    return str(entity.getIRI())
