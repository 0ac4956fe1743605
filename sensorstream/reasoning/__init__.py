"""Inference from the ontology: the plain schema closure, HermiT and Pellet."""
