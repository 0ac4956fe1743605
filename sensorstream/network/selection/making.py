"""From the firing of a rule to the graph that it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Final, TypeAlias

from sensorstream.dotr.syntax import Rule
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.network.rows import Row
from sensorstream.network.selection.matcher import Firing
from sensorstream.sparql.algebra import Variable

_PREFIX: Final = "urn:dotr:"
GraphOf: TypeAlias = Callable[[Firing, Sequence[Literal]], Iterator[Row]]
"""From a firing and the names of the rules that fire to a row for each: name, terms of triples."""


def maker(rule: Rule) -> GraphOf:
    """From a firing to the graphs of a rule and of those that run together with it.

    Identifiers and blank nodes are named after the firing: a replay names them again alike. What is
    no triple (an unbound end, a literal as subject) is left out.
    """
    places = {name: place for place, (name, _) in enumerate(rule.values)}
    ends = [end for t in rule.template for end in (t.subject, t.predicate, t.object)]
    labels = list(dict.fromkeys(end for end in ends if isinstance(end, BlankNode)))
    # What stands at each end: a place in the values, a label to name (negative), or a term.
    cells = [
        places[end.name]
        if isinstance(end, Variable)
        else -1 - labels.index(end)
        if isinstance(end, BlankNode)
        else end
        for end in ends
    ]
    made = [(each in rule.identifiers, each[2:]) for each in labels]

    def graphs(firing: Firing, names: Sequence[Literal]) -> Iterator[Row]:
        values = firing.values
        found = [
            each if not isinstance(each, int) else values[each] if each >= 0 else each
            for each in cells
        ]
        terms: list[Term | int | None] = []
        for place in range(0, len(found), 3):
            s, p, o = found[place : place + 3]
            if isinstance(s, IRI | BlankNode | int) and isinstance(p, IRI) and o is not None:
                terms += (s, p, o)  # type: ignore[arg-type]
        if not terms:
            return
        named = [place for place, each in enumerate(terms) if type(each) is int]
        if not named:
            for name in names:
                yield (name, *terms)  # type: ignore[arg-type]
            return
        digest = _digest(firing)
        row: list[Term | None]
        for name in names:
            mine = digest.copy()
            mine.update(name.lexical.encode())
            code = mine.hexdigest()
            new = [
                IRI(f"{_PREFIX}{code}-{label[3:]}") if new else BlankNode(f"_:d{code}-{label}")
                for new, label in made
            ]
            row = [name, *terms]  # type: ignore[list-item]
            for place in named:
                row[place + 1] = new[-1 - terms[place]]  # type: ignore[operator]
            yield tuple(row)

    return graphs


def rule_of(row: Row) -> str:
    """The name of the rule that has made a row."""
    name = row[0]
    assert isinstance(name, Literal)
    return name.lexical


def triples_of(row: Row) -> list[Triple]:
    """The graph of a row that a rule has made."""
    return list(zip(row[1::3], row[2::3], row[3::3], strict=True))  # type: ignore[arg-type]


def _digest(firing: Firing) -> blake2b:
    """Of what was bound and when; the name of the rule is still to come."""
    terms = ["" if each is None else each.n3 for each in firing.bound]
    return blake2b("\x00".join((repr(firing.times), *terms, "")).encode(), digest_size=12)
