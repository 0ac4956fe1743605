"""Questions in SPARQL to history: the question, the relations it reads, the answer in a format."""
