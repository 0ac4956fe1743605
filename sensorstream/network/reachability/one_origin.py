"""What can be reached from one vertex, kept as a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sensorstream.network.reachability.steps import Pair, Steps, Vertex


class OneOrigin:
    """The vertices that one or more steps from an origin lead to, each with one way to it.

    A new step costs what it reaches. A lost step costs nothing unless a way uses it; then what
    lies behind it looks for another way: O(its steps). Memory: two numbers per vertex reached,
    and the steps.
    """

    __slots__ = ("_children", "_origin", "_parents", "_steps")

    def __init__(self, steps: Steps, origin: Vertex) -> None:
        self._steps = steps
        self._origin = origin
        # The last step of the way to each vertex reached. What follows the origin hangs on the
        # beginning, not on the way that leads back to it.
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
        """Go on to a vertex and all behind it that have no way yet; these."""
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
        """The vertices whose ways use a lost step, taken off the tree."""
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
        """Find other ways; the vertices to which none leads."""
        for vertex in vertices:
            if vertex not in self._parents:
                for before in self._steps.back.get(vertex, ()):
                    if before == self._origin or before in self._parents:
                        self._reach(vertex, before)
                        break
        return [vertex for vertex in vertices if vertex not in self._parents]
