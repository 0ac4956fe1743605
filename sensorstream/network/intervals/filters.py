"""Where filters of patterns in time go: down to the smallest part that binds their variables.

Those that ask for the interval stay, since each part has another one; what they say of the length
goes down as a bound of what is kept.
"""

from __future__ import annotations

from dataclasses import replace

from sensorstream.network.intervals import plan as timed
from sensorstream.network.intervals.conditions import Clock, asks_for_time, longest
from sensorstream.network.plan import nodes as plans
from sensorstream.network.plan.nodes import Plan
from sensorstream.sparql.algebra import Comparison, Expression
from sensorstream.sparql.scope import names_in


def filtered(plan: Plan, condition: Expression, clock: Clock) -> Plan:
    """A plan with a condition of its solutions."""
    lowered = _chosen(plan, condition) or _taken_together(plan, condition, clock)
    if lowered is None and not asks_for_time(condition):
        lowered = _lowered(plan, condition)
    return plans.Filter(plan, condition) if lowered is None else lowered


def _chosen(plan: Plan, condition: Expression) -> Plan | None:
    """A SEQ that chooses among what fits, with a filter on its interval as a test; or None.

    A consuming policy filters first, then consumes.
    """
    match plan:
        case timed.Seq() if not plan.unrestricted and asks_for_time(condition):
            if names_in(condition) <= plan.certain:
                return replace(plan, tests=(*plan.tests, condition))
        case plans.Filter(source, _):
            found = _chosen(source, condition)
            return None if found is None else replace(plan, source=found)
        case timed.Mark(left):
            found = _chosen(left, condition)
            return None if found is None else replace(plan, left=found)
    return None


def _taken_together(plan: Plan, condition: Expression, clock: Clock) -> Plan | None:
    """A GROUP BY with a filter on its length, which says what is taken together; or None."""
    at_most = isinstance(condition, Comparison) and condition.operator != "="
    if not at_most or longest(condition, clock) is None:
        return None
    match plan:
        case timed.Group():
            return replace(plan, lengths=(*plan.lengths, condition))
        case plans.Filter() | plans.Extend() | plans.Project():
            found = _taken_together(plan.source, condition, clock)
            return None if found is None else replace(plan, source=found)
        case timed.Mark(left):
            found = _taken_together(left, condition, clock)
            return None if found is None else replace(plan, left=found)
    return None


def _lowered(plan: Plan, condition: Expression) -> Plan | None:
    """The plan with a filter within it, where its variables are bound; None: nowhere."""
    names = names_in(condition)

    def into(part: Plan) -> Plan:
        return _lowered(part, condition) or plans.Filter(part, condition)

    match plan:
        case timed.Seq() | timed.Join() | timed.Equals():
            if names <= plan.left.certain:
                return replace(plan, left=into(plan.left))
            if names <= plan.right.certain:
                return replace(plan, right=into(plan.right))
            if isinstance(plan, timed.Seq) and names <= plan.certain:
                return replace(plan, tests=(*plan.tests, condition))
        case timed.Optional() | timed.Minus() | timed.Mark() if names <= plan.left.certain:
            return replace(plan, left=into(plan.left))
        case plans.Filter() | plans.Project() | timed.Once() if names <= plan.source.certain:
            return replace(plan, source=into(plan.source))
        case plans.Extend() if names <= plan.source.certain and plan.name not in names:
            return replace(plan, source=into(plan.source))
    return None


def bounded(plan: Plan, most: int | None, clock: Clock) -> Plan:
    """The plan with the length beyond which its solutions are not wanted.

    A part of a solution is never longer than the whole.
    """
    match plan:
        case plans.Filter(source, condition):
            bound = longest(condition, clock)
            if bound is not None:
                most = bound if most is None else min(most, bound)
            return replace(plan, source=bounded(source, most, clock))
        case plans.Extend() | plans.Project() | timed.Once():
            return replace(plan, source=bounded(plan.source, most, clock))
        case timed.Group():
            # What is counted must not depend on what is wanted of it further up.
            return replace(plan, source=bounded(plan.source, longest_of(plan, clock), clock))
        case timed.Seq(left, right) | timed.Join(left, right):
            if isinstance(plan, timed.Seq) and not plan.unrestricted:
                # What is chosen must not depend on what is wanted of it further up.
                most = None
            for test in plan.tests if isinstance(plan, timed.Seq) else ():
                bound = longest(test, clock)
                if bound is not None:
                    most = bound if most is None else min(most, bound)
            return replace(
                plan,
                left=bounded(left, most, clock),
                right=bounded(right, most, clock),
                longest=most,
            )
        case plans.Union(parts):
            return replace(plan, parts=tuple(bounded(each, most, clock) for each in parts))
        case timed.Equals(left, right):
            return replace(plan, left=bounded(left, most, clock), right=bounded(right, most, clock))
        case timed.First(source):
            # Which are the first must not depend on what is wanted of them further up.
            return replace(plan, source=bounded(source, None, clock))
        case timed.Minus(left, right) | timed.Mark(left, right) | timed.Optional(left, right):
            left, right = bounded(left, most, clock), bounded(right, None, clock)
            if isinstance(plan, timed.Optional):
                plan = replace(plan, longest=most if _only_existence(plan) else None)
            return replace(plan, left=left, right=right)
    return plan


def longest_of(plan: timed.Group, clock: Clock) -> int | None:
    """The length beyond which nothing is taken together; None: there is none."""
    bounds = (longest(each, clock) for each in plan.lengths)
    return min((each for each in bounds if each is not None), default=None)


def _only_existence(plan: timed.Optional) -> bool:
    """Whether any old optional row of the same key stands for all others.

    What is joined with an old one is too long to be wanted; but that there is one must be known.
    """
    shared = set(plan.left.variables).intersection(plan.right.variables)
    certain = plan.left.certain & plan.right.certain
    return plan.remembers and plan.condition is None and shared <= certain
