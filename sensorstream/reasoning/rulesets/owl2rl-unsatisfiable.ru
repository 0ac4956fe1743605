# What contradicts itself by OWL 2 RL: rules that conclude false.
# Source: OWL 2 Web Ontology Language Profiles (W3C, 2012), Tables 4 to 8.
#
# A conclusion with ss:contradiction refuses the message from which it follows.
# dt-not-type is here for values of properties whose datatype the schema says. That a literal is not
# valid for its own datatype says rdfs-unsatisfiable; mappings make no such literals.
# f:isOf("", ?d) has a value if the values of the datatype ?d are known; a class has none.

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX ss: <urn:sensorstream:mapping#>
PREFIX f: <urn:sensorstream:function:>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

## Table 4: equality

# eq-diff1
# OWL 2 Profiles, Table 4
INSERT { ?x ss:contradiction "eq-diff1: it is the same as another and different from it" }
WHERE { ?x owl:sameAs ?y . ?x owl:differentFrom ?y } ;

# eq-diff2
# OWL 2 Profiles, Table 4
INSERT { ?y ss:contradiction "eq-diff2: it is the same as another of owl:AllDifferent (members)" }
WHERE {
  ?x a owl:AllDifferent ; owl:members ?l .
  ?l rdf:rest* ?k .
  ?k rdf:first ?y ; rdf:rest+ ?m .
  ?m rdf:first ?z .
  ?y owl:sameAs ?z
} ;

# eq-diff3
# OWL 2 Profiles, Table 4
INSERT { ?y ss:contradiction "eq-diff3: it is the same as another of owl:AllDifferent (distinctMembers)" }
WHERE {
  ?x a owl:AllDifferent ; owl:distinctMembers ?l .
  ?l rdf:rest* ?k .
  ?k rdf:first ?y ; rdf:rest+ ?m .
  ?m rdf:first ?z .
  ?y owl:sameAs ?z
} ;

## Table 5: properties

# prp-irp
# OWL 2 Profiles, Table 5
INSERT { ?x ss:contradiction "prp-irp: an irreflexive property leads from it to itself" }
WHERE { ?p a owl:IrreflexiveProperty . ?x ?p ?x } ;

# prp-asyp
# OWL 2 Profiles, Table 5
INSERT { ?x ss:contradiction "prp-asyp: an asymmetric property leads from it to another and back" }
WHERE { ?p a owl:AsymmetricProperty . ?x ?p ?y . ?y ?p ?x } ;

# prp-pdw
# OWL 2 Profiles, Table 5
INSERT { ?x ss:contradiction "prp-pdw: two disjoint properties lead from it to the same" }
WHERE { ?p owl:propertyDisjointWith ?q . ?x ?p ?y . ?x ?q ?y } ;

# prp-adp
# OWL 2 Profiles, Table 5
INSERT { ?x ss:contradiction "prp-adp: two properties of owl:AllDisjointProperties lead from it to the same" }
WHERE {
  ?a a owl:AllDisjointProperties ; owl:members ?l .
  ?l rdf:rest* ?k .
  ?k rdf:first ?p ; rdf:rest+ ?m .
  ?m rdf:first ?q .
  ?x ?p ?y .
  ?x ?q ?y
} ;

# prp-npa1
# OWL 2 Profiles, Table 5
INSERT { ?x ss:contradiction "prp-npa1: it has a link that a negative assertion denies" }
WHERE { ?a owl:sourceIndividual ?x ; owl:assertionProperty ?p ; owl:targetIndividual ?y . ?x ?p ?y } ;

# prp-npa2
# OWL 2 Profiles, Table 5
INSERT { ?x ss:contradiction "prp-npa2: it has a value that a negative assertion denies" }
WHERE { ?a owl:sourceIndividual ?x ; owl:assertionProperty ?p ; owl:targetValue ?y . ?x ?p ?y } ;

## Table 6: classes

# cls-nothing2
# OWL 2 Profiles, Table 6
INSERT { ?x ss:contradiction "cls-nothing2: it is of owl:Nothing" }
WHERE { ?x a owl:Nothing } ;

