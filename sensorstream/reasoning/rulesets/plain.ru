# The plain profile: its reasoner composes the same from the schema, these say why.
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>

# rdfs9
# RDF 1.1 Semantics, 9.2.1
INSERT { ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c } ;

# rdfs2
# RDF 1.1 Semantics, 9.2.1
INSERT { ?x a ?c } WHERE { ?p rdfs:domain ?c . ?x ?p ?y } ;

# rdfs3
# RDF 1.1 Semantics, 9.2.1
INSERT { ?y a ?c } WHERE { ?p rdfs:range ?c . ?x ?p ?y } ;

# rdfs7
# RDF 1.1 Semantics, 9.2.1
INSERT { ?x ?q ?y } WHERE { ?p rdfs:subPropertyOf ?q . ?x ?p ?y } ;

# rdfs11
# RDF 1.1 Semantics, 9.2.1
INSERT { ?c rdfs:subClassOf ?e } WHERE { ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?e } ;

# rdfs5
# RDF 1.1 Semantics, 9.2.1
INSERT { ?p rdfs:subPropertyOf ?r }
WHERE { ?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?r } ;

# scm-eqc1
# OWL 2 Profiles, Table 9
INSERT { ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?c } WHERE { ?c owl:equivalentClass ?d } ;

# scm-eqp1
# OWL 2 Profiles, Table 9
INSERT { ?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?p }
WHERE { ?p owl:equivalentProperty ?q } ;

# scm-int
# OWL 2 Profiles, Table 9
INSERT { ?c rdfs:subClassOf ?d }
WHERE {
  ?c rdfs:subClassOf|owl:equivalentClass ?e .
  ?e owl:intersectionOf ?l . ?l rdf:rest*/rdf:first ?d
} ;

# scm-int twice
INSERT { ?c rdfs:subClassOf ?d }
WHERE {
  ?c rdfs:subClassOf|owl:equivalentClass ?e .
  ?e owl:intersectionOf ?l . ?l rdf:rest*/rdf:first ?f .
  ?f owl:intersectionOf ?m . ?m rdf:rest*/rdf:first ?d
} ;

# rdfs2 for an intersection
INSERT { ?x a ?c }
WHERE {
  ?p rdfs:domain ?e . ?e owl:intersectionOf ?l . ?l rdf:rest*/rdf:first ?c .
  ?x ?p ?y
} ;

# rdfs3 for an intersection
INSERT { ?y a ?c }
WHERE {
  ?p rdfs:range ?e . ?e owl:intersectionOf ?l . ?l rdf:rest*/rdf:first ?c .
  ?x ?p ?y
} ;
