# What contradicts itself by datatypes: literals without a value, or not of the range of a property.
# Source: RDF 1.1 Semantics (W3C, 2014), sections 7.1 and 9, https://www.w3.org/TR/rdf11-mt/
#
# A conclusion with ss:contradiction refuses the message from which it follows.
# f:isOf("", ?d) has a value if the values of the datatype ?d are known; a class has none.
# ill-typed looks at all literals: leave it out of a copy where they come from mappings, which make
# valid ones only.

PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX ss: <urn:sensorstream:mapping#>
PREFIX f: <urn:sensorstream:function:>

# ill-typed
# RDF 1.1 Semantics, 7.1
INSERT { ?x ss:contradiction "ill-typed: it has a literal that is not valid for its datatype" }
WHERE { ?x ?p ?y FILTER(isLiteral(?y) && !f:isOf(?y, DATATYPE(?y))) } ;

# range-clash
# RDF 1.1 Semantics, 9: rdfs3 for a literal
INSERT { ?x ss:contradiction "range-clash: it has a value that is not of the range of the property" }
WHERE {
  ?p rdfs:range ?d FILTER(f:isOf("", ?d) IN (true, false))
  ?x ?p ?y FILTER(isLiteral(?y) && !f:isOf(?y, ?d))
} ;
