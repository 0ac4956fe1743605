"""What is in force and how it is changed: rules, ontology, queries, webhooks, and their files."""
