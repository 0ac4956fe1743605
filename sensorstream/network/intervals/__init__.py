"""Patterns in time: the operators of EP-SPARQL over occurrences with intervals.

Source: Anicic et al., "EP-SPARQL", 2011, section 4.2; where this differs, and why, is told in
docs/decisions/018-patterns-in-time.md.
"""
