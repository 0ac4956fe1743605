"""Triple templates of SPARQL: read once, filled in with each solution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import pyoxigraph as ox

from sensorstream.kb.oxigraph import from_oxigraph
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.rules.conditions import Solution
from sensorstream.rules.sparql_text import SparqlText

_VARIABLE: Final = "urn:sensorstream:variable:"


class Var(str):
    """The name of a variable in a triple template."""

    __slots__ = ()


Slot: TypeAlias = Term | Var
Pattern: TypeAlias = tuple[Slot, Slot, Slot]


def triple_patterns(source: SparqlText, start: int, end: int) -> tuple[Pattern, ...]:
    """The triples between two braces, in a fixed order.

    Oxigraph reads them as the template of a CONSTRUCT, with an IRI in place of each variable.

    Raises:
        LanguageError: not a set of triples, or one with a blank node (a rule names what it
            makes, and a blank node in a deletion would match anything).
    """
    for token in source.tokens(start, end):
        if token.kind == "word" and token.text.upper() == "GRAPH":
            raise source.error(token.start, "GRAPH has no place here: rules change the window")
    source.answer("CONSTRUCT {", start, end, "} WHERE {}")
    filled, done = [], start
    for token in source.tokens(start, end):
        if token.kind == "variable":
            filled.append(f"{source.text[done : token.start]} <{_VARIABLE}{token.text}> ")
            done = token.end
    filled.append(source.text[done:end])
    text = f"CONSTRUCT {{{''.join(filled)}}} WHERE {{}}"
    found = ox.Store().query(text, prefixes=dict(source.prefixes))
    assert isinstance(found, ox.QueryTriples)
    patterns = []
    for triple in found:
        slots = [_slot(from_oxigraph(t)) for t in (triple.subject, triple.predicate, triple.object)]
        if any(isinstance(slot, BlankNode) for slot in slots):
            raise source.error(start, "blank nodes have no place here: expected names or variables")
        patterns.append((slots[0], slots[1], slots[2]))
    return tuple(sorted(patterns))


def _slot(term: Term) -> Slot:
    if isinstance(term, IRI) and term.startswith(_VARIABLE):
        return Var(term.removeprefix(_VARIABLE))
    return term


def variables_of(patterns: tuple[Pattern, ...]) -> frozenset[str]:
    """The variables of a template."""
    return frozenset(str(s) for pattern in patterns for s in pattern if isinstance(s, Var))


def fill(patterns: tuple[Pattern, ...], solution: Solution) -> Iterator[Triple]:
    """The template's triples; one with an unbound variable or a literal subject is left out.

    Source: SPARQL 1.1 Query Language, section 16.2.
    """
    for pattern in patterns:
        s, p, o = (solution.get(slot) if isinstance(slot, Var) else slot for slot in pattern)
        if s is None or o is None or not isinstance(p, IRI) or isinstance(s, Literal):
            continue
        yield s, p, o
