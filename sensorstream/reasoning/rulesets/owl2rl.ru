# OWL 2 RL/RDF rules.
# Source: OWL 2 Web Ontology Language Profiles (W3C, 2012), Tables 4 to 9,
# https://www.w3.org/TR/owl2-profiles/#Reasoning_in_OWL_2_RL_and_RDF_Graphs_using_Rules
#
# Rules that conclude false are in owl2rl-unsatisfiable, rules without premises (prp-ap, cls-thing,
# cls-nothing1, dt-type1) in owl2rl-axioms. Not here: dt-type2, dt-eq and dt-diff, whose conclusions
# have literals as subjects: RDF has no such triples. What follows from dt-type2 for individuals is
# here in one step (dt-type2-svf1); literals are compared as they are written, but for
# dt-diff-fp, dt-diff-maxc2, dt-not-type-rng and dt-not-type-avf in owl2rl-unsatisfiable.
# f:isOf("", ?d) has a value if the values of the datatype ?d are known; a class has none.
# FILTER(!sameTerm(...)) leaves out conclusions that are premises, or what eq-ref says already.
# eq-ref holds for all triples: leave it out of a copy if nothing asks for ?x owl:sameAs ?x.

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX f: <urn:sensorstream:function:>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>

## Table 4: equality

# eq-ref
# OWL 2 Profiles, Table 4
INSERT { ?s owl:sameAs ?s . ?p owl:sameAs ?p . ?o owl:sameAs ?o }
WHERE { ?s ?p ?o } ;

# eq-sym
# OWL 2 Profiles, Table 4; rdfp6 in pD*
INSERT { ?y owl:sameAs ?x }
WHERE { ?x owl:sameAs ?y } ;

# eq-trans
# OWL 2 Profiles, Table 4; rdfp7 in pD*
INSERT { ?x owl:sameAs ?z }
WHERE { ?x owl:sameAs ?y . ?y owl:sameAs ?z } ;

# eq-rep-s
# OWL 2 Profiles, Table 4
INSERT { ?t ?p ?o }
WHERE { ?s owl:sameAs ?t . ?s ?p ?o FILTER(!sameTerm(?s, ?t)) } ;

# eq-rep-p
# OWL 2 Profiles, Table 4
INSERT { ?s ?q ?o }
WHERE { ?p owl:sameAs ?q . ?s ?p ?o FILTER(!sameTerm(?p, ?q)) } ;

# eq-rep-o
# OWL 2 Profiles, Table 4
INSERT { ?s ?p ?t }
WHERE { ?o owl:sameAs ?t . ?s ?p ?o FILTER(!sameTerm(?o, ?t)) } ;

## Table 5: properties

# prp-dom
# OWL 2 Profiles, Table 5; rdfs2 in RDFS
INSERT { ?x a ?c }
WHERE { ?p rdfs:domain ?c . ?x ?p ?y } ;

# prp-rng
# OWL 2 Profiles, Table 5; rdfs3 in RDFS
INSERT { ?y a ?c }
WHERE { ?p rdfs:range ?c . ?x ?p ?y } ;

# prp-fp
# OWL 2 Profiles, Table 5; rdfp1 in pD*
INSERT { ?y owl:sameAs ?z }
WHERE { ?p a owl:FunctionalProperty . ?x ?p ?y . ?x ?p ?z FILTER(!sameTerm(?y, ?z)) } ;

# prp-ifp
# OWL 2 Profiles, Table 5; rdfp2 in pD*
INSERT { ?x owl:sameAs ?z }
WHERE { ?p a owl:InverseFunctionalProperty . ?x ?p ?y . ?z ?p ?y FILTER(!sameTerm(?x, ?z)) } ;

# prp-symp
# OWL 2 Profiles, Table 5; rdfp3 in pD*
INSERT { ?y ?p ?x }
WHERE { ?p a owl:SymmetricProperty . ?x ?p ?y } ;

# prp-trp
# OWL 2 Profiles, Table 5; rdfp4 in pD*
INSERT { ?x ?p ?z }
WHERE { ?p a owl:TransitiveProperty . ?x ?p ?y . ?y ?p ?z } ;

# prp-spo1
# OWL 2 Profiles, Table 5; rdfs7 in RDFS
INSERT { ?x ?q ?y }
WHERE { ?p rdfs:subPropertyOf ?q . ?x ?p ?y FILTER(!sameTerm(?p, ?q)) } ;

# prp-spo2
# OWL 2 Profiles, Table 5
INSERT { ?x ?p ?y }
WHERE { ?p owl:propertyChainAxiom ?l . EACH ?q IN ?l FROM ?x TO ?y { ?x ?q ?y } } ;

# prp-eqp1
# OWL 2 Profiles, Table 5
INSERT { ?x ?q ?y }
WHERE { ?p owl:equivalentProperty ?q . ?x ?p ?y } ;

# prp-eqp2
# OWL 2 Profiles, Table 5
INSERT { ?x ?p ?y }
WHERE { ?p owl:equivalentProperty ?q . ?x ?q ?y } ;

