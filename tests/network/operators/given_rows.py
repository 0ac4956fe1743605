"""Rows that come and go as a test says, and the sum of what an operator makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from sensorstream.network.node import Node
from sensorstream.network.rows import Row


class Given(Node):
    """Rows that come and go as a test says; what goes must be there."""

    def __init__(self, variables: Iterable[str], certain: Iterable[str] | None = None) -> None:
        names = tuple(variables)
        super().__init__((), names, names if certain is None else certain)
        self.held: Counter[Row] = Counter()

    def flush(self) -> None:
        """The test has set the change."""

    def rows(self) -> Iterable[Row]:
        return self.held.elements()

    def describe(self) -> str:
        return "Given"

    def become(self, added: list[Row], wanted: list[Row]) -> None:
        self.added = list(added)
        self.held.update(added)
        self.removed = list((Counter(wanted) & self.held).elements())
        self.held.subtract(self.removed)
        self.held = +self.held


Change: TypeAlias = tuple[list[Row], list[Row]]
"""Rows that come, and rows that go if they are there."""


def keeps_step(
    node: Node, instants: Iterable[Sequence[Change]], expected: Callable[[], Iterable[Row]]
) -> None:
    """Assert that an operator has what is expected of its inputs, at first and at every instant.

    In the end all rows go.
    """
    held: Counter[Row] | None = None
    for changes in chain(instants, _all_gone(node)):
        for source, change in zip(node.inputs, changes, strict=True):
            assert isinstance(source, Given)
            source.become(*change)
        if held is None:
            node.load()
            held = Counter(iter(node.rows()))
        else:
            node.flush()
            assert not node.apart or not set(node.added) & set(node.removed)
            held.update(node.added)
            held.subtract(node.removed)
        assert held == Counter(iter(node.rows())) == Counter(iter(expected()))
        node.added, node.removed = [], []


def _all_gone(node: Node) -> Iterator[list[Change]]:
    yield [([], list(source.rows())) for source in node.inputs]
