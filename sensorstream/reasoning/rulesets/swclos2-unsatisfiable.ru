# What contradicts itself by SWCLOS2.
# Source: Koide, SWCLOS2 manual, Table 13.5 (unsatisfiability rules).
#
# A conclusion with ss:contradiction refuses the message from which it follows. The conditions on
# domains and ranges refuse an ontology although nobody may use the property.

PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX ss: <urn:sensorstream:mapping#>

# oneof-condition-unsatisfiable
# SWCLOS2 manual, Table 13.5
INSERT { ?y ss:contradiction "oneof-condition-unsatisfiable: it is of an enumeration and different from each of its members" }
WHERE { ?u owl:oneOf ?l . ?y a ?u . EACH ?x IN ?l { ?y owl:differentFrom ?x } } ;

# sameas-condition-unsatisfiable
# SWCLOS2 manual, Table 13.5
INSERT { ?x ss:contradiction "sameas-condition-unsatisfiable: it is the same as another and different from it" }
WHERE { ?x owl:sameAs ?y . ?x owl:differentFrom ?y } ;

# disjointwith-condition-unsatisfiable
# SWCLOS2 manual, Table 13.5
INSERT { ?u ss:contradiction "disjointwith-condition-unsatisfiable: it is disjoint with a class and equivalent to it" }
WHERE { ?u owl:disjointWith ?v . ?u owl:equivalentClass ?v } ;

# disjoint-instances-condition-unsatisfiable
# SWCLOS2 manual, Table 13.5
INSERT { ?x ss:contradiction "disjoint-instances-condition-unsatisfiable: it is of two disjoint classes" }
WHERE { ?u owl:disjointWith ?v . ?x a ?u . ?x a ?v } ;

# domain-condition-unsatisfiable
# SWCLOS2 manual, Table 13.5
INSERT { ?x ss:contradiction "domain-condition-unsatisfiable: its domains are disjoint" }
WHERE { ?u owl:disjointWith ?v . ?x rdfs:domain ?u . ?x rdfs:domain ?v } ;

# range-condition-unsatisfiable
# SWCLOS2 manual, Table 13.5
INSERT { ?x ss:contradiction "range-condition-unsatisfiable: its ranges are disjoint" }
WHERE { ?u owl:disjointWith ?v . ?x rdfs:range ?u . ?x rdfs:range ?v } ;

# complementof-condition-unsatisfiable
# SWCLOS2 manual, Table 13.5
INSERT { ?x ss:contradiction "complementof-condition-unsatisfiable: it is of a class and of its complement" }
WHERE { ?u owl:complementOf ?v . ?x a ?u . ?x a ?v } ;
