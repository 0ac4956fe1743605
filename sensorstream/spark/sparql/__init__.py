"""SPARQL over history, answered by Spark: the tree of sql/sparql in Spark's SQL."""
