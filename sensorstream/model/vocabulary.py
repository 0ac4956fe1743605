"""IRIs that the code itself needs to know."""

from __future__ import annotations

from typing import Final

from sensorstream.model.terms import IRI

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
OWL: Final = "http://www.w3.org/2002/07/owl#"
SENSORSTREAM: Final = "urn:sensorstream:mapping#"
"""SensorStream's own vocabulary for RML and stylesheets: time of an event, updates and so on."""

CONTRADICTION: Final = IRI(f"{SENSORSTREAM}contradiction")
"""``?x ss:contradiction "text"`` is what a rule concludes where the graph contradicts itself."""

RDF_FIRST: Final = IRI(f"{RDF}first")
RDF_REST: Final = IRI(f"{RDF}rest")
RDF_NIL: Final = IRI(f"{RDF}nil")
RDF_TYPE: Final = IRI(f"{RDF}type")
RDFS_LABEL: Final = IRI(f"{RDFS}label")
RDFS_SUBCLASS_OF: Final = IRI(f"{RDFS}subClassOf")
RDFS_SUBPROPERTY_OF: Final = IRI(f"{RDFS}subPropertyOf")
RDFS_DOMAIN: Final = IRI(f"{RDFS}domain")
RDFS_RANGE: Final = IRI(f"{RDFS}range")
OWL_CLASS: Final = IRI(f"{OWL}Class")
OWL_COMPLEMENT_OF: Final = IRI(f"{OWL}complementOf")
OWL_DIFFERENT_FROM: Final = IRI(f"{OWL}differentFrom")
OWL_DISJOINT_WITH: Final = IRI(f"{OWL}disjointWith")
OWL_EQUIVALENT_CLASS: Final = IRI(f"{OWL}equivalentClass")
OWL_EQUIVALENT_PROPERTY: Final = IRI(f"{OWL}equivalentProperty")
OWL_HAS_VALUE: Final = IRI(f"{OWL}hasValue")
OWL_IMPORTS: Final = IRI(f"{OWL}imports")
OWL_INTERSECTION_OF: Final = IRI(f"{OWL}intersectionOf")
OWL_INVERSE_OF: Final = IRI(f"{OWL}inverseOf")
OWL_NEGATIVE_ASSERTION: Final = IRI(f"{OWL}NegativePropertyAssertion")
OWL_NOTHING: Final = IRI(f"{OWL}Nothing")
OWL_ONE_OF: Final = IRI(f"{OWL}oneOf")
OWL_ONTOLOGY: Final = IRI(f"{OWL}Ontology")
OWL_ON_DATATYPE: Final = IRI(f"{OWL}onDatatype")
OWL_ON_PROPERTY: Final = IRI(f"{OWL}onProperty")
OWL_RESTRICTION: Final = IRI(f"{OWL}Restriction")
OWL_SAME_AS: Final = IRI(f"{OWL}sameAs")
OWL_SOME_VALUES_FROM: Final = IRI(f"{OWL}someValuesFrom")
OWL_VERSION_IRI: Final = IRI(f"{OWL}versionIRI")
OWL_THING: Final = IRI(f"{OWL}Thing")
OWL_NAMED_INDIVIDUAL: Final = IRI(f"{OWL}NamedIndividual")

RESERVED: Final = "urn:sensorstream:"
"""The names of the system itself: messages may not use them for graphs."""
GRAPH_STATIC: Final = IRI("urn:sensorstream:static")
GRAPH_WINDOW: Final = IRI("urn:sensorstream:window")
GRAPH_INFERRED: Final = IRI("urn:sensorstream:inferred")
GRAPH_PERSISTENT: Final = IRI("urn:sensorstream:persistent")
"""What has left the window, in a query over history."""
