"""WINDOW goes down to the blocks of triples."""

from __future__ import annotations

from typing import Any

from sensorstream.model.terms import IRI
from sensorstream.sparql.algebra import BGP, Graph, Pattern, Service, Window
from sensorstream.sparql.walk import children, renewed


def windows_down(pattern: Pattern) -> Pattern:
    """``WINDOW w { A FILTER(c) }`` becomes ``WINDOW w { A } FILTER(c)``, and so on for all in it.

    A window only selects the graph that blocks of triples match (RSP-QL, as GRAPH in SPARQL 1.1,
    section 18.6), those within EXISTS included; all other operators work on solutions and read no
    graph. Patterns from inside a window can then be moved, ordered and shared like all others. Of
    two nested windows the inner one applies, and GRAPH within a window matches the graph.
    """
    moved: Pattern = _within(pattern, None)
    return moved


def _within(node: Any, window: IRI | None) -> Any:
    match node:
        case Window(IRI() as name, inner):
            return _within(inner, name)
        case BGP(patterns):
            return Window(window, node) if patterns and window is not None else node
        case Graph(name, inner):
            return Graph(name, _within(inner, None))
        case Service():
            return node
    new: list[object] = []
    for each in children(node):
        new.append(_within(each, window))
    return renewed(node, new)
