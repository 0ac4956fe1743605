"""The rules, ontology, queries, webhooks and files in force, and their changes."""
