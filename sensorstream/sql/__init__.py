"""The tree of SQL that is made from SPARQL, and its text in the dialects of three engines."""
