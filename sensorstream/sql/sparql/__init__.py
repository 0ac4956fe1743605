"""SPARQL over history: the algebra of a query as one SQL query, a sqlglot tree."""
