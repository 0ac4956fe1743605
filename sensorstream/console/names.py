"""Short names for people; the whole ones stand in the tooltips."""

from __future__ import annotations

import re
from typing import Final

_IRI: Final = re.compile(r"<([^<>\s]*)>")
_TYPED: Final = re.compile(r'("(?:[^"\\]|\\.)*")\^\^<[^<>\s]*>')
TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def local_name(iri: str) -> str:
    """The end of an IRI, by which people know it; "a" for the type of something."""
    if iri == TYPE:
        return "a"
    return iri.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1] or iri


def short(statement: str) -> str:
    """A statement or term in N-Triples, with local names and without datatypes."""
    return _IRI.sub(lambda found: local_name(found[1]), _TYPED.sub(r"\1", statement))
