"""Entailment as rules that people read and edit: their files, and what a schema makes of them."""
