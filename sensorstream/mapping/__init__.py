"""Mapping rules: an XML message becomes an event."""
