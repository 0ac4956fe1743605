"""What a continuous query reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sensorstream.kb.index import TripleIndex
from sensorstream.kb.occurrences import Scope
from sensorstream.model.terms import IRI


@dataclass(frozen=True, slots=True)
class Sources:
    """What a query reads: one index for each graph and window."""

    default: TripleIndex
    named: Mapping[IRI, TripleIndex] = field(default_factory=dict)
    windows: Mapping[IRI, TripleIndex | Scope] = field(default_factory=dict)

    def indexes(self) -> tuple[TripleIndex | Scope, ...]:
        """All of them."""
        return (self.default, *self.named.values(), *self.windows.values())
