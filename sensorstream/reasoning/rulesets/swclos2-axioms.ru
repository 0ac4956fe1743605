# What SWCLOS2 adds to the definition of OWL.
# Source: Koide, SWCLOS2 manual, Table 13.2 (additional axioms).

PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>

# axiom1 and axiom2
# SWCLOS2 manual, Table 13.2
INSERT DATA {
  owl:Thing rdfs:subClassOf rdfs:Resource .
  owl:Class rdfs:subClassOf owl:Thing .
} ;
