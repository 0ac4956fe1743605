"""REST, SOAP, SPARQL and SQL over HTTP."""
