# The axiomatic triples of RDF.
# Source: RDF 1.1 Semantics (W3C, 2014), section 8. Those of rdf:_1, rdf:_2, ...
# are in rdfs-containers.

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>

# RDF
# RDF 1.1 Semantics, 8
INSERT DATA {
  rdf:type a rdf:Property .
  rdf:subject a rdf:Property .
  rdf:predicate a rdf:Property .
  rdf:object a rdf:Property .
  rdf:first a rdf:Property .
  rdf:rest a rdf:Property .
  rdf:value a rdf:Property .
  rdf:nil a rdf:List .
} ;
