"""The rules of bounds in the form in which they are evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sensorstream.errors import InternalFault
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.network.recursion.rule import DerivationRule, meant
from sensorstream.reasoning.dl.bounds.clauses import PREFIX
from sensorstream.reasoning.dl.bounds.foreseen import OWN
from sensorstream.reasoning.dl.bounds.rules import LOWER
from sensorstream.sparql.algebra import (
    BGP,
    Call,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Not,
    Pattern,
    PatternTerm,
    TriplePattern,
    Variable,
)
from sensorstream.sparql.walk import triple_variables

FOUND: Final = f"{PREFIX}found-"
"""Kinds of facts of the lower bound that stand for a search of the upper one."""
_NOBODY: Final = IRI(f"{PREFIX}nobody")
_PAIR: Final = 2


class Naming(NamedTuple):
    """A variable is the name that begins with ``prefix`` and ends with the name of ``owner``."""

    variable: Variable
    prefix: str
    owner: Variable


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Where ``premises`` and ``tests`` hold and no triple of ``absent`` does, ``heads`` hold.

    ``name`` says of which axiom. ``absent`` are about facts of the lower bound. All heads together
    are what one clause says.
    """

    name: str
    premises: tuple[TriplePattern, ...]
    heads: tuple[TriplePattern, ...]
    absent: tuple[TriplePattern, ...] = ()
    tests: tuple[Expression, ...] = ()
    names: tuple[Naming, ...] = ()


@dataclass(slots=True)
class _Body:
    """A rule's body in parts."""

    premises: tuple[TriplePattern, ...] = ()
    absent: list[tuple[TriplePattern, ...]] = field(default_factory=list)
    tests: list[Expression] = field(default_factory=list)
    names: list[Naming] = field(default_factory=list)


class Searches:
    """What rules of the upper bound look for in the lower one, as facts that it derives.

    A search that is one triple without variables of its own needs no such fact.
    """

    def __init__(self) -> None:
        self._heads: dict[tuple[object, ...], TriplePattern] = {}
        self.rules: list[Conclusion] = []

    def fact(
        self,
        patterns: Sequence[TriplePattern],
        shared: Sequence[Variable],
        *,
        name: str,
    ) -> TriplePattern:
        """The fact that holds of ``shared`` where the patterns do.

        ``name`` is that of the rule which looks for it.
        """
        mine = dict.fromkeys(each for triple in patterns for each in triple_variables(triple))
        if len(shared) > _PAIR:
            raise InternalFault("a bound looks for a pattern about three individuals")
        places = {each: Variable(f"x{place}") for place, each in enumerate(shared)}
        others = [each for each in mine if each not in places]
        places.update((each, Variable(f"y{place}")) for place, each in enumerate(others))
        renamed = tuple(_renamed(each, places) for each in patterns)
        key = (renamed, len(shared))
        head = self._heads.get(key)
        if head is None:
            kind = IRI(f"{FOUND}{len(self._heads)}")
            one = places[shared[0]] if shared else _NOBODY
            head = TriplePattern(one, RDF_TYPE, kind)
            if len(shared) == _PAIR:
                head = TriplePattern(one, kind, places[shared[1]])
            self._heads[key] = head
            self.rules.append(Conclusion(name, renamed, (head,)))
        return _renamed(head, {place: name for name, place in places.items()})


def conclusions(rules: Iterable[DerivationRule], searches: Searches) -> list[Conclusion]:
    """Rules of a bound; the alternatives of one clause become one conclusion."""
    clauses: dict[tuple[str, Pattern], dict[TriplePattern, None]] = {}
    for rule in rules:
        clauses.setdefault((rule.name, rule.body), {}).update(dict.fromkeys(rule.head))
    # Two axioms may say one thing: that each of two properties is the inverse of the other.
    named: dict[tuple[Pattern, tuple[TriplePattern, ...]], str] = {}
    for (name, body), heads in clauses.items():
        named.setdefault((body, tuple(heads)), name)
    return [_conclusion(name, *clause, searches) for clause, name in named.items()]


