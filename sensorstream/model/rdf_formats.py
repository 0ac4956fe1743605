"""The formats of RDF: the one table of their names, media types and endings of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

RDF_FORMATS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "turtle": ("text/turtle", (".ttl", ".turtle", ".n3")),
    "ntriples": ("application/n-triples", (".nt", ".ntriples")),
    "rdfxml": ("application/rdf+xml", (".rdf", ".owl", ".xml")),
    "jsonld": ("application/ld+json", (".jsonld", ".json")),
    "trig": ("application/trig", (".trig",)),
    "nquads": ("application/n-quads", (".nq", ".nquads")),
}
"""The media type and the endings of each format, the usual ending first; the preferred formats
first.
"""
RDF_TYPES: Final = {ending: kind for kind, ends in RDF_FORMATS.values() for ending in ends}
"""The media type of each ending."""
RDF_ENDINGS: Final = ", ".join(ends[0] for _, ends in RDF_FORMATS.values())
"""The usual endings, for people."""
