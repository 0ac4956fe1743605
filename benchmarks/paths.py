"""Property paths under change: ``python -m benchmarks.paths``.

Prints the milliseconds a change costs, with the closure as it is and as it was (a set of reached
nodes for each origin, walked anew), in one process and in turns.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Final

from sensorstream.model.terms import IRI
from sensorstream.network.node import Node
from sensorstream.network.operators.path_closure import ClosureOperator
from sensorstream.network.operators.row_operators import ConstantOperator
from sensorstream.network.plan.nodes import ConstantPlan
from sensorstream.network.rows import Row
from tests.network.operators.walked_closure import WalkedClosure

TURNS: Final = 5
Change = tuple[Sequence[Row], Sequence[Row]]
"""Steps that come, and steps that go."""
NAMES: Final[list[Any]] = [IRI(f"http://example.org/n{number}") for number in range(2000)]


def ring(size: int) -> list[Row]:
    return [(NAMES[place], NAMES[(place + 1) % size]) for place in range(size)]


def tree(size: int, width: int) -> list[Row]:
    return [(NAMES[(place - 1) // width], NAMES[place]) for place in range(1, size)]


def random_graph(size: int, steps: int) -> list[Row]:
    draw = random.Random(1)
    return [(NAMES[draw.randrange(size)], NAMES[draw.randrange(size)]) for _ in range(steps)]


def comes_and_goes(step: Row) -> list[Change]:
    return [([step], []), ([], [step])] * 5


CASES: Final[dict[str, tuple[list[Row], list[Change], tuple[Any, Any]]]] = {
    "chord in a ring of 400": (ring(400), comes_and_goes((NAMES[10], NAMES[200])), (None, None)),
    "ring of 400 breaks, closes": (
        ring(400),
        [([], [ring(400)[0]]), ([ring(400)[0]], [])],
        (None, None),
    ),
    "chain of 400 grows at its end": (
        ring(400)[:200],
        [([step], []) for step in ring(400)[200:-1]],
        (None, None),
    ),
    "chain of 400 loses its beginning": (
        ring(400)[:-1],
        [([], [step]) for step in ring(400)[:100]],
        (None, None),
    ),
    "leaf of a tree of 1000": (
        tree(1000, 3),
        comes_and_goes((NAMES[999], NAMES[1500])),
        (None, None),
    ),
    "branch of a tree of 1000": (
        tree(1000, 3),
        [([], [tree(1000, 3)[2]]), ([tree(1000, 3)[2]], [])],
        (None, None),
    ),
    "step in a random graph, 300 of 600": (
        random_graph(300, 600),
        [([], [step]) for step in dict.fromkeys(random_graph(300, 600)[:40])],
        (None, None),
    ),
    "chord in a ring of 400, one start": (
        ring(400),
        comes_and_goes((NAMES[10], NAMES[200])),
        (NAMES[0], None),
    ),
    "leaf of a tree of 1000, one start": (
        tree(1000, 3),
        comes_and_goes((NAMES[999], NAMES[1500])),
        (NAMES[0], None),
    ),
}


def cost(
    kind: Callable[..., Node], steps: Sequence[Row], changes: Sequence[Change], fixed: Any
) -> float:
    """Milliseconds a change; the rows it gives out are counted in."""
    source = ConstantOperator(ConstantPlan(("one", "other"), tuple(dict.fromkeys(steps))))
    node = kind(source, ("one", "other"), *fixed)
    node.load()
    gc.collect()
    begun = time.process_time()
    for added, removed in changes:
        source.added, source.removed = list(added), list(removed)
        node.flush()
        node.added, node.removed = [], []
    return (time.process_time() - begun) * 1000 / len(changes)


def main() -> None:
    print(f"{'ms a change':36} {'before':>10} {'now':>10} {'ratio':>8}")
    for name, (steps, changes, fixed) in CASES.items():
        before, now = [], []
        for _ in range(TURNS):
            before.append(cost(WalkedClosure, steps, changes, fixed))
            now.append(cost(ClosureOperator, steps, changes, fixed))
        one, other = median(before), median(now)
        print(f"{name:36} {one:10.3f} {other:10.3f} {one / other:8.1f}")


if __name__ == "__main__":
    main()
