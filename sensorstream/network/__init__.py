"""Continuous queries as a network of operators: deltas of triples in, deltas of solutions out."""
