"""How ontologies of others fare: loaded, reasoned with, compared with owlready2, timed."""
