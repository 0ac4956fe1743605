"""The operators of the algebra, each with insertion and deletion defined."""
