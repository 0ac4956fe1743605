"""Rules that differ only in the names of their variables."""

from __future__ import annotations

from collections.abc import Hashable

from sensorstream.network.recursion.rule import DerivationRule
from sensorstream.sparql.algebra import BGP, TriplePattern, Variable
from sensorstream.sparql.walk import replaced


def renamed(rule: DerivationRule) -> Hashable:
    """Head and body with variables named by their order: equal for rules that mean the same.

    Blocks of triples are sets, so their order is left out as far as their text alone decides it.
    """
    names: dict[str, str] = {}
    if isinstance(rule.body, BGP):
        # By far the most frequent body.
        body = frozenset([_renamed(each, names) for each in rule.body.patterns])
        return tuple([_renamed(each, names) for each in rule.head]), body

    def new(part: object) -> object | None:
        if isinstance(part, Variable):
            return Variable(names.setdefault(part.name, str(len(names))))
        return None

    return replaced(replaced(rule.body, new), _unordered), replaced(rule.head, new)


def _renamed(triple: TriplePattern, names: dict[str, str]) -> Hashable:
    return tuple(
        [
            (names.setdefault(part.name, str(len(names))),) if isinstance(part, Variable) else part
            for part in (triple.subject, triple.predicate, triple.object)
        ]
    )


def _unordered(part: object) -> object | None:
    return BGP(tuple(sorted(set(part.patterns), key=str))) if isinstance(part, BGP) else None
