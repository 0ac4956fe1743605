"""What a compiled mapping rule works on while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sensorstream.mapping.document import Element
from sensorstream.mapping.plan import Harvest, Statements
from sensorstream.model.terms import Term


@dataclass(slots=True)
class Scope:
    """Where a rule stands: at a node its path found, with its variables bound."""

    context: Element
    harvest: Harvest
    variables: dict[str, Element | str] = field(default_factory=dict)
    # What holes that stand in the rule more than once have found for these variables.
    found: dict[str, list[str]] = field(default_factory=dict)


Texts: TypeAlias = Callable[[Scope], list[str]]
Terms: TypeAlias = Callable[[Scope, Statements], Sequence[Term]]
"""The terms of a value; what else must be said of them goes to the statements."""
