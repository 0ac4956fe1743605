"""Patterns that all must match, flattened so that they can be ordered together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sensorstream.network.node import Node
from sensorstream.network.operators.delta_join import Pattern as Triple
from sensorstream.sparql.algebra import (
    Expression,
)


@dataclass(slots=True)
class Conjunction:
    """Patterns that all must match: triples over indexes, filters on them, and other parts."""

    triples: list[Triple] = field(default_factory=list)
    filters: list[Expression] = field(default_factory=list)
    others: list[Node] = field(default_factory=list)

    def bound(self) -> frozenset[str]:
        """The variables that every solution binds."""
        own = frozenset(name for triple in self.triples for name in triple.variables)
        return own.union(*(node.certain for node in self.others))

    def names_in(self) -> frozenset[str]:
        """The variables that a solution may bind."""
        return self.bound().union(*(node.variables for node in self.others))


def connected(triples: Sequence[Triple]) -> list[list[Triple]]:
    """Split triples into groups that share no variable."""
    groups: list[list[Triple]] = []
    for triple in triples:
        names = set(triple.variables)
        linked = [g for g in groups if any(names & set(each.variables) for each in g)]
        rest = [g for g in groups if g not in linked]
        groups = [*rest, [*(each for g in linked for each in g), triple]]
    return groups


def visible_names(groups: Sequence[Sequence[Triple]], parts: Conjunction) -> list[str]:
    """The variables somebody may ask for: all but blank nodes and steps within a path.

    Those still join a group with another part, where both mention them.
    """
    elsewhere = {name for node in parts.others for name in node.variables}
    names = dict.fromkeys(n for group in groups for triple in group for n in triple.variables)
    return [n for n in names if not n.startswith(("_:", ".path")) or n in elsewhere]
