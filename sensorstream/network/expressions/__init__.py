"""SPARQL expressions (SPARQL 1.1, section 17) as functions of a row.

A value is a term; ``None`` stands for unbound and for every type error.
"""
