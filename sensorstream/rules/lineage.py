"""Which statements made a rule fire: those that its conditions matched with a solution's values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast, get_args

from sensorstream.kb.graph import KnowledgeBase
from sensorstream.language import syntax
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, Triple
from sensorstream.model.vocabulary import RDF_TYPE
from sensorstream.rules.conditions import Solution
from sensorstream.rules.effects import Firing
from sensorstream.sparql.algebra import (
    BGP,
    Minus,
    Pattern,
    PatternTerm,
    Project,
    TriplePattern,
    Variable,
)
from sensorstream.sparql.walk import children

MOST_MESSAGES: Final = 1000
"""So many messages are named for one alert; the newest, if there are more."""
_MOST_STEPS: Final = 20_000
_PATTERNS: Final = get_args(Pattern)


@dataclass(frozen=True, slots=True)
class Block:
    """Triple patterns that match together.

    ``visible`` are the variables that mean the same as in the solution; None: all.
    """

    patterns: tuple[TriplePattern, ...]
    visible: frozenset[str] | None = None


def blocks(form: object) -> Iterator[Block]:
    """The blocks of a query that its solutions match, maybe: not those that must not match.

    Patterns with a property path are left out: what a path went along is not known.
    """
    return _blocks(form, None)


def members_of(name: IRI, variable: str = ".member") -> Block:
    """The members of a class."""
    return Block((TriplePattern(Variable(variable), RDF_TYPE, name),))


def trigger_blocks(rule: syntax.SemanticRule, file: syntax.RuleFile) -> Iterator[Block]:
    """What the trigger of a rule matches: the type of who it is about, or the new value."""
    match rule.trigger:
        case syntax.OnInsert(class_name=name, variable=variable):
            yield members_of(file.resolve(name), variable.name)
        case syntax.OnSilence(class_name=name, variable=variable):
            yield members_of(file.resolve(name), variable.name)
        case syntax.OnUpdate(name=name, variable=variable, new=new):
            value = Variable(".new" if new is None else new.name)
            told = TriplePattern(Variable(variable.name), file.resolve(name), value)
            yield Block((told,))


def messages_behind(firing: Firing, parts: Iterable[Block]) -> tuple[str, ...]:
    """The ids of the messages that said, or caused, what the conditions of a rule matched.

    The message at hand is always among them. With a variable that has no value in the solution,
    such as one that was aggregated, all that it can match counts. O(matches), bounded.
    """
    host, solution = firing.run.host, firing.solution
    found = {firing.run.message.id}
    steps = iter(range(_MOST_STEPS))
    for part in parts:
        seen = part.visible
        known = {n: term for n, term in solution.items() if seen is None or n in seen}
        for triple in _matched(host.kb, part.patterns, known, steps):
            found.update(host.said_by(triple))
    values = frozenset(solution.values())
    for each in host.departures:
        if each.individual.name in values:
            found.add(each.individual.message)
            found.update(said.message for said in each.individual.statements.values())
    found.discard("")
    # Ids count up: a longer one is later.
    return tuple(sorted(found, key=lambda each: (len(each), each))[-MOST_MESSAGES:])


def _blocks(node: object, visible: frozenset[str] | None) -> Iterator[Block]:
    match node:
        case BGP(patterns=patterns):
            plain = tuple(p for p in patterns if isinstance(p.predicate, IRI | Variable))
            yield Block(plain, visible)
        case Minus(left=left):
            yield from _blocks(left, visible)
        case Project(pattern=pattern, variables=variables):
            told = frozenset(each.name for each in variables)
            yield from _blocks(pattern, told if visible is None else told & visible)
        case _:
            # Expressions hold patterns below EXISTS only, which are no part of a solution.
            for child in children(node):
                if isinstance(child, _PATTERNS):
                    yield from _blocks(child, visible)


def _matched(
    kb: KnowledgeBase, patterns: Sequence[TriplePattern], known: Solution, steps: Iterator[int]
) -> Iterator[Triple]:
    """The triples of all ways in which the patterns match together."""
    if not patterns:
        return
    first = max(
        patterns, key=lambda each: sum(_value(part, known) is not None for part in _of(each))
    )
    others = [each for each in patterns if each is not first]
    subject, predicate, value = (_value(part, known) for part in _of(first))
    if isinstance(subject, Literal) or not isinstance(predicate, IRI | None):
        return
    for triple in list(kb.match(subject, predicate, value)):
        if next(steps, None) is None:
            return
        bound = _bound(first, triple, known)
        if bound is None:
            continue
        if not others:
            yield triple
            continue
        with_others = False
        for each in _matched(kb, others, bound, steps):
            with_others = True
            yield each
        if with_others:
            yield triple


def _bound(pattern: TriplePattern, triple: Triple, known: Solution) -> Solution | None:
    """What is known with the triple in the pattern's place; None: it does not fit."""
    bound = dict(known)
    for part, term in zip(_of(pattern), triple, strict=True):
        name = _name(part)
        if name is not None and bound.setdefault(name, term) != term:
            return None
    return bound


def _of(pattern: TriplePattern) -> tuple[PatternTerm, PatternTerm, PatternTerm]:
    predicate = cast(PatternTerm, pattern.predicate)
    return pattern.subject, predicate, pattern.object


def _value(part: PatternTerm, known: Solution) -> Term | None:
    name = _name(part)
    return cast(Term, part) if name is None else known.get(name)


def _name(part: PatternTerm) -> str | None:
    """The name of a variable; a blank node of a query is one (SPARQL 1.1, section 4.1.4)."""
    match part:
        case Variable(name=name):
            return name
        case BlankNode():
            return part
        case _:
            return None
