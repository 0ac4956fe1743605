# The axiomatic triples of RDFS, and the datatypes that are known (rdfs1).
# Source: RDF 1.1 Semantics (W3C, 2014), section 9. Those of rdf:_1, rdf:_2, ...
# are in rdfs-containers.

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>

# domains
# RDF 1.1 Semantics, 9
INSERT DATA {
  rdf:type rdfs:domain rdfs:Resource .
  rdfs:domain rdfs:domain rdf:Property .
  rdfs:range rdfs:domain rdf:Property .
  rdfs:subPropertyOf rdfs:domain rdf:Property .
  rdfs:subClassOf rdfs:domain rdfs:Class .
  rdf:subject rdfs:domain rdf:Statement .
  rdf:predicate rdfs:domain rdf:Statement .
  rdf:object rdfs:domain rdf:Statement .
  rdfs:member rdfs:domain rdfs:Resource .
  rdf:first rdfs:domain rdf:List .
  rdf:rest rdfs:domain rdf:List .
  rdfs:seeAlso rdfs:domain rdfs:Resource .
  rdfs:isDefinedBy rdfs:domain rdfs:Resource .
  rdfs:comment rdfs:domain rdfs:Resource .
  rdfs:label rdfs:domain rdfs:Resource .
  rdf:value rdfs:domain rdfs:Resource .
} ;

# ranges
# RDF 1.1 Semantics, 9
INSERT DATA {
  rdf:type rdfs:range rdfs:Class .
  rdfs:domain rdfs:range rdfs:Class .
  rdfs:range rdfs:range rdfs:Class .
  rdfs:subPropertyOf rdfs:range rdf:Property .
  rdfs:subClassOf rdfs:range rdfs:Class .
  rdf:subject rdfs:range rdfs:Resource .
  rdf:predicate rdfs:range rdfs:Resource .
  rdf:object rdfs:range rdfs:Resource .
  rdfs:member rdfs:range rdfs:Resource .
  rdf:first rdfs:range rdfs:Resource .
  rdf:rest rdfs:range rdf:List .
  rdfs:seeAlso rdfs:range rdfs:Resource .
  rdfs:isDefinedBy rdfs:range rdfs:Resource .
  rdfs:comment rdfs:range rdfs:Literal .
  rdfs:label rdfs:range rdfs:Literal .
  rdf:value rdfs:range rdfs:Resource .
} ;

# hierarchy
# RDF 1.1 Semantics, 9
INSERT DATA {
  rdf:Alt rdfs:subClassOf rdfs:Container .
  rdf:Bag rdfs:subClassOf rdfs:Container .
  rdf:Seq rdfs:subClassOf rdfs:Container .
  rdfs:ContainerMembershipProperty rdfs:subClassOf rdf:Property .
  rdfs:isDefinedBy rdfs:subPropertyOf rdfs:seeAlso .
  rdfs:Datatype rdfs:subClassOf rdfs:Class .
} ;

# rdfs1
# RDF 1.1 Semantics, 9.2.1: the datatypes of SPARQL's operators
INSERT DATA {
  xsd:string a rdfs:Datatype .
  xsd:boolean a rdfs:Datatype .
  xsd:decimal a rdfs:Datatype .
  xsd:integer a rdfs:Datatype .
  xsd:float a rdfs:Datatype .
  xsd:double a rdfs:Datatype .
  xsd:date a rdfs:Datatype .
  xsd:time a rdfs:Datatype .
  xsd:dateTime a rdfs:Datatype .
  xsd:duration a rdfs:Datatype .
  xsd:dayTimeDuration a rdfs:Datatype .
  xsd:yearMonthDuration a rdfs:Datatype .
} ;
