"""What a rule tells while it runs, to whoever asked for it when the rules were compiled."""

from __future__ import annotations

from typing import Protocol

from sensorstream.language.syntax import Hole
from sensorstream.mapping.scope import Scope


class Recorder(Protocol):
    """Hears of every expression that is evaluated."""

    def evaluated(self, rule: str, hole: Hole, scope: Scope, result: object) -> None:
        """An XPath gave lxml's ``result``; that of a condition is a bool."""

    def produced(self, rule: str, hole: Hole, scope: Scope, values: list[str]) -> None:
        """The values of a hole, after its value functions."""
