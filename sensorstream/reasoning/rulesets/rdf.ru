# RDF entailment.
# Source: RDF 1.1 Semantics (W3C, 2014), 8.1.1, https://www.w3.org/TR/rdf11-mt/
#
# Not here: rdfD1, which gives each literal a blank node of its own: it is rdf-literals.
# rdfD2 holds for all triples: leave it out of a copy if nothing asks for properties.

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>

# rdfD2
# RDF 1.1 Semantics, 8.1.1
INSERT { ?p a rdf:Property }
WHERE { ?s ?p ?o } ;
