"""What the rows in the state of a query are of: a digest, by which another build is found out.

Operators write what they remember by their numbers and the places of their columns. A build that
plans the query in another way would take those rows for something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from sensorstream.network.intervals.build import timed_operators
from sensorstream.network.intervals.node import TimedNode
from sensorstream.network.node import Node, operators
from sensorstream.network.operators.delayed import Delayed
from sensorstream.network.plan.nodes import Anew, Plan
from sensorstream.network.plan.text import plan_text


def layout_of(root: Node, plan: Plan) -> str:
    """The digest of a query's layout; equal where a state of one build can be read by another.

    A pattern in time depends on all its operators. What a query over windows remembers is derived
    again, so that only its delayed groups and the columns of its result matter.
    """
    if isinstance(root, TimedNode):
        return _digest(_operators(root))
    delays = (each.describe() for each in operators(root) if isinstance(each, Delayed))
    return _digest((f"anew {isinstance(plan, Anew)}", _columns(root.variables), *delays))


def layout_of_rules(plan: Plan) -> str:
    """The digest of the layout of rules over time, which depends on all that they select."""
    return _digest(_parts(plan))


def _operators(root: TimedNode) -> Iterator[str]:
    nodes = timed_operators(root)
    numbers = {id(node): number for number, node in enumerate(nodes)}
    for node in nodes:
        inputs = [numbers[id(each)] for each in node.inputs]
        sides = [side for side, _ in node.kept()]
        yield f"of {inputs} keeps {sides} {_columns(node.variables)}"
        yield node.describe()


def _parts(plan: Plan, level: int = 0) -> Iterator[str]:
    yield f"{level} {plan_text(plan)}"
    yield _columns(plan.variables)
    for each in plan.inputs:
        yield from _parts(each, level + 1)


def _columns(names: Iterable[str]) -> str:
    return " ".join(names)


def _digest(lines: Iterable[str]) -> str:
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
