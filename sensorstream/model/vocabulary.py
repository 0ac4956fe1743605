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
"""``?x ss:contradiction "text"``: the conclusion of a rule if the graph contradicts itself."""


RESERVED: Final = "urn:sensorstream:"
"""The names of the system itself: messages may not use them for graphs."""
GRAPH_STATIC: Final = IRI("urn:sensorstream:static")
GRAPH_WINDOW: Final = IRI("urn:sensorstream:window")
GRAPH_INFERRED: Final = IRI("urn:sensorstream:inferred")
GRAPH_PERSISTENT: Final = IRI("urn:sensorstream:persistent")
"""The graph of what has left the window, in a query over history."""
