"""The same history in bulk on Spark; importing this starts nothing."""
