"""The cache knowledge base: one index over the static, window and inferred graphs."""
