"""Sensors with a value, told by messages such as ``<m id='a' t='1' v='31'/>``."""

from __future__ import annotations

from typing import Final

ONTOLOGY: Final = """
@prefix : <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:Sensor a owl:Class . :value a owl:DatatypeProperty .
"""
MAPPING: Final = """
prefix : <http://example.org/>
prefix xsd: <http://www.w3.org/2001/XMLSchema#>
mapping value on message {/m}
then update individual :{@id} a :Sensor at {@t} ; :value {@v}^^xsd:integer .
"""
