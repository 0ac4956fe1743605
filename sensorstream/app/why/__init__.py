"""Why something is so, or is not; and what would be with other rules or another ontology."""
