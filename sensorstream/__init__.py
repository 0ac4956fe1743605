"""Semantic stream processing: XML sensor messages become knowledge, alerts and history."""
