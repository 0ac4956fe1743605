"""SPARQL over history, answered by Spark: the tree of history/sparql in Spark's SQL."""
