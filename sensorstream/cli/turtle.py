"""Triples as Turtle, for people."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from sensorstream.model.terms import Triple

if TYPE_CHECKING:
    from sensorstream.mapping.plan import Mapped


def mapped_turtle(
    mapped: Mapped, prefixes: Mapping[str, str], *, merged: bool = False
) -> tuple[str, str]:
    """The statements of a message in Turtle: the prefix lines, and all the rest.

    With named graphs it is TriG, or the merge of all graphs, if ``merged``.
    """
    return _parted(_serialized(_nquads(mapped, merged=merged), prefixes))


def turtle(triples: Iterable[Triple], prefixes: Mapping[str, str]) -> tuple[str, str]:
    """Triples in Turtle: the prefix lines, and all the rest."""
    return _parted(_serialized((f"{s.n3} {p.n3} {o.n3} ." for s, p, o in triples), prefixes))


def _parted(text: str) -> tuple[str, str]:
    lines = text.splitlines()
    head = [line for line in lines if line.startswith("@prefix")]
    return "\n".join(head), "\n".join(line for line in lines if not line.startswith("@prefix"))


def _nquads(mapped: Mapped, *, merged: bool) -> Iterator[str]:
    for event in mapped.events:
        graphs: dict[Triple, list[str]] = {}
        for triple, graph in () if merged else event.graphs:
            graphs.setdefault(triple, []).append("" if graph is None else f" {graph.n3}")
        for triple in event.triples:
            s, p, o = triple
            for place in graphs.get(triple, ("",)):
                yield f"{s.n3} {p.n3} {o.n3}{place} ."


def _serialized(nquads: Iterable[str], prefixes: Mapping[str, str]) -> str:
    import pyoxigraph

    statements = pyoxigraph.parse("\n".join(nquads), format=pyoxigraph.RdfFormat.N_QUADS)
    text = io.BytesIO()
    # Turtle is TriG without named graphs.
    pyoxigraph.serialize(
        statements, text, format=pyoxigraph.RdfFormat.TRIG, prefixes=dict(prefixes)
    )
    return text.getvalue().decode()
