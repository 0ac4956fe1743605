"""The interface through which a running rule reports what it evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sensorstream.language.syntax import Hole
from sensorstream.mapping.scope import Scope


class ExpressionRecorder(Protocol):
    """Called for every expression, each time it is evaluated."""

    def selected(self, rule: str, hole: Hole, scope: Scope, count: int) -> None:
        """``on message`` or ``for each`` found so many nodes."""

    def tested(self, rule: str, hole: Hole, scope: Scope, held: bool) -> None:
        """A condition held, or did not."""

    def produced(self, rule: str, hole: Hole, scope: Scope, values: Sequence[str]) -> None:
        """A hole returned values, after its value functions."""
