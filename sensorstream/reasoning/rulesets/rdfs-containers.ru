# The axiomatic triples of rdf:_1, rdf:_2, ... for those of them that are used as properties.
# Source: RDF 1.1 Semantics (W3C, 2014), sections 8 and 9. There are axioms without end; of names
# that are used nowhere there is none here, and nothing else follows from those (section 9.2.1).

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

# container membership
# RDF 1.1 Semantics, 8 and 9
INSERT {
  ?p a rdf:Property .
  ?p a rdfs:ContainerMembershipProperty .
  ?p rdfs:subPropertyOf rdfs:member .
  ?p rdfs:domain rdfs:Resource .
  ?p rdfs:range rdfs:Resource .
}
WHERE {
  ?x ?p ?y
  FILTER REGEX(STR(?p), "^http://www\\.w3\\.org/1999/02/22-rdf-syntax-ns#_[1-9][0-9]*$")
} ;
