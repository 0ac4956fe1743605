"""The names of OWL that the code needs to know."""

from __future__ import annotations

from typing import Final

from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import OWL

CLASS: Final = IRI(f"{OWL}Class")
COMPLEMENT_OF: Final = IRI(f"{OWL}complementOf")
DIFFERENT_FROM: Final = IRI(f"{OWL}differentFrom")
DISJOINT_WITH: Final = IRI(f"{OWL}disjointWith")
EQUIVALENT_CLASS: Final = IRI(f"{OWL}equivalentClass")
EQUIVALENT_PROPERTY: Final = IRI(f"{OWL}equivalentProperty")
HAS_VALUE: Final = IRI(f"{OWL}hasValue")
IMPORTS: Final = IRI(f"{OWL}imports")
INTERSECTION_OF: Final = IRI(f"{OWL}intersectionOf")
INVERSE_OF: Final = IRI(f"{OWL}inverseOf")
NAMED_INDIVIDUAL: Final = IRI(f"{OWL}NamedIndividual")
NEGATIVE_ASSERTION: Final = IRI(f"{OWL}NegativePropertyAssertion")
NOTHING: Final = IRI(f"{OWL}Nothing")
ONE_OF: Final = IRI(f"{OWL}oneOf")
ONTOLOGY: Final = IRI(f"{OWL}Ontology")
ON_DATATYPE: Final = IRI(f"{OWL}onDatatype")
ON_PROPERTY: Final = IRI(f"{OWL}onProperty")
RESTRICTION: Final = IRI(f"{OWL}Restriction")
SAME_AS: Final = IRI(f"{OWL}sameAs")
SOME_VALUES_FROM: Final = IRI(f"{OWL}someValuesFrom")
THING: Final = IRI(f"{OWL}Thing")
VERSION_IRI: Final = IRI(f"{OWL}versionIRI")
