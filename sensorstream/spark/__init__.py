"""The same history in bulk on Spark."""
