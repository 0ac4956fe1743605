"""One typed tree of SQL: made of SPARQL, written in the dialects of three engines."""
