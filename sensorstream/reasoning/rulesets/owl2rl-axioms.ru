# What holds in any case by OWL 2 RL: rules without premises.
# Source: OWL 2 Web Ontology Language Profiles (W3C, 2012), Tables 5, 6 and 8.

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>

# prp-ap
# OWL 2 Profiles, Table 5; OWL 2 Structural Specification, 5.5
INSERT DATA {
  rdfs:label a owl:AnnotationProperty .
  rdfs:comment a owl:AnnotationProperty .
  rdfs:seeAlso a owl:AnnotationProperty .
  rdfs:isDefinedBy a owl:AnnotationProperty .
  owl:deprecated a owl:AnnotationProperty .
  owl:versionInfo a owl:AnnotationProperty .
  owl:priorVersion a owl:AnnotationProperty .
  owl:backwardCompatibleWith a owl:AnnotationProperty .
  owl:incompatibleWith a owl:AnnotationProperty .
} ;

# cls-thing and cls-nothing1
# OWL 2 Profiles, Table 6
INSERT DATA {
  owl:Thing a owl:Class .
  owl:Nothing a owl:Class .
} ;

# dt-type1
# OWL 2 Profiles, Table 8
INSERT DATA {
  rdf:PlainLiteral a rdfs:Datatype .
  rdf:XMLLiteral a rdfs:Datatype .
  rdfs:Literal a rdfs:Datatype .
  xsd:decimal a rdfs:Datatype .
  xsd:integer a rdfs:Datatype .
  xsd:nonNegativeInteger a rdfs:Datatype .
  xsd:nonPositiveInteger a rdfs:Datatype .
  xsd:positiveInteger a rdfs:Datatype .
  xsd:negativeInteger a rdfs:Datatype .
  xsd:long a rdfs:Datatype .
  xsd:int a rdfs:Datatype .
  xsd:short a rdfs:Datatype .
  xsd:byte a rdfs:Datatype .
  xsd:unsignedLong a rdfs:Datatype .
  xsd:unsignedInt a rdfs:Datatype .
  xsd:unsignedShort a rdfs:Datatype .
  xsd:unsignedByte a rdfs:Datatype .
  xsd:float a rdfs:Datatype .
  xsd:double a rdfs:Datatype .
  xsd:string a rdfs:Datatype .
  xsd:normalizedString a rdfs:Datatype .
  xsd:token a rdfs:Datatype .
  xsd:language a rdfs:Datatype .
  xsd:Name a rdfs:Datatype .
  xsd:NCName a rdfs:Datatype .
  xsd:NMTOKEN a rdfs:Datatype .
  xsd:boolean a rdfs:Datatype .
  xsd:hexBinary a rdfs:Datatype .
  xsd:base64Binary a rdfs:Datatype .
  xsd:anyURI a rdfs:Datatype .
  xsd:dateTime a rdfs:Datatype .
  xsd:dateTimeStamp a rdfs:Datatype .
} ;
