"""The names of RDF that the code needs to know."""

from __future__ import annotations

from typing import Final

from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import RDF

FIRST: Final = IRI(f"{RDF}first")
NIL: Final = IRI(f"{RDF}nil")
REST: Final = IRI(f"{RDF}rest")
TYPE: Final = IRI(f"{RDF}type")
