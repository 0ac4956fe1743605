"""From the algebra of a query to an equal one that costs less to keep in step.

Each rule is a function of a pattern in a file of its own; :data:`RULES` is the order in which they
are applied, once each. The result has the same solutions, with the same multiplicity, on every
dataset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sensorstream.sparql.algebra import Pattern
from sensorstream.sparql.rewrite.constants_right import constants_right
from sensorstream.sparql.rewrite.filters_down import filters_down
from sensorstream.sparql.rewrite.filters_split import filters_split
from sensorstream.sparql.rewrite.filters_up import filters_up
from sensorstream.sparql.rewrite.joins_flat import joins_flat
from sensorstream.sparql.rewrite.windows_down import windows_down

Rule = Callable[[Pattern], Pattern]

RULES: Final[tuple[Rule, ...]] = (
    windows_down,
    filters_split,
    constants_right,
    filters_up,
    filters_down,
    joins_flat,
)


def rewritten(pattern: Pattern) -> Pattern:
    """The pattern after all rules."""
    for rule in RULES:
        pattern = rule(pattern)
    return pattern
