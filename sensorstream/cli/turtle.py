"""Triples as Turtle, for people."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping

from sensorstream.model.terms import Triple


def turtle(triples: Iterable[Triple], prefixes: Mapping[str, str]) -> tuple[str, str]:
    """Triples in Turtle: the prefix lines, and all the rest.

    Raises:
        SyntaxError: a term is no term of RDF.
    """
    import pyoxigraph

    text = "\n".join(f"{s.n3} {p.n3} {o.n3} ." for s, p, o in triples)
    statements = pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_TRIPLES)
    written = io.BytesIO()
    pyoxigraph.serialize(
        [quad.triple for quad in statements],
        written,
        format=pyoxigraph.RdfFormat.TURTLE,
        prefixes=dict(prefixes),
    )
    lines = written.getvalue().decode().splitlines()
    head = [line for line in lines if line.startswith("@prefix")]
    return "\n".join(head), "\n".join(line for line in lines if not line.startswith("@prefix"))
