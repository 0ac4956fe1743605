# A node of its own for each literal of a triple: that it has a datatype.
# Source: RDF 1.1 Semantics (W3C, 2014), section 8.1.1, https://www.w3.org/TR/rdf11-mt/
#
# It doubles the triples with literals: use it only where something asks for their datatypes so.

# rdfD1
# RDF 1.1 Semantics, 8.1.1
INSERT { ?x ?p _:literal . _:literal a ?d }
WHERE { ?x ?p ?y FILTER(isLiteral(?y)) BIND(DATATYPE(?y) AS ?d) } ;
