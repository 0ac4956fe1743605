# ρdf: subproperties, subclasses, domains and ranges, and nothing else.
# Source: Muñoz, Pérez, Gutierrez, "Minimal deductive systems for RDF", 2007, Table 1.

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

# 2(a)
# Subproperty, transitive; rdfs5
INSERT { ?a rdfs:subPropertyOf ?c }
WHERE { ?a rdfs:subPropertyOf ?b . ?b rdfs:subPropertyOf ?c } ;

# 2(b)
# Subproperty; rdfs7
INSERT { ?s ?q ?o }
WHERE { ?p rdfs:subPropertyOf ?q . ?s ?p ?o FILTER(!sameTerm(?p, ?q)) } ;

# 3(a)
# Subclass, transitive; rdfs11
INSERT { ?a rdfs:subClassOf ?c }
WHERE { ?a rdfs:subClassOf ?b . ?b rdfs:subClassOf ?c } ;

# 3(b)
# Subclass; rdfs9
INSERT { ?s a ?d }
WHERE { ?c rdfs:subClassOf ?d . ?s a ?c FILTER(!sameTerm(?c, ?d)) } ;

# 4(a)
# Typing by the domain; rdfs2
INSERT { ?s a ?c }
WHERE { ?p rdfs:domain ?c . ?s ?p ?o } ;

# 4(b)
# Typing by the range; rdfs3
INSERT { ?o a ?c }
WHERE { ?p rdfs:range ?c . ?s ?p ?o } ;

# 5(a)
# Typing by the domain of a property above
INSERT { ?s a ?c }
WHERE { ?p rdfs:domain ?c . ?q rdfs:subPropertyOf ?p . ?s ?q ?o } ;

# 5(b)
# Typing by the range of a property above
INSERT { ?o a ?c }
WHERE { ?p rdfs:range ?c . ?q rdfs:subPropertyOf ?p . ?s ?q ?o } ;

# 6(a)
# Each property is a subproperty of itself
INSERT { ?p rdfs:subPropertyOf ?p }
WHERE { ?s ?p ?o } ;

# 6(b)
# Each property is a subproperty of itself: those of a hierarchy
INSERT { ?p rdfs:subPropertyOf ?p . ?q rdfs:subPropertyOf ?q }
WHERE { ?p rdfs:subPropertyOf ?q } ;

# 6(c)
# Each property is a subproperty of itself: those of ρdf
INSERT DATA {
  rdfs:subPropertyOf rdfs:subPropertyOf rdfs:subPropertyOf .
  rdfs:subClassOf rdfs:subPropertyOf rdfs:subClassOf .
  rdfs:domain rdfs:subPropertyOf rdfs:domain .
  rdfs:range rdfs:subPropertyOf rdfs:range .
  rdf:type rdfs:subPropertyOf rdf:type .
} ;

# 6(d) domain
# Each property is a subproperty of itself: those with a domain
INSERT { ?p rdfs:subPropertyOf ?p }
WHERE { ?p rdfs:domain ?c } ;

# 6(d) range
# Each property is a subproperty of itself: those with a range
INSERT { ?p rdfs:subPropertyOf ?p }
WHERE { ?p rdfs:range ?c } ;

# 7(a)
# Each class is a subclass of itself: those of a hierarchy
INSERT { ?c rdfs:subClassOf ?c . ?d rdfs:subClassOf ?d }
WHERE { ?c rdfs:subClassOf ?d } ;

# 7(b) domain
# Each class is a subclass of itself: domains
INSERT { ?c rdfs:subClassOf ?c }
WHERE { ?p rdfs:domain ?c } ;

# 7(b) range
# Each class is a subclass of itself: ranges
INSERT { ?c rdfs:subClassOf ?c }
WHERE { ?p rdfs:range ?c } ;

# 7(b) type
# Each class is a subclass of itself: those with instances
INSERT { ?c rdfs:subClassOf ?c }
WHERE { ?s a ?c } ;
