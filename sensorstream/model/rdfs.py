"""The names of RDFS that the code needs to know."""

from __future__ import annotations

from typing import Final

from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import RDFS

DOMAIN: Final = IRI(f"{RDFS}domain")
LABEL: Final = IRI(f"{RDFS}label")
RANGE: Final = IRI(f"{RDFS}range")
SUBCLASS_OF: Final = IRI(f"{RDFS}subClassOf")
SUBPROPERTY_OF: Final = IRI(f"{RDFS}subPropertyOf")
