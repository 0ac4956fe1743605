# What LUBM's queries need, each rule from OWL 2 Profiles, Tables 5 to 9.
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>

# scm-sco
INSERT { ?c rdfs:subClassOf ?e } WHERE { ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?e } ;

# scm-int of two classes
INSERT { ?c rdfs:subClassOf ?d , ?e } WHERE { ?c owl:intersectionOf ( ?d ?e ) } ;

# scm-spo
INSERT { ?p rdfs:subPropertyOf ?r } WHERE { ?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?r } ;

# cax-sco
INSERT { ?x a ?d } WHERE { ?c rdfs:subClassOf ?d . ?x a ?c } ;

# prp-spo1
INSERT { ?x ?q ?y } WHERE { ?p rdfs:subPropertyOf ?q . ?x ?p ?y } ;

# prp-dom
INSERT { ?x a ?c } WHERE { ?p rdfs:domain ?c . ?x ?p ?y } ;

# prp-rng
INSERT { ?y a ?c } WHERE { ?p rdfs:range ?c . ?x ?p ?y } ;

# prp-inv1
INSERT { ?y ?q ?x } WHERE { ?p owl:inverseOf ?q . ?x ?p ?y } ;

# prp-inv2
INSERT { ?y ?p ?x } WHERE { ?p owl:inverseOf ?q . ?x ?q ?y } ;

# prp-trp
INSERT { ?x ?p ?z } WHERE { ?p a owl:TransitiveProperty . ?x ?p ?y . ?y ?p ?z } ;

# cls-int1 and cls-svf1
# Of a class and a restriction; who is of the restriction is not asked.
INSERT { ?x a ?c }
WHERE {
  ?c owl:intersectionOf ( ?d ?r ) . ?r owl:onProperty ?p ; owl:someValuesFrom ?e .
  ?x a ?d . ?x ?p ?y . ?y a ?e
} ;
