"""A minimal conflict among many statements, with few requests to a reasoner.

Source: U. Junker, QuickXplain: Preferred Explanations and Relaxations for Over-Constrained
Problems, AAAI 2004, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def minimal_conflict(candidates: Sequence[T], conflicts: Callable[[Sequence[T]], bool]) -> list[T]:
    """A subset that conflicts while none of its proper subsets does; early candidates first.

    ``conflicts`` says whether some of the candidates contradict each other (and with the fixed
    background); adding statements never removes a conflict. All candidates together must conflict.
    A conflict of k among n takes about 2 k log2(n / k) + 2 k questions. The answer is empty if the
    background alone conflicts. Exceptions of ``conflicts`` are not caught.
    """
    if conflicts(()):
        return []

    def search(known: list[T], grown: bool, among: Sequence[T]) -> list[T]:
        """The part of ``among`` that is a minimal conflict together with ``known``."""
        if grown and conflicts(known):
            return []
        if len(among) == 1:
            return list(among)
        half = len(among) // 2
        first, second = among[:half], among[half:]
        late = search([*known, *first], True, second)
        early = search([*known, *late], bool(late), first)
        return [*early, *late]

    return search([], False, list(candidates))
