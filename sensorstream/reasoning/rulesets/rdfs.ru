# RDF and RDFS entailment.
# Source: RDF 1.1 Semantics (W3C, 2014), 8.1.1 and 9.2.1, https://www.w3.org/TR/rdf11-mt/
#
# Not here: rdfD1, which gives each literal a blank node of its own (rdf-literals), and rdfs1, whose
# triples are in rdfs-axioms.
# What follows for a literal as subject is left out: RDF has no such triples. That it is not of the
# range of a property says rdfs-unsatisfiable.
# rdfD2, rdfs4a and rdfs4b hold for all triples: leave them out of a copy if nothing asks for them.

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

# rdfD2
# RDF 1.1 Semantics, 8.1.1
INSERT { ?p a rdf:Property }
WHERE { ?s ?p ?o } ;

# rdfs2
# RDF 1.1 Semantics, 9.2.1; prp-dom in OWL 2 RL
INSERT { ?s a ?c }
WHERE { ?p rdfs:domain ?c . ?s ?p ?o } ;

# rdfs3
# RDF 1.1 Semantics, 9.2.1; prp-rng in OWL 2 RL
INSERT { ?o a ?c }
WHERE { ?p rdfs:range ?c . ?s ?p ?o } ;

# rdfs4a
# RDF 1.1 Semantics, 9.2.1
INSERT { ?s a rdfs:Resource }
WHERE { ?s ?p ?o } ;

# rdfs4b
# RDF 1.1 Semantics, 9.2.1
INSERT { ?o a rdfs:Resource }
WHERE { ?s ?p ?o } ;

# rdfs5
# RDF 1.1 Semantics, 9.2.1; scm-spo in OWL 2 RL
INSERT { ?a rdfs:subPropertyOf ?c }
WHERE { ?a rdfs:subPropertyOf ?b . ?b rdfs:subPropertyOf ?c } ;

# rdfs6
# RDF 1.1 Semantics, 9.2.1
INSERT { ?p rdfs:subPropertyOf ?p }
WHERE { ?p a rdf:Property } ;

# rdfs7
# RDF 1.1 Semantics, 9.2.1; prp-spo1 in OWL 2 RL
INSERT { ?s ?q ?o }
WHERE { ?p rdfs:subPropertyOf ?q . ?s ?p ?o FILTER(!sameTerm(?p, ?q)) } ;

# rdfs8
# RDF 1.1 Semantics, 9.2.1
INSERT { ?c rdfs:subClassOf rdfs:Resource }
WHERE { ?c a rdfs:Class } ;

# rdfs9
# RDF 1.1 Semantics, 9.2.1; cax-sco in OWL 2 RL
INSERT { ?s a ?d }
WHERE { ?c rdfs:subClassOf ?d . ?s a ?c FILTER(!sameTerm(?c, ?d)) } ;

# rdfs10
# RDF 1.1 Semantics, 9.2.1
INSERT { ?c rdfs:subClassOf ?c }
WHERE { ?c a rdfs:Class } ;

# rdfs11
# RDF 1.1 Semantics, 9.2.1; scm-sco in OWL 2 RL
INSERT { ?a rdfs:subClassOf ?c }
WHERE { ?a rdfs:subClassOf ?b . ?b rdfs:subClassOf ?c } ;

# rdfs12
# RDF 1.1 Semantics, 9.2.1
INSERT { ?p rdfs:subPropertyOf rdfs:member }
WHERE { ?p a rdfs:ContainerMembershipProperty } ;

# rdfs13
# RDF 1.1 Semantics, 9.2.1
INSERT { ?d rdfs:subClassOf rdfs:Literal }
WHERE { ?d a rdfs:Datatype } ;
