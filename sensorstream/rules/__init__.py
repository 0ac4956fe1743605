"""Semantic rules: on a change, if a condition holds, then act."""
