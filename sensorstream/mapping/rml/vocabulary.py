"""The names of RML: the present ones, and the older ones that most files still use.

Source: RML-Core and RML-IO-Registry (W3C community group, http://w3id.org/rml/); the first RML
(http://semweb.mmlab.be/ns/rml#), which extends R2RML (W3C, 2012).
"""

from __future__ import annotations

from typing import Final

from sensorstream.model.terms import IRI
from sensorstream.model.vocabulary import SENSORSTREAM

RML: Final = "http://w3id.org/rml/"

_R2RML: Final = "http://www.w3.org/ns/r2rml#"
_OLDER: Final = (
    _R2RML,
    "http://semweb.mmlab.be/ns/rml#",
    "http://semweb.mmlab.be/ns/ql#",
    "http://semweb.mmlab.be/ns/fnml#",
    "http://w3id.org/rml/ql/",
)
OWN: Final = (RML, SENSORSTREAM)


def modern(iri: str) -> IRI:
    """The RML-Core name for a name of the older vocabularies; other names are unchanged."""
    for older in _OLDER:
        if iri.startswith(older):
            local = iri.removeprefix(older)
            # A table of R2RML has columns where other sources have references.
            return IRI(RML + ("reference" if older == _R2RML and local == "column" else local))
    return IRI(iri)


def short(iri: str) -> str:
    """A name of RML or SensorStream with its usual prefix."""
    for prefix, namespace in (("rml", RML), ("ss", SENSORSTREAM)):
        if iri.startswith(namespace):
            return f"{prefix}:{iri.removeprefix(namespace)}"
    return f"<{iri}>"
