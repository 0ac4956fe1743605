"""The facts that an ontology's bounds leave open, and the reasoner's answers about them alone."""
