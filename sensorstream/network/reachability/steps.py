"""The steps of a graph, by their start and by their end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeAlias

from sensorstream.model.terms import Term

Vertex: TypeAlias = Term | None
Pair: TypeAlias = tuple[Vertex, Vertex]


class Reach(Protocol):
    """Maintains the pairs of vertices that one or more steps connect."""

    def change(self, won: Iterable[Pair], lost: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
        """The pairs that are new, and those no longer connected; the two may overlap.

        The steps have been changed before the call; no step is both in ``won`` and in ``lost``.
        """

    def pairs(self) -> Iterable[Pair]:
        """All pairs, each once."""

    def size(self) -> int:
        """The number of entries in memory."""


class Steps:
    """A multigraph; O(1) per change. Iteration is in the order of insertion."""

    def __init__(self) -> None:
        self.forward: dict[Vertex, dict[Vertex, int]] = {}
        """For each vertex, the ends of its steps, each with the number of such steps."""
        self.back: dict[Vertex, dict[Vertex, None]] = {}
        """For each vertex, the starts of the steps to it."""

    def take(self, weights: Mapping[Pair, int]) -> tuple[list[Pair], list[Pair]]:
        """Change the multiplicity of steps.

        Returns:
            The steps that did not occur before, and those that do not any more.
        """
        won, lost = [], []
        for step, weight in weights.items():
            one, other = step
            ahead = self.forward.setdefault(one, {})
            before = ahead.get(other, 0)
            after = before + weight
            if after:
                ahead[other] = after
                if not before:
                    won.append(step)
                    self.back.setdefault(other, {})[one] = None
                continue
            lost.append(step)
            del ahead[other]
            if not ahead:
                del self.forward[one]
            del self.back[other][one]
            if not self.back[other]:
                del self.back[other]
        return won, lost
