"""The prefixes that most ontologies of tests begin with."""

from __future__ import annotations

from typing import Final

TURTLE: Final = """@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> ."""
