"""Questions in SPARQL to the cache, answered in processes that can be ended."""
