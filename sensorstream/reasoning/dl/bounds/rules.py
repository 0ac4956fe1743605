"""The lower and the upper bound of an ontology's entailments, as rules over assertions.

Source: Zhou, Cuenca Grau, Nenov, Kaminski and Horrocks, *PAGOdA: Pay-As-You-Go Ontology Query
Answering Using a Datalog Reasoner*, JAIR 54 (2015), sections 4 and 5.

Both are read with equality: of two individuals that are ``owl:sameAs``, each has the triples of the
other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from sensorstream.model.terms import IRI, Literal, Triple
from sensorstream.model.vocabulary import CONTRADICTION, OWL_SAME_AS
from sensorstream.network.recursion.rule import DerivationRule
from sensorstream.reasoning.dl.bounds.clauses import PREFIX, Alternative, Clause
from sensorstream.reasoning.dl.bounds.normal_form import normal_form
from sensorstream.sparql.algebra import (
    BGP,
    Comparison,
    Exists,
    Filter,
    Graph,
    Not,
    Pattern,
    TriplePattern,
    Variable,
)

LOWER: Final = IRI(f"{PREFIX}lower")
"""The graph that the rules of the upper bound expect the lower bound in, assertions included."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Rules, and the axioms that they leave out, each with the reason.

    A lower bound is sound whatever is left out. An upper bound is complete only if nothing is.
    """

    rules: tuple[DerivationRule, ...]
    untreated: tuple[str, ...]


def lower(axioms: tuple[Triple, ...]) -> Bound:
    """Rules that derive only what the axioms and the assertions entail.

    A derived ``ss:contradiction`` shows that they have no model. Names that begin with
    :data:`PREFIX` stand for class expressions.
    """
    form = normal_form(axioms)
    rules: list[DerivationRule] = []
    for clause in form.clauses:
        if len(clause.heads) > 1 or any(head.unnamed for head in clause.heads):
            continue
        rules.extend(_conclusions(clause, BGP(clause.body)))
    return Bound(tuple(dict.fromkeys(rules)), form.untreated)


def upper(axioms: tuple[Triple, ...]) -> Bound:
    """Rules that derive everything that the axioms and the assertions entail, if they have a model.

    If no ``ss:contradiction`` is derived, they have one: what is derived is a model. A clause with
    several alternatives derives all; an individual that only exists is one for all clauses
    that ask for the same. A clause is left alone where the lower bound satisfies it: that
    holds in every model, so the bound stays complete, and as the lower bound does not read the
    upper one, the two are strata.
    """
    form = normal_form(axioms)
    made: dict[tuple[TriplePattern, ...], int] = {}
    rules: list[DerivationRule] = []
    for clause in form.clauses:
        body: Pattern = BGP(clause.body)
        if len(clause.heads) > 1 or any(head.unnamed for head in clause.heads):
            for head in clause.heads:
                body = _open(body, head)
        named = tuple(_named(head, made) for head in clause.heads)
        rules.extend(_conclusions(replace(clause, heads=named), body))
    return Bound(tuple(dict.fromkeys(rules)), form.untreated)


def _conclusions(clause: Clause, body: Pattern) -> Iterator[DerivationRule]:
    for head in clause.heads:
        yield DerivationRule(clause.name, head.triples, body)
    if not clause.heads:
        reason = TriplePattern(clause.body[0].subject, CONTRADICTION, Literal(clause.name))
        yield DerivationRule(clause.name, (reason,), body)


def _open(body: Pattern, head: Alternative) -> Pattern:
    """The solutions for which the lower bound does not contain the alternative."""
    (first, *_) = head.triples
    if first.predicate == OWL_SAME_AS and isinstance(first.subject, Variable):
        assert isinstance(first.object, Variable | IRI)
        body = Filter(Comparison("!=", first.subject, first.object), body)
    return Filter(Not(Exists(Graph(LOWER, BGP(head.triples)))), body)


def _named(head: Alternative, made: dict[tuple[TriplePattern, ...], int]) -> Alternative:
    """The alternative with a constant for each unnamed individual.

    The constants depend on what is said of the individuals alone, not on who is linked to them.
    """
    if not head.unnamed:
        return head
    places = {each: Variable(f"u{place}") for place, each in enumerate(head.unnamed)}
    shape = tuple(_with(triple, places, Variable("x")) for triple in head.triples)
    number = made.setdefault(shape, len(made))
    constants = {each: IRI(f"{PREFIX}some-{number}-{place.name}") for each, place in places.items()}
    triples = tuple(_with(triple, constants) for triple in head.triples)
    return Alternative(triples)


def _with(
    triple: TriplePattern,
    names: dict[Variable, Variable] | dict[Variable, IRI],
    other: Variable | None = None,
) -> TriplePattern:
    """The triple with names for some variables, and ``other`` for the rest."""
    ends = []
    for end in (triple.subject, triple.object):
        if isinstance(end, Variable):
            end = names.get(end, other or end)
        ends.append(end)
    return TriplePattern(ends[0], triple.predicate, ends[1])


def is_made(term: object) -> bool:
    """Whether a name is one of the bounds' own, which no answer may contain."""
    return isinstance(term, IRI) and term.startswith(PREFIX)
