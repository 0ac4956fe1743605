"""The rules with which it can be told why a reasoner inferred a triple."""

from __future__ import annotations

from typing import Final

from sensorstream.reasoning.reasoner import Reasoner
from sensorstream.reasoning.resilient import ResilientReasoner
from sensorstream.reasoning.rulesets.reader import read
from sensorstream.reasoning.rulesets.reasoner import RuleReasoner
from sensorstream.reasoning.rulesets.rule_set import RuleSet
from sensorstream.reasoning.schema_closure import SchemaClosure

# At run time :mod:`sensorstream.reasoning.schema_closure` composes the same from the schema.

TEXT: Final = """
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
"""


def plain_rules() -> RuleSet:
    """The rules of the plain profile."""
    return read(TEXT, "plain")


def rules_of(reasoner: Reasoner) -> RuleSet | None:
    """The rules of a reasoner; None: it has none, because it is HermiT or Pellet, or infers
    nothing.
    """
    if isinstance(reasoner, RuleReasoner):
        return reasoner.rule_set
    if isinstance(reasoner, SchemaClosure):
        return plain_rules()
    if isinstance(reasoner, ResilientReasoner) and reasoner.degraded:
        return plain_rules()
    return None
