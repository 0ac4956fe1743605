# D* entailment: RDFS with datatypes.
# Source: ter Horst, "Completeness, decidability and complexity of entailment for RDF Schema and a
# semantic extension involving the OWL vocabulary", 2005, Table 4.
#
# Not here: lg, gl, rdf2-D and the rdfs1 of that table, which speak of blank nodes in the place of
# literals. rdfs2 to rdfs13 are those of RDF 1.1 Semantics; rdfs7x also concludes with a blank node
# as property, which cannot be written.
# What follows for a literal as subject is left out: RDF has no such triples.

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

# rdf1
# ter Horst, Table 4
INSERT { ?p a rdf:Property }
WHERE { ?s ?p ?o } ;

# rdfs2
# ter Horst, Table 4; prp-dom in OWL 2 RL
INSERT { ?s a ?c }
WHERE { ?p rdfs:domain ?c . ?s ?p ?o } ;

# rdfs3
# ter Horst, Table 4; prp-rng in OWL 2 RL
INSERT { ?o a ?c }
WHERE { ?p rdfs:range ?c . ?s ?p ?o } ;

# rdfs4a
# ter Horst, Table 4
INSERT { ?s a rdfs:Resource }
WHERE { ?s ?p ?o } ;

# rdfs4b
# ter Horst, Table 4
INSERT { ?o a rdfs:Resource }
WHERE { ?s ?p ?o } ;

# rdfs5
# ter Horst, Table 4; scm-spo in OWL 2 RL
INSERT { ?a rdfs:subPropertyOf ?c }
WHERE { ?a rdfs:subPropertyOf ?b . ?b rdfs:subPropertyOf ?c } ;

# rdfs6
# ter Horst, Table 4
INSERT { ?p rdfs:subPropertyOf ?p }
WHERE { ?p a rdf:Property } ;

# rdfs7x
# ter Horst, Table 4; prp-spo1 in OWL 2 RL
INSERT { ?s ?q ?o }
WHERE { ?p rdfs:subPropertyOf ?q . ?s ?p ?o FILTER(!sameTerm(?p, ?q)) } ;

# rdfs8
# ter Horst, Table 4
INSERT { ?c rdfs:subClassOf rdfs:Resource }
WHERE { ?c a rdfs:Class } ;

# rdfs9
# ter Horst, Table 4; cax-sco in OWL 2 RL
INSERT { ?s a ?d }
WHERE { ?c rdfs:subClassOf ?d . ?s a ?c FILTER(!sameTerm(?c, ?d)) } ;

# rdfs10
# ter Horst, Table 4
INSERT { ?c rdfs:subClassOf ?c }
WHERE { ?c a rdfs:Class } ;

# rdfs11
# ter Horst, Table 4; scm-sco in OWL 2 RL
INSERT { ?a rdfs:subClassOf ?c }
WHERE { ?a rdfs:subClassOf ?b . ?b rdfs:subClassOf ?c } ;

# rdfs12
# ter Horst, Table 4
INSERT { ?p rdfs:subPropertyOf rdfs:member }
WHERE { ?p a rdfs:ContainerMembershipProperty } ;

# rdfs13
# ter Horst, Table 4
INSERT { ?d rdfs:subClassOf rdfs:Literal }
WHERE { ?d a rdfs:Datatype } ;
