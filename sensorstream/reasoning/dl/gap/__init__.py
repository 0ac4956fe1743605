"""What the bounds of an ontology leave open, and the reasoner's answers to that alone."""
