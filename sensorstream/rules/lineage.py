"""What the conditions of a rule match: the patterns of all that a solution may stand on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sensorstream.language import syntax
from sensorstream.model import rdf
from sensorstream.model.terms import IRI
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import TriplePattern, Variable
from sensorstream.sparql.walk import patterns_in


@dataclass(frozen=True, slots=True)
class PatternBlock:
    """Triple patterns that match together.

    ``visible`` are the variables that mean the same as in the solution; None: all.
    """

    patterns: tuple[TriplePattern, ...]
    visible: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Lineage:
    """Of a rule its name, the digest of its text, and what its trigger and conditions match."""

    name: str
    digest: str
    blocks: tuple[PatternBlock, ...]
    waiting: frozenset[str] = frozenset()
    """The variables of the solutions with which its trigger waits."""
    silent: str = ""
    """Of ``on silence`` the variable of the individual."""


def members_of(name: IRI, variable: str = ".member") -> PatternBlock:
    """The members of a class."""
    return PatternBlock((TriplePattern(Variable(variable), rdf.TYPE, name),))


def trigger_blocks(rule: syntax.SemanticRule, file: syntax.RuleFile) -> Iterator[PatternBlock]:
    """What the trigger of a rule matches: the type of who it is about, or the new value."""
    match rule.trigger:
        case (
            syntax.OnInsert(class_name=name, variable=variable)
            | syntax.OnSilence(class_name=name, variable=variable)
        ):
            yield members_of(file.resolve(name), variable.name)
        case syntax.OnUpdate(name=name, variable=variable, new=new):
            value = Variable(".new" if new is None else new.name)
            told = TriplePattern(Variable(variable.name), file.resolve(name), value)
            yield PatternBlock((told,))


def blocks(node: object, visible: frozenset[str] | None = None) -> Iterator[PatternBlock]:
    """The blocks of a query that its solutions match, maybe: not those that must not match.

    Patterns with a property path are left out: what a path went along is not known.
    """
    match node:
        case algebra.BGP(patterns=patterns):
            plain = tuple(p for p in patterns if isinstance(p.predicate, IRI | Variable))
            yield PatternBlock(plain, visible)
        case algebra.Minus(left=left):
            yield from blocks(left, visible)
        case algebra.Project(pattern=pattern, variables=variables):
            told = frozenset(each.name for each in variables)
            yield from blocks(pattern, told if visible is None else told & visible)
        case _:
            # Expressions hold patterns below EXISTS only, which are no part of a solution.
            for child in patterns_in(node):
                yield from blocks(child, visible)
