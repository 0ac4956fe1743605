"""Which rules never take back what they conclude from a graph when that grows."""

from __future__ import annotations

from collections.abc import Sequence

from sensorstream.network.recursion.reads import reads, written
from sensorstream.network.recursion.rule import DerivationRule
from sensorstream.sparql.algebra import Exists, Group, LeftJoin, Minus, Slice
from sensorstream.sparql.walk import nodes

_LOOSING = (Exists, Group, LeftJoin, Minus, Slice)


def lasting(rules: Sequence[DerivationRule]) -> list[DerivationRule]:
    """Rules without NOT EXISTS and its like, that read nothing which rules with it conclude."""
    kept = [rule for rule in rules if not _may_lose(rule)]
    lost = [rule for rule in rules if _may_lose(rule)]
    while lost:
        made = {written(triple) for rule in lost for triple in rule.head}
        lost = [
            rule
            for rule in kept
            if any(read.kind.meets(kind) for read in reads(rule.body) for kind in made)
        ]
        kept = [rule for rule in kept if rule not in lost]
    return kept


def _may_lose(rule: DerivationRule) -> bool:
    return any(isinstance(node, _LOOSING) for node in nodes(rule.body))