# prp-inv1
# OWL 2 Profiles, Table 5; rdfp8ax in pD*
INSERT { ?y ?q ?x }
WHERE { ?p owl:inverseOf ?q . ?x ?p ?y } ;

# prp-inv2
# OWL 2 Profiles, Table 5; rdfp8bx in pD*
INSERT { ?y ?p ?x }
WHERE { ?p owl:inverseOf ?q . ?x ?q ?y } ;

# prp-key
# OWL 2 Profiles, Table 5
INSERT { ?x owl:sameAs ?y }
WHERE {
  ?c owl:hasKey ?l .
  ?x a ?c .
  ?y a ?c .
  EACH ?p IN ?l { ?x ?p ?z .
  ?y ?p ?z } FILTER(!sameTerm(?x, ?y))
} ;

## Table 6: classes

# cls-int1
# OWL 2 Profiles, Table 6
INSERT { ?y a ?c }
WHERE { ?c owl:intersectionOf ?l . EACH ?d IN ?l { ?y a ?d } } ;

# cls-int2
# OWL 2 Profiles, Table 6
INSERT { ?y a ?d }
WHERE { ?c owl:intersectionOf ?l . ?l rdf:rest*/rdf:first ?d . ?y a ?c } ;

# cls-uni
# OWL 2 Profiles, Table 6
INSERT { ?y a ?c }
WHERE { ?c owl:unionOf ?l . ?l rdf:rest*/rdf:first ?d . ?y a ?d } ;

# cls-svf1
# OWL 2 Profiles, Table 6; rdfp15 in pD*
INSERT { ?u a ?x }
WHERE { ?x owl:someValuesFrom ?y ; owl:onProperty ?p . ?u ?p ?v . ?v a ?y } ;

# dt-type2-svf1
# OWL 2 Profiles, Table 8 and 6: dt-type2 and cls-svf1 in one step
INSERT { ?u a ?x }
WHERE {
  ?x owl:someValuesFrom ?d ; owl:onProperty ?p FILTER(f:isOf("", ?d) IN (true, false))
  ?u ?p ?v FILTER(isLiteral(?v) && f:isOf(?v, ?d))
} ;

# cls-svf2
# OWL 2 Profiles, Table 6
INSERT { ?u a ?x }
WHERE { ?x owl:someValuesFrom owl:Thing ; owl:onProperty ?p . ?u ?p ?v } ;

# cls-avf
# OWL 2 Profiles, Table 6; rdfp16 in pD*
INSERT { ?v a ?y }
WHERE { ?x owl:allValuesFrom ?y ; owl:onProperty ?p . ?u a ?x . ?u ?p ?v } ;

# cls-hv1
# OWL 2 Profiles, Table 6; rdfp14bx in pD*
INSERT { ?u ?p ?y }
WHERE { ?x owl:hasValue ?y ; owl:onProperty ?p . ?u a ?x } ;

# cls-hv2
# OWL 2 Profiles, Table 6; rdfp14a in pD*
INSERT { ?u a ?x }
WHERE { ?x owl:hasValue ?y ; owl:onProperty ?p . ?u ?p ?y } ;

# cls-maxc2
# OWL 2 Profiles, Table 6
INSERT { ?y owl:sameAs ?z }
WHERE {
  ?x owl:maxCardinality "1"^^xsd:nonNegativeInteger ; owl:onProperty ?p .
  ?u a ?x .
  ?u ?p ?y .
  ?u ?p ?z FILTER(!sameTerm(?y, ?z))
} ;

# cls-maxqc3
# OWL 2 Profiles, Table 6
INSERT { ?y owl:sameAs ?z }
WHERE {
  ?x owl:maxQualifiedCardinality "1"^^xsd:nonNegativeInteger ; owl:onProperty ?p ; owl:onClass ?c .
  ?u a ?x .
  ?u ?p ?y .
  ?y a ?c .
  ?u ?p ?z .
  ?z a ?c FILTER(!sameTerm(?y, ?z))
} ;

# cls-maxqc4
# OWL 2 Profiles, Table 6
INSERT { ?y owl:sameAs ?z }
WHERE {
  ?x owl:maxQualifiedCardinality "1"^^xsd:nonNegativeInteger ; owl:onProperty ?p ; owl:onClass owl:Thing .
  ?u a ?x .
  ?u ?p ?y .
  ?u ?p ?z FILTER(!sameTerm(?y, ?z))
} ;

# cls-oo
# OWL 2 Profiles, Table 6
INSERT { ?y a ?c }
WHERE { ?c owl:oneOf ?l . ?l rdf:rest*/rdf:first ?y } ;

## Table 7: class axioms

# cax-sco
# OWL 2 Profiles, Table 7; rdfs9 in RDFS
INSERT { ?x a ?d }
WHERE { ?c rdfs:subClassOf ?d . ?x a ?c FILTER(!sameTerm(?c, ?d)) } ;

# cax-eqc1
# OWL 2 Profiles, Table 7
INSERT { ?x a ?d }
WHERE { ?c owl:equivalentClass ?d . ?x a ?c FILTER(!sameTerm(?c, ?d)) } ;

