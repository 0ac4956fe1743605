"""IRIs that the code itself needs to know."""

from __future__ import annotations

from typing import Final

from sensorstream.model.terms import IRI

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
OWL: Final = "http://www.w3.org/2002/07/owl#"

RDF_TYPE: Final = IRI(f"{RDF}type")
RDFS_SUBCLASS_OF: Final = IRI(f"{RDFS}subClassOf")
RDFS_SUBPROPERTY_OF: Final = IRI(f"{RDFS}subPropertyOf")
RDFS_DOMAIN: Final = IRI(f"{RDFS}domain")
RDFS_RANGE: Final = IRI(f"{RDFS}range")
OWL_THING: Final = IRI(f"{OWL}Thing")
OWL_NAMED_INDIVIDUAL: Final = IRI(f"{OWL}NamedIndividual")

GRAPH_STATIC: Final = IRI("urn:sensorstream:static")
GRAPH_WINDOW: Final = IRI("urn:sensorstream:window")
GRAPH_INFERRED: Final = IRI("urn:sensorstream:inferred")
