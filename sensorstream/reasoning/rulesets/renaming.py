"""Rules that differ only in the names of their variables."""

from __future__ import annotations

from collections.abc import Hashable

from sensorstream.network.recursion.rule import DerivationRule
from sensorstream.sparql.algebra import BGP, Variable
from sensorstream.sparql.walk import replaced


def renamed(rule: DerivationRule) -> Hashable:
    """Head and body with variables named by their order: equal for rules that mean the same.

    Blocks of triples are sets, so their order is left out as far as their text alone decides it.
    """
    names: dict[Variable, Variable] = {}

    def new(part: object) -> object | None:
        if isinstance(part, Variable):
            return names.setdefault(part, Variable(str(len(names))))
        return None

    head = replaced(rule.head, new)
    body = replaced(rule.body, new)
    return head, replaced(body, _unordered)


def _unordered(part: object) -> object | None:
    return BGP(tuple(sorted(set(part.patterns), key=str))) if isinstance(part, BGP) else None
