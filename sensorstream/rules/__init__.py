"""Semantic rules: a situation in the knowledge base becomes an action."""
