"""The interface through which a running rule reports what it evaluates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from lxml import etree

from sensorstream.language.syntax import Hole
from sensorstream.mapping.moved_paths import ROOT, at_part
from sensorstream.mapping.plan import Turn
from sensorstream.model.terms import Subject, Triple


class ExpressionRecorder:
    """Called for every expression, each time it is evaluated; by default it does nothing."""

    def selected(self, rule: str, hole: Hole, turn: Turn, count: int) -> None:
        """``on message`` or ``for each`` found so many nodes."""

    def tested(self, rule: str, hole: Hole, turn: Turn, held: bool) -> None:
        """A condition held, or did not."""

    def produced(self, rule: str, hole: Hole, turn: Turn, values: Sequence[str]) -> None:
        """A hole returned values, after its value functions."""

    def named(self, rule: str, name: Subject, holes: Sequence[Hole], turn: Turn) -> None:
        """An individual got its name from some holes; the statements about it follow."""

    def stated(self, rule: str, triple: Triple, holes: Sequence[Hole], turn: Turn) -> None:
        """A property got a value from some holes; none: the rule itself has the value."""


def evaluated(text: str, namespaces: Mapping[str, str], turn: Turn) -> object:
    """The result of a path, with strings that have a parent element; None: it has none."""
    variables = {name: node for name, node in turn.variables.items() if f"${name}" in text}
    if ROOT in turn.variables:
        text = at_part(text)
        variables[ROOT] = turn.variables[ROOT]
    try:
        path = etree.XPath(text, namespaces=dict(namespaces) or None)
        return path(turn.context, **cast(dict[str, Any], variables))
    except etree.XPathError:
        # The expression as a whole has reported the error already.
        return None
