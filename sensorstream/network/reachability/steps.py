"""The steps of a graph, by their start and by their end; what one vertex reaches by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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


class OneOrigin:
    """The vertices reachable from an origin in one or more steps, each with one path to it.

    A new step costs O(newly reached vertices and their steps). A lost step costs O(1) unless it is
    in the tree; then another path is searched for all vertices below it: O(their steps). Memory:
    two numbers per vertex reached, and the steps.
    """

    def __init__(self, steps: Steps, origin: Vertex) -> None:
        self._steps = steps
        self._origin = origin
        # The parent of each reached vertex: the start of the last step of its path. The direct
        # successors of the origin stay in the tree when the path back to the origin is lost.
        self._parents: dict[Vertex, Vertex] = {}
        self._children: dict[Vertex, dict[Vertex, None]] = {}
        for vertex in steps.forward.get(origin, ()):
            self._reach(vertex, origin)

    def change(self, won: Iterable[Pair], lost: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
        """See :class:`~sensorstream.network.reachability.steps.Reach`."""
        parents = self._parents
        added = []
        for one, other in won:
            if one == self._origin or one in parents:
                added += self._reach(other, one)
        cut = [other for one, other in lost if other in parents and parents[other] == one]
        removed = self._search(self._behind(cut)) if cut else []
        origin = self._origin
        return [(origin, vertex) for vertex in added], [(origin, vertex) for vertex in removed]

    def pairs(self) -> Iterator[Pair]:
        return ((self._origin, vertex) for vertex in self._parents)

    def size(self) -> int:
        return 2 * len(self._parents)

    def _reach(self, vertex: Vertex, parent: Vertex) -> list[Vertex]:
        """Add a vertex, and all vertices reachable from it without a path yet; returns these."""
        if vertex in self._parents:
            return []
        self._hang(vertex, parent)
        found = [vertex]
        for each in found:
            for following in self._steps.forward.get(each, ()):
                if following not in self._parents:
                    self._hang(following, each)
                    found.append(following)
        return found

    def _hang(self, vertex: Vertex, parent: Vertex) -> None:
        self._parents[vertex] = parent
        self._children.setdefault(parent, {})[vertex] = None

    def _behind(self, cut: Iterable[Vertex]) -> dict[Vertex, None]:
        """Remove the vertices whose paths use a lost step from the tree; returns them."""
        found = dict.fromkeys(cut)
        for vertex in (queue := list(found)):
            children = self._children[self._parents.pop(vertex)]
            del children[vertex]
            if vertex != self._origin:
                for child in self._children.get(vertex, ()):
                    if child not in found:
                        found[child] = None
                        queue.append(child)
        for vertex in found:
            if not self._children.get(vertex, True):
                del self._children[vertex]
        return found

    def _search(self, vertices: dict[Vertex, None]) -> list[Vertex]:
        """Find other paths; returns the vertices that have no other path."""
        for vertex in vertices:
            if vertex not in self._parents:
                for before in self._steps.back.get(vertex, ()):
                    if before == self._origin or before in self._parents:
                        self._reach(vertex, before)
                        break
        return [vertex for vertex in vertices if vertex not in self._parents]
