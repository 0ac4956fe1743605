"""Reachability in a graph whose steps (edges) are added and removed: of all pairs, or from one.

Connected pairs are stored by strongly connected component: its vertices reach each other and the
same others, so each component has one set of the components it reaches, as in the transitive
closure of a condensation (Nuutila, "Efficient transitive closure computation in large digraphs",
1995). New steps extend the sets as in Italiano, "Amortized efficiency of a path retrieval data
structure", 1986; lost steps are processed from the components nearest to the sinks upwards, each of
which takes what is still reachable from its direct successors.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Protocol, TypeAlias

from sensorstream.model.terms import Term
from sensorstream.network.graph_components import components

Vertex: TypeAlias = Term | None
Pair: TypeAlias = tuple[Vertex, Vertex]


class Reach(Protocol):
    """Maintains the pairs of vertices that one or more steps connect."""

    def change(self, won: Iterable[Pair], lost: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
        """Return the pairs that are new, and those no longer connected; the two may overlap.

        The steps have been changed before the call; no step is both in ``won`` and in ``lost``.
        """

    def pairs(self) -> Iterable[Pair]:
        """The pairs, each once."""

    def size(self) -> int:
        """The number of entries in memory."""


class StepGraph:
    """A multigraph; O(1) per change. Iteration is in the order of insertion."""

    def __init__(self) -> None:
        self.forward: dict[Vertex, dict[Vertex, int]] = {}
        """The ends of the steps of each vertex, each with the number of such steps."""
        self.back: dict[Vertex, dict[Vertex, None]] = {}
        """The starts of the steps to each vertex."""

    def take(self, weights: Mapping[Pair, int]) -> tuple[list[Pair], list[Pair]]:
        """Change the multiplicity of steps; returns those that are new, and those that are gone."""
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

    def __init__(self, steps: StepGraph, origin: Vertex) -> None:
        self._steps = steps
        self._origin = origin
        # The parent of each reached vertex: the start of the last step of its path. The direct
        # successors of the origin stay in the tree when the path back to the origin is lost.
        self._parents: dict[Vertex, Vertex] = {}
        self._children: dict[Vertex, dict[Vertex, None]] = {}
        for vertex in steps.forward.get(origin, ()):
            self._reach(vertex, origin)

    def change(self, won: Iterable[Pair], lost: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
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


class AllPairs:
    """The pairs of vertices that one or more steps connect.

    With P the pairs that a change adds or removes, and everything counted in components:

    - a step between vertices that are connected already: O(1), in a ring as well;
    - a new step: O(P + those before it x those after it);
    - a lost step within a component that stays whole: a search within it, from the one end to the
      other, and O(component) if several are lost at once; a component that splits: O(P + its steps
      + those before it x those after it);
    - a lost step between components: O(P x successors), plus those after it.

    Memory: a number per pair of components connected, twice; the steps and vertices.
    """

    def __init__(self, steps: StepGraph, take: Callable[[int], None]) -> None:
        """Follow ``steps``; ``take`` is called with the number of pairs about to be visited."""
        self._steps = steps
        self._take = take
        self._at: dict[Vertex, int] = {}
        self._members: dict[int, list[Vertex]] = {}
        # A component reaches itself if it has a cycle: more than one member, or a step to itself.
        self._reached: dict[int, set[int]] = {}
        self._reaching: dict[int, set[int]] = {}
        self._numbers = count()
        self._added: list[Pair] = []
        self._removed: list[Pair] = []
        self._fill()

    def change(self, won: Iterable[Pair], lost: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
        self._added, self._removed = [], []
        # New steps first: a path that is replaced by another in the same change is never lost.
        for one, other in won:
            self._win(self._component(one), self._component(other))
        lost = list(lost)
        if lost:
            self._lose(lost)
        return self._added, self._removed

    def pairs(self) -> Iterator[Pair]:
        members = self._members
        for component, reached in self._reached.items():
            for other in reached:
                self._take(len(members[component]) * len(members[other]))
                for one in members[component]:
                    for vertex in members[other]:
                        yield one, vertex

    def size(self) -> int:
        return len(self._at) + 2 * sum(map(len, self._reached.values()))

    def _fill(self) -> None:
        forward = self._steps.forward
        vertices = dict.fromkeys((*forward, *self._steps.back))
        for members in components(vertices, lambda vertex: forward.get(vertex, ())):
            component = self._new(members)
            reached = set()
            for after in self._after(component):
                self._take(1 + len(self._reached[after]))
                reached.add(after)
                reached |= self._reached[after]
            if self._is_cyclic(component):
                reached.add(component)
            self._reached[component] = reached
            for after in reached:
                self._reaching[after].add(component)

    def _component(self, vertex: Vertex) -> int:
        found = self._at.get(vertex)
        return self._new((vertex,)) if found is None else found

    def _new(self, members: Iterable[Vertex]) -> int:
        number = next(self._numbers)
        self._members[number] = list(members)
        self._reached[number] = set()
        self._reaching[number] = set()
        for vertex in self._members[number]:
            self._at[vertex] = number
        return number

    # -- new steps --------------------------------------------------------------------------

    def _win(self, one: int, other: int) -> None:
        reached = self._reached
        if other in reached[one]:
            return
        if one in reached[other]:
            self._merge(one, other)
            return
        # Within one component this is its first cycle: a step from a vertex to itself.
        targets = reached[other] | {other}
        for before in self._reaching[one] | {one}:
            self._take(len(targets))
            new = targets - reached[before]
            self._added += self._between(before, new)
            reached[before] |= new
            for after in new:
                self._reaching[after].add(before)

    def _merge(self, one: int, other: int) -> None:
        """Make one component of all components on a path back, as a step closes a cycle."""
        reached, reaching = self._reached, self._reaching
        parts = (reaching[one] | {one}) & (reached[other] | {other})
        befores = reaching[one] - parts
        targets = reached[other] - parts
        everything = parts | targets
        for before in (*befores, *parts):
            # A component that reaches the end of the step reaches all the other parts.
            if before in parts or other not in reached[before]:
                self._added += self._between(before, everything - reached[before])
        kept = max(parts, key=lambda part: len(self._members[part]))
        for part in parts - {kept}:
            members = self._members.pop(part)
            self._members[kept] += members
            for vertex in members:
                self._at[vertex] = kept
            del reached[part], reaching[part]
        for before in befores:
            reached[before] -= parts
            reached[before] |= targets
            reached[before].add(kept)
        for after in targets:
            reaching[after] -= parts
            reaching[after] |= befores
            reaching[after].add(kept)
        reached[kept] = targets | {kept}
        reaching[kept] = befores | {kept}

    # -- lost steps -------------------------------------------------------------------------

    def _lose(self, lost: list[Pair]) -> None:
        at = self._at
        inside: dict[int, list[Pair]] = {}
        for step in lost:
            if at[step[0]] == at[step[1]]:
                inside.setdefault(at[step[0]], []).append(step)
        # For each component, the components that it may not reach any more.
        doubts: dict[int, set[int]] = {}
        ranks: dict[int, int] = {}
        for component, steps in inside.items():
            if not self._holds_together(component, steps):
                self._split(component, doubts, ranks)
        for one, other in lost:
            if at[one] != at[other]:
                doubted = self._reached[at[other]] | {at[other]}
                doubts[at[one]] = doubted | doubts.get(at[one], set())
        self._disconnect(doubts, ranks)
        for vertex in {vertex: None for step in lost for vertex in step}:
            if vertex not in self._steps.forward and vertex not in self._steps.back:
                component = at.pop(vertex)
                for kept in (self._members, self._reached, self._reaching):
                    del kept[component]

    def _holds_together(self, component: int, lost: list[Pair]) -> bool:
        """Whether a component without some steps is certainly still connected, and has a cycle."""
        if len(self._members[component]) == 1:
            return False
        between = [step for step in lost if step[0] != step[1]]
        return not between or (len(between) == 1 and self._leads(*between[0]))

    def _leads(self, one: Vertex, other: Vertex) -> bool:
        """Whether steps within a component lead from one vertex of it to another."""
        forward, at, component = self._steps.forward, self._at, self._at[one]
        seen = {one}
        for vertex in (queue := [one]):
            ahead = forward.get(vertex, ())
            if other in ahead:
                return True
            for following in ahead:
                if following not in seen and at[following] == component:
                    seen.add(following)
                    queue.append(following)
        return False

    def _split(self, component: int, doubts: dict[int, set[int]], ranks: dict[int, int]) -> None:
        """Find the parts of a split component; each still counts as reaching all others."""
        forward, at = self._steps.forward, self._at
        members = self._members[component]
        parts = components(
            members, lambda vertex: [v for v in forward.get(vertex, ()) if at[v] == component]
        )
        if len(parts) == 1 and len(members) > 1:
            return
        largest = max(parts, key=len)
        self._members[component] = largest
        numbers = [component if part is largest else self._new(part) for part in parts]
        reached, reaching = self._reached, self._reaching
        everything = reached[component].union(numbers)
        befores = reaching[component].union(numbers)
        for before in befores:
            reached[before].update(numbers)
        for after in everything:
            reaching[after].update(numbers)
        for rank, number in enumerate(numbers):
            reached[number] = set(everything)
            reaching[number] = set(befores)
            doubts[number] = set(everything)
            ranks[number] = rank

    def _disconnect(self, doubts: dict[int, set[int]], ranks: dict[int, int]) -> None:
        """Remove what components do not reach any more; the components nearest to the sinks first.

        If one component reaches another, it reaches more components; the parts of a split component
        are ordered by ``ranks``, the order in which they were found.
        """
        reached = self._reached
        heap: list[tuple[int, int, int]] = []

        def push(component: int) -> None:
            more = len(reached[component]) - (component in reached[component])
            heapq.heappush(heap, (more, ranks.get(component, 0), component))

        for component in doubts:
            push(component)
        while heap:
            component = heapq.heappop(heap)[2]
            gone = doubts.pop(component) & reached[component]
            itself = component in gone and not self._is_cyclic(component)
            gone.discard(component)
            for after in self._after(component):
                if not gone:
                    break
                gone.discard(after)
                gone = gone - reached[after]
            if itself:
                gone.add(component)
            if not gone:
                continue
            self._removed += self._between(component, gone)
            reached[component] -= gone
            for after in gone:
                self._reaching[after].discard(component)
            for before in self._before(component):
                if before in doubts:
                    doubts[before] |= gone
                else:
                    doubts[before] = set(gone)
                    push(before)

    # -- the graph --------------------------------------------------------------------------

    def _after(self, component: int) -> dict[int, None]:
        """The components one step after a component."""
        at, forward = self._at, self._steps.forward
        found = {at[other]: None for v in self._members[component] for other in forward.get(v, ())}
        found.pop(component, None)
        return found

    def _before(self, component: int) -> dict[int, None]:
        """The components one step before a component."""
        at, back = self._at, self._steps.back
        found = {at[other]: None for v in self._members[component] for other in back.get(v, ())}
        found.pop(component, None)
        return found

    def _is_cyclic(self, component: int) -> bool:
        members = self._members[component]
        if len(members) > 1:
            return True
        (vertex,) = members
        return vertex in self._steps.forward.get(vertex, ())

    def _between(self, component: int, others: Iterable[int]) -> list[Pair]:
        """The pairs from the members of a component to those of others."""
        members = self._members
        ends = [vertex for other in others for vertex in members[other]]
        self._take(len(members[component]) * len(ends))
        return [(vertex, end) for vertex in members[component] for end in ends]
