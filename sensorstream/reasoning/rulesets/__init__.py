"""Entailment by rules that people read and edit: their files, and how a schema specialises them."""
