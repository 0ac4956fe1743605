"""Patterns in time: what they remember for ever, and what they do not follow in the streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sensorstream.analysis.note import AnyParsed, Known, Note
from sensorstream.errors import Position, UnsupportedQuery
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline
from sensorstream.network.intervals import plan as timed
from sensorstream.network.intervals.conditions import Clock
from sensorstream.network.intervals.planning import is_in_time, plan_in_time
from sensorstream.network.plan.nodes import Plan
from sensorstream.sparql.algebra import Graph, Query, Variable
from sensorstream.sparql.printing import path_text
from sensorstream.sparql.walk import nodes

_CLOCK: Final = Clock(Timeline.DATETIME, 1_000_000)
_FILTER: Final = 'FILTER(getDURATION() < "PT1H"^^xsd:duration)'


def notes(parsed: AnyParsed, known: Known) -> Iterator[Note]:
    """``unbounded-state``: no length of time bounds what a pattern remembers.

    ``path-in-background``: a path of any length, which follows nothing that happens.
    """
    query = parsed.meaning
    if not known.continuous or not isinstance(query, Query) or not is_in_time(query):
        return
    found = nodes(query.form.pattern)
    graphs = [each.name for each in found if isinstance(each, Graph) and isinstance(each.name, IRI)]
    try:
        plan = plan_in_time(query.form.pattern, _CLOCK, query.base, graphs)
    except UnsupportedQuery:
        # Whoever registers it is told why.
        return
    for each in timed.parts(plan):
        text = _unbounded(each)
        if text:
            yield Note("unbounded-state", text, _place(parsed, each.inputs[-1]))
        if isinstance(each, timed.Known) and each.is_path and each.graph is None:
            assert not isinstance(each.predicate, Variable)
            yield Note(
                "path-in-background",
                f"{path_text(each.predicate)} is followed in the background knowledge, and not in "
                "what happens: let a CONSTRUCT query add each step to chain what happens",
                parsed.position(each.predicate),
            )


def _unbounded(plan: Plan) -> str:
    """What an operator remembers for ever, and what would bound it; empty: nothing."""
    match plan:
        case timed.Seq(longest=None) if not plan.unrestricted:
            return _text("SEQ", "its left side", f"{_FILTER} in the group of the SEQ")
        case timed.Seq(longest=None):
            return _text("SEQ", "its left side", f"{_FILTER} in its group or around it")
        case timed.Join(left, right, longest=None):
            if _happens(left) and _happens(right):
                what = f"{_names(left)} and {_names(right)}"
                return _text("a join", what, f"{_FILTER} in its group or around it")
        case timed.Optional(longest=None) if plan.remembers:
            return _text(
                plan.operator,
                "its optional part",
                f"{_FILTER} around it, no filter being in the optional part,",
            )
        case timed.Group(lengths=()):
            by = f"HAVING{_FILTER.removeprefix('FILTER')}"
            return _text("GROUP BY", "all that it takes together", by)
        case timed.Minus(left, right) | timed.Mark(left, right):
            names = [f"?{name}" for name in right.variables if name in left.variables]
            if names and _happens(right):
                name = "MINUS" if isinstance(plan, timed.Minus) else "EXISTS"
                return (
                    f"{name} remembers each {', '.join(names)} of what it asks for, and no length "
                    "bounds that: EQUALSOPTIONAL and !BOUND ask about the same interval only"
                )
    return ""


def _text(operator: str, what: str, bound: str) -> str:
    return f"{operator} remembers {what} without a bound: {bound} would bound it"


def _happens(plan: Plan) -> bool:
    """Whether anything ever happens to a plan."""
    return not timed.is_timeless(plan)


def _names(plan: Plan) -> str:
    return " ".join(f"?{name}" for name in plan.variables if name.isidentifier()) or "solutions"


def _place(parsed: AnyParsed, plan: Plan) -> Position:
    """Where the first of the variables of a part is first written."""
    return min(_places(parsed, plan.variables), key=_order, default=parsed.start)


def _places(parsed: AnyParsed, names: Iterable[str]) -> Iterator[Position]:
    return (parsed.position(Variable(name)) for name in names if Variable(name) in parsed.places)


def _order(position: Position) -> tuple[int, int]:
    return position.line, position.column
