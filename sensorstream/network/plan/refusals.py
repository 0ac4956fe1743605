"""What makes a plan impossible, found before an operator is made."""

from __future__ import annotations

from collections.abc import Iterator

from sensorstream.errors import NotIncremental, UnsupportedQuery
from sensorstream.model.terms import IRI
from sensorstream.network.expressions.expression_functions import value_of
from sensorstream.network.plan.nodes import (
    Extend,
    Filter,
    Group,
    LeftJoin,
    Mark,
    Match,
    Plan,
    Slice,
)
from sensorstream.network.rows import slots_of
from sensorstream.network.sources import Sources
from sensorstream.sparql.algebra import Expression, Pattern, Window
from sensorstream.sparql.walk import nodes


def plans(root: Plan) -> Iterator[Plan]:
    """A plan and all below it, each once."""
    seen, ahead = {root}, [root]
    while ahead:
        plan = ahead.pop()
        yield plan
        for each in plan.inputs:
            if each not in seen:
                seen.add(each)
                ahead.append(each)


def check_windows(pattern: Pattern, sources: Sources) -> None:
    """Whether each WINDOW is one of the query's.

    Raises:
        UnsupportedQuery: one is not.
    """
    for each in nodes(pattern):
        if not isinstance(each, Window):
            continue
        if not isinstance(each.name, IRI):
            raise UnsupportedQuery(
                f"WINDOW {each.name}: the query has no window: define one with FROM NAMED WINDOW",
                part=each,
            )
        if each.name not in sources.windows:
            known = ", ".join(f"<{name}>" for name in sources.windows) or "none"
            raise UnsupportedQuery(
                f"WINDOW <{each.name}>: no such window; the query defines {known} "
                "(FROM NAMED WINDOW)",
                part=each,
            )


def check_expressions(root: Plan) -> None:
    """Whether all expressions of a plan can be computed, and computed again for what goes.

    Raises:
        NotIncremental: one has another value each time.
        UnsupportedQuery: one calls a function that there is not.
    """
    anew: NotIncremental | None = None
    for plan in plans(root):
        places = slots_of(plan.variables)
        for expression in _expressions(plan):
            try:
                value_of(expression, places)
            except NotIncremental as error:
                # What cannot be answered at all is the greater fault: look on for one.
                anew = anew or error
    if anew is not None:
        raise anew


def _expressions(plan: Plan) -> Iterator[Expression]:
    match plan:
        case Match(_, filters, _):
            yield from filters
        case Filter(_, condition) | Extend(_, _, condition):
            yield condition
        case LeftJoin(_, _, condition) if condition is not None:
            yield condition
        case Mark(_, _, conditions, _):
            yield from conditions
        case Group(_, _, aggregates):
            yield from (each.expression for _, each in aggregates if each.expression is not None)
        case Slice(_, conditions, _, _):
            yield from (each.expression for each in conditions)