# cls-com
# OWL 2 Profiles, Table 6
INSERT { ?x ss:contradiction "cls-com: it is of a class and of its complement" }
WHERE { ?c owl:complementOf ?d . ?x a ?c . ?x a ?d } ;

# cls-maxc1
# OWL 2 Profiles, Table 6
INSERT { ?u ss:contradiction "cls-maxc1: it has a value of a property of which it may have none" }
WHERE { ?x owl:maxCardinality "0"^^xsd:nonNegativeInteger ; owl:onProperty ?p . ?u a ?x . ?u ?p ?y } ;

# cls-maxqc1
# OWL 2 Profiles, Table 6
INSERT { ?u ss:contradiction "cls-maxqc1: it has a value of a property and class of which it may have none" }
WHERE {
  ?x owl:maxQualifiedCardinality "0"^^xsd:nonNegativeInteger ; owl:onProperty ?p ; owl:onClass ?c .
  ?u a ?x .
  ?u ?p ?y .
  ?y a ?c
} ;

# cls-maxqc2
# OWL 2 Profiles, Table 6
INSERT { ?u ss:contradiction "cls-maxqc2: it has a value of a property of which it may have none" }
WHERE {
  ?x owl:maxQualifiedCardinality "0"^^xsd:nonNegativeInteger ; owl:onProperty ?p ; owl:onClass owl:Thing .
  ?u a ?x .
  ?u ?p ?y
} ;

## Table 7: class axioms

# cax-dw
# OWL 2 Profiles, Table 7
INSERT { ?x ss:contradiction "cax-dw: it is of two disjoint classes" }
WHERE { ?c owl:disjointWith ?d . ?x a ?c . ?x a ?d } ;

# cax-adc
# OWL 2 Profiles, Table 7
INSERT { ?x ss:contradiction "cax-adc: it is of two classes of owl:AllDisjointClasses" }
WHERE {
  ?a a owl:AllDisjointClasses ; owl:members ?l .
  ?l rdf:rest* ?k .
  ?k rdf:first ?c ; rdf:rest+ ?m .
  ?m rdf:first ?d .
  ?x a ?c .
  ?x a ?d
} ;

## Literals of one functional property: prp-fp or cls-maxc2, dt-diff and eq-diff1 in one step

# dt-diff-fp
# OWL 2 Profiles, Table 5, 8 and 4
INSERT { ?x ss:contradiction "dt-diff-fp: it has two values of a functional property" }
WHERE {
  ?p a owl:FunctionalProperty .
  ?x ?p ?y .
  ?x ?p ?z FILTER(isLiteral(?y) && isLiteral(?z) && ?y != ?z)
} ;

# dt-diff-maxc2
# OWL 2 Profiles, Table 6, 8 and 4
INSERT { ?u ss:contradiction "dt-diff-maxc2: it has two values of a property of which it may have one" }
WHERE {
  ?x owl:maxCardinality "1"^^xsd:nonNegativeInteger ; owl:onProperty ?p .
  ?u a ?x .
  ?u ?p ?y .
  ?u ?p ?z FILTER(isLiteral(?y) && isLiteral(?z) && ?y != ?z)
} ;

## Literals of a stated datatype: prp-rng or cls-avf, and dt-not-type in one step

# dt-not-type-rng
# OWL 2 Profiles, Table 5 and 8
INSERT { ?x ss:contradiction "dt-not-type-rng: it has a value that is not of the range of the property" }
WHERE {
  ?p rdfs:range ?d FILTER(f:isOf("", ?d) IN (true, false))
  ?x ?p ?y FILTER(isLiteral(?y) && !f:isOf(?y, ?d))
} ;

# dt-not-type-avf
# OWL 2 Profiles, Table 6 and 8
INSERT { ?u ss:contradiction "dt-not-type-avf: it has a value that is not of the datatype of all its values" }
WHERE {
  ?x owl:allValuesFrom ?d ; owl:onProperty ?p FILTER(f:isOf("", ?d) IN (true, false))
  ?u a ?x .
  ?u ?p ?y FILTER(isLiteral(?y) && !f:isOf(?y, ?d))
} ;
