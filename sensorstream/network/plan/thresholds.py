"""Filters that compare a variable with a constant, so that queries can differ in it and share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

from sensorstream.model.terms import IRI, Literal
from sensorstream.network.expressions.order import is_comparable
from sensorstream.network.plan.nodes import Beyond, Filter, Plan, Thresholds
from sensorstream.sparql.algebra import Comparison, Expression, Variable


@dataclass(frozen=True, slots=True)
class Threshold:
    """``variable operator constant``."""

    variable: str
    operator: OneOf["=", "<", ">", "<=", ">="]
    constant: IRI | Literal

    def over(self, source: Plan, output: Sequence[str]) -> Plan:
        """The rows of a plan beyond the constant."""
        return Beyond(
            Thresholds(source, self.variable, self.operator), self.constant, tuple(output)
        )


def filtered(source: Plan, condition: Expression) -> Plan:
    """The rows of a plan for which a condition is true."""
    found = _threshold(condition, source.variables)
    return Filter(source, condition) if found is None else found.over(source, source.variables)


def parted_threshold(
    conditions: Sequence[Expression], bound: Collection[str]
) -> tuple[tuple[Expression, ...], Threshold | None]:
    """The first condition that is a threshold on a bound variable, and the others."""
    for place, condition in enumerate(conditions):
        found = _threshold(condition, bound)
        if found is not None:
            return (*conditions[:place], *conditions[place + 1 :]), found
    return tuple(conditions), None


def _threshold(condition: Expression, bound: Collection[str]) -> Threshold | None:
    match condition:
        case Comparison(operator, Variable(name), IRI() | Literal() as constant):
            if operator != "!=" and name in bound and is_comparable(operator, constant):
                return Threshold(name, operator, constant)
    return None
