"""A first ontology and first mapping rules for a message, to be changed by people."""
