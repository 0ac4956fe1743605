"""Questions in SPARQL to history: what is asked, of what, and the answer in a format."""