# cax-eqc2
# OWL 2 Profiles, Table 7
INSERT { ?x a ?c }
WHERE { ?c owl:equivalentClass ?d . ?x a ?d FILTER(!sameTerm(?c, ?d)) } ;

## Table 9: schema vocabulary

# scm-cls
# OWL 2 Profiles, Table 9
INSERT { ?c rdfs:subClassOf ?c . ?c owl:equivalentClass ?c . ?c rdfs:subClassOf owl:Thing . owl:Nothing rdfs:subClassOf ?c }
WHERE { ?c a owl:Class } ;

# scm-sco
# OWL 2 Profiles, Table 9; rdfs11 in RDFS
INSERT { ?a rdfs:subClassOf ?c }
WHERE { ?a rdfs:subClassOf ?b . ?b rdfs:subClassOf ?c } ;

# scm-eqc1
# OWL 2 Profiles, Table 9
INSERT { ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?c }
WHERE { ?c owl:equivalentClass ?d } ;

# scm-eqc2
# OWL 2 Profiles, Table 9
INSERT { ?c owl:equivalentClass ?d }
WHERE { ?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?c } ;

# scm-op
# OWL 2 Profiles, Table 9
INSERT { ?p rdfs:subPropertyOf ?p . ?p owl:equivalentProperty ?p }
WHERE { ?p a owl:ObjectProperty } ;

# scm-dp
# OWL 2 Profiles, Table 9
INSERT { ?p rdfs:subPropertyOf ?p . ?p owl:equivalentProperty ?p }
WHERE { ?p a owl:DatatypeProperty } ;

# scm-spo
# OWL 2 Profiles, Table 9; rdfs5 in RDFS
INSERT { ?a rdfs:subPropertyOf ?c }
WHERE { ?a rdfs:subPropertyOf ?b . ?b rdfs:subPropertyOf ?c } ;

# scm-eqp1
# OWL 2 Profiles, Table 9
INSERT { ?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?p }
WHERE { ?p owl:equivalentProperty ?q } ;

# scm-eqp2
# OWL 2 Profiles, Table 9
INSERT { ?p owl:equivalentProperty ?q }
WHERE { ?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?p } ;

# scm-dom1
# OWL 2 Profiles, Table 9
INSERT { ?p rdfs:domain ?d }
WHERE { ?p rdfs:domain ?c . ?c rdfs:subClassOf ?d } ;

# scm-dom2
# OWL 2 Profiles, Table 9
INSERT { ?p rdfs:domain ?c }
WHERE { ?q rdfs:domain ?c . ?p rdfs:subPropertyOf ?q } ;

# scm-rng1
# OWL 2 Profiles, Table 9
INSERT { ?p rdfs:range ?d }
WHERE { ?p rdfs:range ?c . ?c rdfs:subClassOf ?d } ;

# scm-rng2
# OWL 2 Profiles, Table 9
INSERT { ?p rdfs:range ?c }
WHERE { ?q rdfs:range ?c . ?p rdfs:subPropertyOf ?q } ;

# scm-hv
# OWL 2 Profiles, Table 9
INSERT { ?c rdfs:subClassOf ?d }
WHERE {
  ?c owl:hasValue ?i ; owl:onProperty ?p .
  ?d owl:hasValue ?i ; owl:onProperty ?q .
  ?p rdfs:subPropertyOf ?q
} ;

# scm-svf1
# OWL 2 Profiles, Table 9
INSERT { ?c rdfs:subClassOf ?d }
WHERE {
  ?c owl:someValuesFrom ?y ; owl:onProperty ?p .
  ?d owl:someValuesFrom ?z ; owl:onProperty ?p .
  ?y rdfs:subClassOf ?z
} ;

# scm-svf2
# OWL 2 Profiles, Table 9
INSERT { ?c rdfs:subClassOf ?d }
WHERE {
  ?c owl:someValuesFrom ?y ; owl:onProperty ?p .
  ?d owl:someValuesFrom ?y ; owl:onProperty ?q .
  ?p rdfs:subPropertyOf ?q
} ;

# scm-avf1
# OWL 2 Profiles, Table 9
INSERT { ?c rdfs:subClassOf ?d }
WHERE {
  ?c owl:allValuesFrom ?y ; owl:onProperty ?p .
  ?d owl:allValuesFrom ?z ; owl:onProperty ?p .
  ?y rdfs:subClassOf ?z
} ;

# scm-avf2
# OWL 2 Profiles, Table 9
INSERT { ?d rdfs:subClassOf ?c }
WHERE {
  ?c owl:allValuesFrom ?y ; owl:onProperty ?p .
  ?d owl:allValuesFrom ?y ; owl:onProperty ?q .
  ?p rdfs:subPropertyOf ?q
} ;

# scm-int
# OWL 2 Profiles, Table 9
INSERT { ?c rdfs:subClassOf ?d }
WHERE { ?c owl:intersectionOf ?l . ?l rdf:rest*/rdf:first ?d } ;

# scm-uni
# OWL 2 Profiles, Table 9
INSERT { ?d rdfs:subClassOf ?c }
WHERE { ?c owl:unionOf ?l . ?l rdf:rest*/rdf:first ?d } ;
