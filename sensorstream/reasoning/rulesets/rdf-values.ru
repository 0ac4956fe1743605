# Literals by their values: what is said of a number or a boolean is said of its canonical form, too.
# Source: RDF 1.1 Semantics (W3C, 2014), section 7, https://www.w3.org/TR/rdf11-mt/ : literals that
# have the same value denote the same thing. Canonical forms: XML Schema 1.1 part 2, appendix E.
#
# Beside other sets: `01` and `1.0` are keys and values of owl:hasValue that `1` is. Ask for values in
# their canonical form: `1`, not `01`. It adds a triple for each literal of another form.
# A literal with spaces around it is not valid in RDF, and has no value.
# Not here: times (one moment in two time zones is two values).

PREFIX f: <urn:sensorstream:function:>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>

# value-integer
# RDF 1.1 Semantics, 7: the integers are decimals, and all types derived from them have their values
INSERT { ?x ?p ?v }
WHERE {
  ?x ?p ?y
  FILTER(f:isOf(?y, DATATYPE(?y)) && isNumeric(?y) && DATATYPE(?y) NOT IN (xsd:float, xsd:double))
  BIND(xsd:integer(?y) AS ?v)
  FILTER(?v = ?y && !sameTerm(?v, ?y))
} ;

# value-decimal
# RDF 1.1 Semantics, 7
INSERT { ?x ?p ?v }
WHERE {
  ?x ?p ?y
  FILTER(f:isOf(?y, DATATYPE(?y)) && DATATYPE(?y) = xsd:decimal)
  BIND(xsd:decimal(?y) AS ?v)
  FILTER(xsd:integer(?y) != ?y && !sameTerm(?v, ?y))
} ;

# value-float
# RDF 1.1 Semantics, 7
INSERT { ?x ?p ?v }
WHERE {
  ?x ?p ?y
  FILTER(f:isOf(?y, DATATYPE(?y)) && DATATYPE(?y) = xsd:float)
  # Numbers that are computed have no negative zero, which is another value.
  FILTER(?y != 0 || !STRSTARTS(STR(?y), "-"))
  BIND(xsd:float(?y) AS ?v)
  FILTER(!sameTerm(?v, ?y))
} ;

# value-double
# RDF 1.1 Semantics, 7
INSERT { ?x ?p ?v }
WHERE {
  ?x ?p ?y
  FILTER(f:isOf(?y, DATATYPE(?y)) && DATATYPE(?y) = xsd:double)
  # Numbers that are computed have no negative zero, which is another value.
  FILTER(?y != 0 || !STRSTARTS(STR(?y), "-"))
  BIND(xsd:double(?y) AS ?v)
  FILTER(!sameTerm(?v, ?y))
} ;

# value-boolean
# RDF 1.1 Semantics, 7
INSERT { ?x ?p ?v }
WHERE {
  ?x ?p ?y
  FILTER(f:isOf(?y, DATATYPE(?y)) && DATATYPE(?y) = xsd:boolean)
  BIND(xsd:boolean(?y) AS ?v)
  FILTER(!sameTerm(?v, ?y))
} ;
