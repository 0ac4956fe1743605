"""What follows from the ontology: the plain closure, HermiT and Pellet."""
