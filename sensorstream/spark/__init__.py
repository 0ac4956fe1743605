"""Bulk queries over the same history on Spark; the import starts nothing."""
