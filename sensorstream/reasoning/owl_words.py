"""The words of OWL 2's structural specification, and what each becomes in RDF.

Source: OWL 2 Mapping to RDF Graphs, section 2.1; SWRL, section 5.
"""

from __future__ import annotations

from typing import Final

from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import (
    OWL,
    RDFS,
    RDFS_DOMAIN,
    RDFS_RANGE,
    RDFS_SUBCLASS_OF,
    RDFS_SUBPROPERTY_OF,
)

_SWRL: Final = "http://www.w3.org/2003/11/swrl#"


def owl(word: str) -> IRI:
    """A name of OWL's vocabulary."""
    return IRI(f"{OWL}{word}")


def swrl(word: str) -> IRI:
    """A name of SWRL's vocabulary."""
    return IRI(f"{_SWRL}{word}")


ANNOTATIONS: Final = frozenset(
    {
        *(f"{RDFS}{word}" for word in ("label", "comment", "seeAlso", "isDefinedBy")),
        *(f"{OWL}{word}" for word in ("versionInfo", "deprecated", "versionIRI", "imports")),
        *(f"{OWL}{word}" for word in ("priorVersion", "incompatibleWith")),
        f"{OWL}backwardCompatibleWith",
    }
)
"""OWL 2's own annotation properties, and what else says nothing of individuals."""
CLASS: Final = owl("Class")
DATATYPE: Final = IRI(f"{RDFS}Datatype")
ENTITIES: Final = {
    "Class": CLASS,
    "Datatype": DATATYPE,
    "ObjectProperty": owl("ObjectProperty"),
    "DataProperty": owl("DatatypeProperty"),
    "AnnotationProperty": owl("AnnotationProperty"),
    "NamedIndividual": owl("NamedIndividual"),
}
"""What a name is, by the element that holds it."""
OF_MANY: Final = {
    "ObjectIntersectionOf": (CLASS, owl("intersectionOf")),
    "ObjectUnionOf": (CLASS, owl("unionOf")),
    "ObjectOneOf": (CLASS, owl("oneOf")),
    "DataIntersectionOf": (DATATYPE, owl("intersectionOf")),
    "DataUnionOf": (DATATYPE, owl("unionOf")),
    "DataOneOf": (DATATYPE, owl("oneOf")),
}
"""Expressions of a list of parts: the kind of the node, and its link to the list."""
OF_ONE: Final = {
    "ObjectComplementOf": (CLASS, owl("complementOf")),
    "DataComplementOf": (DATATYPE, owl("datatypeComplementOf")),
}
"""Expressions of one part: the kind of the node, and its link to the part."""
FILLED: Final = {
    f"{kind}{word}": owl(word[0].lower() + word[1:])
    for kind in ("Object", "Data")
    for word in ("SomeValuesFrom", "AllValuesFrom", "HasValue")
}
"""Restrictions of a property to a filler."""
COUNTED: Final = {
    f"{kind}{word}": (owl(plain), owl(qualified), owl(filler))
    for kind, filler in (("Object", "onClass"), ("Data", "onDataRange"))
    for word, plain, qualified in (
        ("MinCardinality", "minCardinality", "minQualifiedCardinality"),
        ("MaxCardinality", "maxCardinality", "maxQualifiedCardinality"),
        ("ExactCardinality", "cardinality", "qualifiedCardinality"),
    )
}
"""Cardinalities: unqualified, qualified, and the link to the filler."""
OF_TWO: Final = {
    "SubClassOf": RDFS_SUBCLASS_OF,
    "SubDataPropertyOf": RDFS_SUBPROPERTY_OF,
    "SubAnnotationPropertyOf": RDFS_SUBPROPERTY_OF,
    "ObjectPropertyDomain": RDFS_DOMAIN,
    "DataPropertyDomain": RDFS_DOMAIN,
    "AnnotationPropertyDomain": RDFS_DOMAIN,
    "ObjectPropertyRange": RDFS_RANGE,
    "DataPropertyRange": RDFS_RANGE,
    "AnnotationPropertyRange": RDFS_RANGE,
    "InverseObjectProperties": owl("inverseOf"),
    "DatatypeDefinition": owl("equivalentClass"),
}
"""Axioms that are one triple of their two parts."""
EQUAL: Final = {
    "EquivalentClasses": owl("equivalentClass"),
    "EquivalentObjectProperties": owl("equivalentProperty"),
    "EquivalentDataProperties": owl("equivalentProperty"),
    "SameIndividual": owl("sameAs"),
}
"""Axioms of two or more equals: a triple for each two that follow each other."""
APART: Final = {
    "DisjointClasses": (owl("disjointWith"), owl("AllDisjointClasses")),
    "DisjointObjectProperties": (owl("propertyDisjointWith"), owl("AllDisjointProperties")),
    "DisjointDataProperties": (owl("propertyDisjointWith"), owl("AllDisjointProperties")),
    "DifferentIndividuals": (owl("differentFrom"), owl("AllDifferent")),
}
"""Axioms of two or more that differ: the triple for two, the kind of node for more."""
CHARACTERISTICS: Final = {
    f"{word}{kind}Property": owl(f"{word}Property")
    for word, kinds in (
        ("Functional", ("Object", "Data")),
        ("InverseFunctional", ("Object",)),
        ("Reflexive", ("Object",)),
        ("Irreflexive", ("Object",)),
        ("Symmetric", ("Object",)),
        ("Asymmetric", ("Object",)),
        ("Transitive", ("Object",)),
    )
    for kind in kinds
}
"""Axioms that are a type of their property."""
NEGATIVE: Final = {
    "NegativeObjectPropertyAssertion": owl("targetIndividual"),
    "NegativeDataPropertyAssertion": owl("targetValue"),
}
"""Negative assertions: the link to what is denied."""
ATOMS: Final = {
    "ClassAtom": (swrl("ClassAtom"), swrl("classPredicate")),
    "DataRangeAtom": (swrl("DataRangeAtom"), swrl("dataRange")),
    "ObjectPropertyAtom": (swrl("IndividualPropertyAtom"), swrl("propertyPredicate")),
    "DataPropertyAtom": (swrl("DatavaluedPropertyAtom"), swrl("propertyPredicate")),
    "SameIndividualAtom": (swrl("SameIndividualAtom"), None),
    "DifferentIndividualsAtom": (swrl("DifferentIndividualsAtom"), None),
}
"""Atoms of rules: the kind of node, and its link to class, data range or property."""
