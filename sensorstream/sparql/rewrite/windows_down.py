"""WINDOW names one window, and goes down to the blocks of triples."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from typing import Any

from sensorstream.model.terms import IRI
from sensorstream.sparql.algebra import (
    BGP,
    Graph,
    Join,
    Pattern,
    Service,
    Union,
    Values,
    Variable,
    Window,
)
from sensorstream.sparql.walk import children, renewed, replaced


def windows_named(pattern: Pattern, windows: Collection[IRI]) -> Pattern:
    """``WINDOW ?w { A }`` becomes the union of A in each window, with its name as ?w.

    Source: RSP-QL, section 4, as GRAPH ?g in SPARQL 1.1, section 18.6.
    """

    def change(node: object) -> Pattern | None:
        if not windows or not isinstance(node, Window) or not isinstance(node.name, Variable):
            return None
        inner, variables = replaced(node.pattern, change), (node.name,)
        each: list[Pattern] = [
            Join(Values(variables, ((name,),)), Window(name, inner)) for name in windows
        ]
        return reduce(Union, each[1:], each[0])

    made: Pattern = replaced(pattern, change)
    return made


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
