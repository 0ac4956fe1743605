"""In which order queries get an instant, when some of them add triples to it.

A query reads *the present* in a pattern whose occurrence may end at the instant at work: not on the
left of SEQ or OPTIONALSEQ, where what ended before is meant. What another query adds at the
instant it must see in the same instant; and if a pattern says that something is *not* there (the
optional side of OPTIONAL and EQUALSOPTIONAL, the right side of MINUS), it must be the last to know.

Source: "EP-SPARQL", section 4.2 (the closure of a stream under CONSTRUCT rules); stratification.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.terms import IRI, Term, Triple
from sensorstream.network.intervals import plan as timed
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.recursion.kinds import Conclusions
from sensorstream.network.recursion.reads import Kind
from sensorstream.sparql.algebra import Construct, Query, TriplePattern, Variable

_Kind: TypeAlias = tuple[Term | None, Term | None]
"""Predicate and object of triples; None stands for any."""


@dataclass(frozen=True, slots=True)
class Ends:
    """What a query adds to an instant and what it reads of it, as kinds of triples.

    ``asked`` are those of whose absence something depends.
    """

    adds: frozenset[_Kind]
    reads: frozenset[_Kind]
    asked: frozenset[_Kind]


def ends_of(query: Query, plan: Plan, conclusions: Conclusions) -> Ends:
    """What a query adds and reads at the end of its intervals."""
    form = query.form
    adds = _added(form.template, conclusions) if isinstance(form, Construct) else ()
    found = list(_read(plan, asked=False))
    return Ends(
        frozenset(adds),
        frozenset(kind for kind, asked in found if not asked),
        frozenset(kind for kind, asked in found if asked),
    )


def ends_of_rules(
    templates: Iterable[TriplePattern], read: Iterable[Kind], conclusions: Conclusions
) -> Ends:
    """What rules over time add to a moment, and what they read of it: it must be whole by then."""
    asked = frozenset((each.predicate, each.object) for each in read)
    return Ends(frozenset(_added(tuple(templates), conclusions)), frozenset(), asked)


def feeds(query: Ends, rules: Ends) -> bool:
    """Whether rules over time read what a query adds to the moment."""
    return _meet(query.adds, rules.asked)


def strata(queries: Mapping[str, Ends], rules: Ends | None = None) -> dict[str | None, int]:
    """The stratum of each query: it gets an instant after all lower ones are done with it.

    That of None is the one of all rules over time together, which have an order of their own.

    Raises:
        UnsupportedQuery: what a query adds depends on its own absence at the same moment.
    """
    everything: dict[str | None, Ends] = dict(queries.items())
    if rules is not None:
        everything[None] = rules
    levels = dict.fromkeys(everything, 0)
    adding = [name for name, ends in everything.items() if ends.adds]
    changed = True
    while changed:
        changed = False
        for name, ends in everything.items():
            for other in adding:
                if name is other is None:
                    continue
                added = everything[other].adds
                least = -1
                if _meet(added, ends.reads):
                    least = levels[other]
                if _meet(added, ends.asked):
                    least = levels[other] + 1
                if least > levels[name]:
                    levels[name] = least
                    changed = True
                    if least > len(everything):
                        one, another = (
                            "a rule over time" if each is None else f"'{each}'"
                            for each in (name, other)
                        )
                        raise UnsupportedQuery(
                            f"{one} asks whether something is absent that {another} adds at the "
                            "same moment, and that depends on it in turn: let SEQ or OPTIONALSEQ "
                            "stand between them, so that only what was there before is asked for"
                        )
    return levels


def _meet(added: Iterable[_Kind], read: Iterable[_Kind]) -> bool:
    return any(
        (p is None or q is None or p == q) and (o is None or r is None or o == r)
        for p, o in added
        for q, r in read
    )


def _read(plan: Plan, *, asked: bool) -> Iterator[tuple[_Kind, bool]]:
    """The kinds of triples that may end a solution, and whether their absence matters."""
    match plan:
        case timed.Occurrence(_, predicate, object_):
            yield (_constant(predicate), _constant(object_)), asked
        case timed.Seq(left, right):
            yield from _read(right, asked=asked)
            yield from _asked(left)
        case timed.OptionalSeq(mandatory, optional):
            yield from _read(mandatory, asked=asked)
            yield from _asked(optional)
        case timed.First(source):
            # What else ends at the same moment decides which are the first.
            yield from _read(source, asked=True)
        case timed.Group(source):
            # More of it at the same moment would make another solution of it.
            yield from _read(source, asked=True)
        case (
            timed.Optional(one, other)
            | timed.EqualsOptional(one, other)
            | timed.Minus(one, other)
            | timed.Mark(one, other)
        ):
            yield from _read(one, asked=asked)
            yield from _read(other, asked=True)
        case _:
            for each in plan.inputs:
                yield from _read(each, asked=asked)


def _asked(past: Plan) -> Iterator[tuple[_Kind, bool]]:
    """Of what must have ended before: what is asked for in it, each time something ends there."""
    return (each for each in _read(past, asked=False) if each[1])


def _constant(end: object) -> Term | None:
    return None if isinstance(end, Variable) else end  # type: ignore[return-value]


def _added(template: Sequence[TriplePattern], conclusions: Conclusions) -> Iterator[_Kind]:
    for pattern in template:
        predicate = pattern.predicate if isinstance(pattern.predicate, IRI) else None
        object_ = pattern.object if isinstance(pattern.object, IRI) else None
        yield predicate, object_
        if predicate is None:
            continue
        example: Triple = (IRI("urn:example"), predicate, object_ or IRI("urn:example"))
        for _, follows, what in conclusions(example):
            yield follows, what if what != "urn:example" else None
