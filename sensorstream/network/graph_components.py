"""Graphs and trees: strongly connected components, strata, reachable nodes, pruning.

Source: Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1 (1972);
Abiteboul, Hull, Vianu, "Foundations of Databases", 1995, section 15.2 (stratification).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any, TypeVar

N = TypeVar("N", bound=Hashable)


def components(nodes: Iterable[N], successors: Callable[[N], Iterable[N]]) -> list[list[N]]:
    """The strongly connected components of the nodes reached, each after those it leads to.

    O(nodes + edges), without recursion.
    """
    order: dict[N, int] = {}
    low: dict[N, int] = {}
    # The nodes whose component is not known yet, in the order they were found.
    open_nodes: dict[N, None] = {}
    found: list[list[N]] = []
    for root in nodes:
        if root in order:
            continue
        order[root] = low[root] = len(order)
        open_nodes[root] = None
        walk: list[tuple[N, Iterator[N]]] = [(root, iter(successors(root)))]
        while walk:
            node, ahead = walk[-1]
            for other in ahead:
                if other not in order:
                    order[other] = low[other] = len(order)
                    open_nodes[other] = None
                    walk.append((other, iter(successors(other))))
                    break
                if other in open_nodes:
                    low[node] = min(low[node], order[other])
            else:
                walk.pop()
                if walk:
                    above = walk[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == order[node]:
                    members: list[N] = []
                    while not members or members[-1] != node:
                        members.append(open_nodes.popitem()[0])
                    found.append(members)
    return found


def strata(
    nodes: Iterable[N],
    below: Callable[[N], Collection[tuple[N, int]]],
    check: Callable[[list[N]], None],
) -> dict[N, int]:
    """The least stratum of each node reached; the nodes of a cycle have the same one.

    ``below`` gives the nodes that a node leads to, each with the number of strata that it must be
    above them. ``check`` is called with each component, after those it leads to: it refuses a cycle
    in which a node would be above itself.
    """
    levels = dict[N, int]()
    for members in components(nodes, lambda node: [each for each, _ in below(node)]):
        check(members)
        known = (
            levels[each] + steps
            for node in members
            for each, steps in below(node)
            if each in levels
        )
        levels.update(dict.fromkeys(members, max(known, default=0)))
    return levels


def reached(nodes: Iterable[N], successors: Callable[[N], Iterable[N]]) -> dict[N, None]:
    """The nodes and all that they lead to, nearest first; O(nodes + edges)."""
    found = dict.fromkeys(nodes)
    for node in (ahead := list(found)):
        for other in successors(node):
            if other not in found:
                found[other] = None
                ahead.append(other)
    return found


def prune(tree: dict[Any, Any], *path: Hashable) -> None:
    """Remove a leaf of a tree of dictionaries, with the branches that are empty then."""
    first, *rest = path
    if rest:
        prune(tree[first], *rest)
    if not rest or not tree[first]:
        del tree[first]