def together(rules: Iterable[Conclusion]) -> list[Conclusion]:
    """What a triple by itself implies as one conclusion, in the place of many."""
    made: list[Conclusion] = []
    heads: dict[TriplePattern, list[TriplePattern]] = {}
    for rule in rules:
        if len(rule.premises) != 1 or rule.absent or rule.tests or rule.names:
            made.append(rule)
            continue
        [premise] = rule.premises
        places = {
            each: Variable(f"x{place}") for place, each in enumerate(triple_variables(premise))
        }
        heads.setdefault(_renamed(premise, places), []).extend(
            _renamed(each, places) for each in rule.heads
        )
    made += [
        Conclusion(f"what follows from {premise.predicate}", (premise,), tuple(told))
        for premise, told in heads.items()
    ]
    return made


def _conclusion(
    name: str, pattern: Pattern, heads: tuple[TriplePattern, ...], searches: Searches
) -> Conclusion:
    body = _Body()
    _read(pattern, body)
    bound = {each for triple in body.premises for each in triple_variables(triple)}
    absent = tuple(_absent(name, each, bound, searches) for each in body.absent)
    return Conclusion(name, body.premises, heads, absent, tuple(body.tests), tuple(body.names))


def _read(pattern: Pattern, body: _Body) -> None:
    match pattern:
        case BGP(patterns):
            body.premises = patterns
        case Filter(condition, inner):
            _read(inner, body)
            _condition(condition, body)
        case Extend(
            inner,
            variable,
            Call(
                "IRI", (Call("CONCAT", (Literal() as text, Call("STR", (Variable() as owner,)))),)
            ),
        ):
            _read(inner, body)
            body.names.append(Naming(variable, text.lexical, owner))
        case _:
            raise InternalFault(f"a bound has a rule of an unknown form: {pattern}")


def _condition(condition: Expression, body: _Body) -> None:
    match condition:
        case Not(Exists(Graph(graph, BGP(patterns)))) if graph == LOWER:
            body.absent.append(patterns)
        case _:
            body.tests.append(condition)


def _absent(
    name: str, patterns: tuple[TriplePattern, ...], bound: set[Variable], searches: Searches
) -> TriplePattern:
    mine = dict.fromkeys(each for triple in patterns for each in triple_variables(triple))
    shared = [each for each in mine if each in bound]
    if len(patterns) == 1 and len(shared) == len(mine):
        return patterns[0]
    return searches.fact(patterns, shared, name=name)


def _renamed(triple: TriplePattern, names: dict[Variable, Variable]) -> TriplePattern:
    def end(term: PatternTerm) -> PatternTerm:
        return names.get(term, term) if isinstance(term, Variable) else term

    return TriplePattern(end(triple.subject), triple.predicate, end(triple.object))


def predicate_of(triple: TriplePattern) -> IRI:
    """The property of a triple of a bound, which is always a constant."""
    if not isinstance(triple.predicate, IRI):
        raise InternalFault("a bound has a triple without a fixed property")
    return triple.predicate


def term_of(end: PatternTerm) -> Term | None:
    """The term that a constant of a rule means; None for a variable."""
    return None if isinstance(end, Variable) else meant(end)  # type: ignore[arg-type]


def is_search(triple: TriplePattern) -> bool:
    """Whether a premise is a fact that the lower bound finds."""
    kind = triple.object if triple.predicate == RDF_TYPE else triple.predicate
    return isinstance(kind, IRI) and kind.startswith(FOUND)


def is_found(triple: Triple) -> bool:
    """Whether a fact stands for what a search has found."""
    return triple[1].startswith(FOUND) or (triple[1] == RDF_TYPE and triple[2].startswith(FOUND))


def owner_of(name: IRI) -> IRI | None:
    """The individual for which a name was made; None if it was made for several, or not made."""
    if not name.startswith(OWN):
        return None
    _, separator, owner = name.removeprefix(OWN).partition(":")
    return IRI(owner) if separator else None
