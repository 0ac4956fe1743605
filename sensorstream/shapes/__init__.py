"""Shapes of SHACL: read, validated by pySHACL, compiled to continuous queries."""
