"""The state of a compiled mapping rule while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sensorstream.mapping.document import Element
from sensorstream.mapping.plan import Harvest, Statements
from sensorstream.mapping.xpath import Bound
from sensorstream.model.terms import Term


@dataclass(slots=True)
class Scope:
    """The context of a rule: a node that its path found, and its variables."""

    context: Element
    harvest: Harvest
    variables: dict[str, Bound] = field(default_factory=dict)
    # The results of holes that occur more than once in the rule, for these variables.
    found: dict[str, list[str]] = field(default_factory=dict)
    # The results of what does not depend on the variables, by what finds them.
    fixed: dict[object, Any] = field(default_factory=dict)


Texts: TypeAlias = Callable[[Scope], list[str]]
Terms: TypeAlias = Callable[[Scope, Statements], Sequence[Term]]
"""The terms of a value; further statements about them are added to the statements."""
