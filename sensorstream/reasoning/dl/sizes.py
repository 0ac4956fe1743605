"""How many individuals the reasoner is asked about together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sensorstream.model.terms import Subject


class IslandSizes:
    """The size of every island of two or more members; O(members that change) each.

    :attr:`largest` may be read in any thread.
    """

    __slots__ = ("_members", "_of")

    def __init__(self) -> None:
        self._of: dict[Subject, int] = {}
        self._members: Counter[int] = Counter()

    @property
    def largest(self) -> int:
        """The members of the largest island; 1: every individual is alone."""
        # One step of the interpreter, while another thread may add and remove sizes.
        return max(list(self._members), default=1)

    def update(self, nodes: Iterable[Subject], sizes: Mapping[Subject, int]) -> None:
        """Set the sizes of the islands of some individuals: those not in ``sizes`` are alone."""
        for node in nodes:
            before, now = self._of.get(node, 1), sizes.get(node, 1)
            if before == now:
                continue
            if before > 1:
                self._members[before] -= 1
                if not self._members[before]:
                    del self._members[before]
            if now > 1:
                self._of[node] = now
                self._members[now] += 1
            else:
                del self._of[node]

    def clear(self) -> None:
        """Forget all of them."""
        self._of.clear()
        self._members.clear()
