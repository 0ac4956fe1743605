# pD* entailment: D* and a part of OWL (P-entailment).
# Source: ter Horst, "Completeness, decidability and complexity of entailment for RDF Schema and a
# semantic extension involving the OWL vocabulary", 2005, Tables 4 and 7.
#
# Not here: lg, gl, rdf2-D and the rdfs1 of that table, which speak of blank nodes in the place of
# literals. rdfs2 to rdfs13 are those of RDF 1.1 Semantics; rdfs7x also concludes with a blank node
# as property, which cannot be written.
# What follows for a literal as subject is left out: RDF has no such triples.
# rdf1, rdfs4a, rdfs4b, rdfp5a and rdfp5b hold for all triples: leave them out of a copy if nothing
# asks for them.

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>

## D*

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

## P

# rdfp1
# ter Horst, Table 7: functional property; prp-fp in OWL 2 RL
INSERT { ?v owl:sameAs ?w }
WHERE { ?p a owl:FunctionalProperty . ?u ?p ?v . ?u ?p ?w FILTER(!sameTerm(?v, ?w)) } ;

# rdfp2
# ter Horst, Table 7: inverse functional property; prp-ifp in OWL 2 RL
INSERT { ?u owl:sameAs ?v }
WHERE { ?p a owl:InverseFunctionalProperty . ?u ?p ?w . ?v ?p ?w FILTER(!sameTerm(?u, ?v)) } ;

# rdfp3
# ter Horst, Table 7: symmetric property; prp-symp in OWL 2 RL
INSERT { ?w ?p ?v }
WHERE { ?p a owl:SymmetricProperty . ?v ?p ?w } ;

# rdfp4
# ter Horst, Table 7: transitive property; prp-trp in OWL 2 RL
INSERT { ?u ?p ?w }
WHERE { ?p a owl:TransitiveProperty . ?u ?p ?v . ?v ?p ?w } ;

# rdfp5a
# ter Horst, Table 7: reflexive sameAs
INSERT { ?v owl:sameAs ?v }
WHERE { ?v ?p ?w } ;

# rdfp5b
# ter Horst, Table 7: reflexive sameAs
INSERT { ?w owl:sameAs ?w }
WHERE { ?v ?p ?w } ;

# rdfp6
# ter Horst, Table 7: symmetric sameAs; eq-sym in OWL 2 RL
INSERT { ?w owl:sameAs ?v }
WHERE { ?v owl:sameAs ?w } ;

# rdfp7
# ter Horst, Table 7: transitive sameAs; eq-trans in OWL 2 RL
INSERT { ?u owl:sameAs ?w }
WHERE { ?u owl:sameAs ?v . ?v owl:sameAs ?w } ;

# rdfp8ax
# ter Horst, Table 7: inverse property; prp-inv1 in OWL 2 RL
INSERT { ?w ?q ?v }
WHERE { ?p owl:inverseOf ?q . ?v ?p ?w } ;

# rdfp8bx
# ter Horst, Table 7: inverse property; prp-inv2 in OWL 2 RL
INSERT { ?w ?p ?v }
WHERE { ?p owl:inverseOf ?q . ?v ?q ?w } ;

# rdfp9
# ter Horst, Table 7: the same class
INSERT { ?v rdfs:subClassOf ?w }
WHERE { ?v a owl:Class . ?v owl:sameAs ?w } ;

# rdfp10
# ter Horst, Table 7: the same property
INSERT { ?p rdfs:subPropertyOf ?q }
WHERE { ?p a rdf:Property . ?p owl:sameAs ?q } ;

# rdfp11
# ter Horst, Table 7: statements of what is the same
INSERT { ?x ?p ?y }
WHERE { ?u ?p ?v . ?u owl:sameAs ?x . ?v owl:sameAs ?y } ;

# rdfp12a
# ter Horst, Table 7: equivalent classes; scm-eqc1 in OWL 2 RL
INSERT { ?v rdfs:subClassOf ?w }
WHERE { ?v owl:equivalentClass ?w } ;

# rdfp12b
# ter Horst, Table 7: equivalent classes; scm-eqc1 in OWL 2 RL
INSERT { ?w rdfs:subClassOf ?v }
WHERE { ?v owl:equivalentClass ?w } ;

# rdfp12c
# ter Horst, Table 7: equivalent classes; scm-eqc2 in OWL 2 RL
INSERT { ?v owl:equivalentClass ?w }
WHERE { ?v rdfs:subClassOf ?w . ?w rdfs:subClassOf ?v } ;

# rdfp13a
# ter Horst, Table 7: equivalent properties; scm-eqp1 in OWL 2 RL
INSERT { ?v rdfs:subPropertyOf ?w }
WHERE { ?v owl:equivalentProperty ?w } ;

# rdfp13b
# ter Horst, Table 7: equivalent properties; scm-eqp1 in OWL 2 RL
INSERT { ?w rdfs:subPropertyOf ?v }
WHERE { ?v owl:equivalentProperty ?w } ;

# rdfp13c
# ter Horst, Table 7: equivalent properties; scm-eqp2 in OWL 2 RL
INSERT { ?v owl:equivalentProperty ?w }
WHERE { ?v rdfs:subPropertyOf ?w . ?w rdfs:subPropertyOf ?v } ;

# rdfp14a
# ter Horst, Table 7: hasValue; cls-hv2 in OWL 2 RL
INSERT { ?u a ?v }
WHERE { ?v owl:hasValue ?w ; owl:onProperty ?p . ?u ?p ?w } ;

# rdfp14bx
# ter Horst, Table 7: hasValue; cls-hv1 in OWL 2 RL
INSERT { ?u ?p ?w }
WHERE { ?v owl:hasValue ?w ; owl:onProperty ?p . ?u a ?v } ;

# rdfp15
# ter Horst, Table 7: someValuesFrom; cls-svf1 in OWL 2 RL
INSERT { ?u a ?v }
WHERE { ?v owl:someValuesFrom ?w ; owl:onProperty ?p . ?u ?p ?x . ?x a ?w } ;

# rdfp16
# ter Horst, Table 7: allValuesFrom; cls-avf in OWL 2 RL
INSERT { ?x a ?w }
WHERE { ?v owl:allValuesFrom ?w ; owl:onProperty ?p . ?u a ?v . ?u ?p ?x } ;
