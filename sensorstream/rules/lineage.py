"""The patterns that the conditions of a rule match: all that a solution may depend on."""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.language import syntax
from sensorstream.model import rdf
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import TriplePattern, Variable
from sensorstream.sparql.walk import patterns_in


@frozen
class PatternBlock:
    """Triple patterns that match together.

    ``visible`` are the variables that mean the same as in the solution; None: all.
    """

    patterns: tuple[TriplePattern, ...]
    visible: frozenset[str] | None = None


@frozen
class Lineage:
    """Name, digest and patterns (of trigger and conditions) of a rule."""

    name: str
    digest: str
    blocks: tuple[PatternBlock, ...]
    waiting: frozenset[str] = frozenset()
    """The variables of the solutions with which its trigger waits."""
    silent: str = ""
    """The variable of the individual of ``on silence``."""


def members_of(name: IRI, variable: str = ".member") -> PatternBlock:
    """The members of a class."""
    return PatternBlock((TriplePattern(Variable(variable), rdf.TYPE, name),))


def trigger_blocks(rule: syntax.SemanticRule, file: syntax.RuleFile) -> Iterator[PatternBlock]:
    """The patterns of a rule's trigger: the type of the individual, or the new value."""
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
    """The blocks of a query that its solutions may match; blocks that must not match are left out.

    So are patterns with a property path, because the steps of a path are not known.
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
