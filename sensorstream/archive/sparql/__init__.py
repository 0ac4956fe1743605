"""SPARQL over the archive: the SQL tree of a query, rewritten for DuckDB and run there."""
