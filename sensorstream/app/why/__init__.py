"""Explanations of why something is so, or is not; and trials of other rules or another ontology."""
