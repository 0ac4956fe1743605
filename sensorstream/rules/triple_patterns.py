"""Triple templates of SPARQL: read once, filled in with each solution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.rules.conditions import Solution
from sensorstream.sparql.algebra import TriplePattern, Variable


class Var(str):
    """The name of a variable in a triple template."""

    __slots__ = ()


Slot: TypeAlias = Term | Var
Pattern: TypeAlias = tuple[Slot, Slot, Slot]


def template(triples: Iterable[TriplePattern]) -> tuple[Pattern, ...]:
    """The triples to fill in, each once; they hold no path, which the parser guarantees."""
    return tuple(
        dict.fromkeys((_slot(t.subject), _slot(t.predicate), _slot(t.object)) for t in triples)
    )


def _slot(part: object) -> Slot:
    if isinstance(part, Variable):
        return Var(part.name)
    assert isinstance(part, Term), "a path is not allowed in a template"
    return part


def fill(patterns: tuple[Pattern, ...], solution: Solution) -> Iterator[Triple]:
    """The template's triples; one with an unbound variable or a literal subject is left out.

    Source: SPARQL 1.1 Query Language, section 16.2.
    """
    for pattern in patterns:
        s, p, o = (solution.get(slot) if isinstance(slot, Var) else slot for slot in pattern)
        if s is None or o is None or not isinstance(p, IRI) or isinstance(s, Literal):
            continue
        yield s, p, o
