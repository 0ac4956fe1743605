# What SWCLOS2 adds to pD*.
# Source: Koide, SWCLOS2 manual, Table 13.4 (additional entailment rules); its Table 13.3 is pdstar.
#
# rule12a and rule12b stand here as the manual prints them: they give an inverse property the domain
# and the range of the property. By the meaning of owl:inverseOf these change places; leave the two
# rules out of a copy if that matters. rule1a and rule1b hold for all triples.

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>

# rule1a
# SWCLOS2 manual, Table 13.4: default top in OWL
INSERT { ?v a owl:Thing }
WHERE { ?v ?p ?w } ;

# rule1b
# SWCLOS2 manual, Table 13.4: default top in OWL
INSERT { ?w a owl:Thing }
WHERE { ?v ?p ?w } ;

# rule2a
# SWCLOS2 manual, Table 13.4: default metaclass for intersections
INSERT { ?v a owl:Class }
WHERE { ?u owl:intersectionOf ?l . ?l rdf:rest*/rdf:first ?v } ;

# rule2b
# SWCLOS2 manual, Table 13.4: default metaclass for unions
INSERT { ?v a owl:Class }
WHERE { ?u owl:unionOf ?l . ?l rdf:rest*/rdf:first ?v } ;

# rule3
# SWCLOS2 manual, Table 13.4: default class for distincts
INSERT { ?v a owl:Thing }
WHERE { ?u owl:distinctMembers ?l . ?l rdf:rest*/rdf:first ?v } ;

# rule4
# SWCLOS2 manual, Table 13.4: permeation of disjointness
INSERT { ?x owl:disjointWith ?y }
WHERE { ?u owl:disjointWith ?v . ?x rdfs:subClassOf ?u . ?y rdfs:subClassOf ?v } ;

# rule5
# SWCLOS2 manual, Table 13.4: complements are mutual
INSERT { ?v owl:complementOf ?u }
WHERE { ?u owl:complementOf ?v } ;

# rule6
# SWCLOS2 manual, Table 13.4: complements are disjoint
INSERT { ?u owl:disjointWith ?v }
WHERE { ?u owl:complementOf ?v } ;

# rule7
# SWCLOS2 manual, Table 13.4: members of oneOf; cls-oo in OWL 2 RL
INSERT { ?x a ?u }
WHERE { ?u owl:oneOf ?l . ?l rdf:rest*/rdf:first ?x } ;

# rule8
# SWCLOS2 manual, Table 13.4: domain and range of a symmetric property
INSERT { ?c owl:equivalentClass ?d }
WHERE { ?p a owl:SymmetricProperty ; rdfs:domain ?c ; rdfs:range ?d } ;

# rule9
# SWCLOS2 manual, Table 13.4: equivalence of properties is mutual
INSERT { ?q owl:equivalentProperty ?p }
WHERE { ?p owl:equivalentProperty ?q } ;

# rule10
# SWCLOS2 manual, Table 13.4: equivalence of properties is transitive
INSERT { ?p owl:equivalentProperty ?r }
WHERE { ?p owl:equivalentProperty ?q . ?q owl:equivalentProperty ?r } ;

# rule11a
# SWCLOS2 manual, Table 13.4: domains of equivalent properties
INSERT { ?q rdfs:domain ?u }
WHERE { ?p owl:equivalentProperty ?q ; rdfs:domain ?u } ;

# rule11b
# SWCLOS2 manual, Table 13.4: ranges of equivalent properties
INSERT { ?q rdfs:range ?u }
WHERE { ?p owl:equivalentProperty ?q ; rdfs:range ?u } ;

# rule12a
# SWCLOS2 manual, Table 13.4: domains of inverse properties, as printed
INSERT { ?q rdfs:domain ?u }
WHERE { ?p owl:inverseOf ?q ; rdfs:domain ?u } ;

# rule12b
# SWCLOS2 manual, Table 13.4: ranges of inverse properties, as printed
INSERT { ?q rdfs:range ?u }
WHERE { ?p owl:inverseOf ?q ; rdfs:range ?u } ;

# rule13
# SWCLOS2 manual, Table 13.4: difference is mutual
INSERT { ?y owl:differentFrom ?x }
WHERE { ?x owl:differentFrom ?y } ;

# rule14
# SWCLOS2 manual, Table 13.4: intersection; cls-int1 in OWL 2 RL
INSERT { ?x a ?u }
WHERE { ?u owl:intersectionOf ?l . EACH ?v IN ?l { ?x a ?v } } ;
