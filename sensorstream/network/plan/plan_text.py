"""A plan as lines for people: each operator above those that feed it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from sensorstream.kb.triple_index import TripleIndex
from sensorstream.model.terms import Term
from sensorstream.network.pattern_cost import expected_rows
from sensorstream.network.plan import nodes as plans
from sensorstream.network.query_sources import TripleSource
from sensorstream.network.rows import shown
from sensorstream.sparql.algebra import Expression, Variable
from sensorstream.sparql.query_printer import part_text

_NOTHING: Final[Mapping[TripleSource, TripleIndex]] = {}


def plan_lines(
    plan: plans.Plan, indexes: Mapping[TripleSource, TripleIndex] = _NOTHING, level: int = 0
) -> Iterator[str]:
    """The tree of a plan, from the top.

    Where ``indexes`` has all the graphs of a match, it says how many rows are expected of it.
    """
    yield f"{'  ' * level}{plan_text(plan)}{_cost(plan, indexes)}"
    for each in plan.inputs:
        yield from plan_lines(each, indexes, level + 1)


def _cost(plan: plans.Plan, indexes: Mapping[TripleSource, TripleIndex]) -> str:
    if not isinstance(plan, plans.Match) or any(t.source not in indexes for t in plan.triples):
        return ""
    rows = expected_rows([(indexes[each.source], each.ends) for each in plan.triples])
    return f"  [about {rows:.0f} rows before filters]"


def plan_text(plan: plans.Plan) -> str:
    """A line about the operator at the top of a plan."""
    match plan:
        case plans.Match(triples, filters, output):
            parts = [_triples(triples), *map(_filter, filters)]
            return f"Match {' '.join(parts)} -> {_names(output)}"
        case plans.ConstantPlan(names, rows):
            return f"Values {_names(names)} ({len(rows)} rows)"
        case plans.Anew():
            return f"Evaluated anew at every change: {plan.reason}"
        case plans.FilterPlan(_, condition):
            return f"Filter {part_text(condition)}"
        case plans.ThresholdsPlan(_, variable, operator):
            return f"Thresholds ?{variable} {operator} the constant of each reader"
        case plans.BeyondPlan():
            return f"Filter {part_text(plan.condition)} -> {_names(plan.variables)}"
        case plans.ExtendPlan(_, name, expression):
            return f"Extend ?{name} = {part_text(expression)}"
        case plans.ProjectPlan(_, names):
            return f"Project {_names(names)}"
        case plans.SlicePlan(_, _, offset, limit) if plan.timed:
            number = "All" if limit is None else f"The {limit} that end first"
            return f"{number}, after the first {offset}" if offset else number
        case plans.SlicePlan(_, conditions, offset, limit):
            order = " in order" if conditions else ""
            return f"Slice {'all' if limit is None else limit} from {offset}{order}"
        case plans.GroupPlan(_, keys, aggregates, lengths):
            values = ", ".join(f"{name} = {part_text(of)}" for name, of in aggregates)
            bound = _if(*lengths) or (_kept(None) if plan.timed else "")
            return f"Group{f' by {_names(keys)}' if keys else ''}: {values}{bound}"
        case plans.DelayedPlan(_, delay, names):
            return f"What was so {delay} units of time ago -> {_names(names)}"
        case plans.ClosurePlan(_, start, end):
            ends = [f"from {start.n3}" if start else "", f"to {end.n3}" if end else ""]
            return " ".join(["One or more steps", *filter(None, ends)])
        case plans.PathEndsPlan(_, subject, object_):
            return f"Ends {_end(subject)} {_end(object_)}"
        case plans.JoinPlan(left, right, _, longest) if plan.timed:
            bound = "" if left.is_timeless or right.is_timeless else _kept(longest)
            return f"Join{_on(plan)}{bound}"
        case plans.JoinPlan(_, _, output):
            return f"Join{_on(plan, ' ')} -> {_names(output)}" if plan.shared else "Product"
        case plans.PlaceJoinPlan(_, _, output, places):
            return f"Join by an index of places, {_filter(places.condition)} -> {_names(output)}"
        case plans.LeftJoinPlan(_, _, condition, operator, longest) if plan.timed:
            return f"{operator}{_if(condition)}{_kept(longest) if plan.remembers else ''}"
        case plans.LeftJoinPlan(_, _, condition):
            return f"LeftJoin{_on(plan)}{_if(condition)}"
        case plans.Mark(_, _, conditions, flag) if plan.timed:
            return f"Mark ?{flag} where there is a match{_on(plan)}{_if(*conditions)}"
        case plans.Mark(_, _, conditions, flag):
            return " ".join([f"Mark ?{flag} where a match exists", *map(_filter, conditions)])
        case plans.Occurrence(_, _, _, _, stream):
            where = "" if stream is None else f" in {stream.n3}"
            return f"Occurrences{where} of {' '.join(map(_end, plan.ends))}"
        case plans.KnownPlan(subject, verb, object_, graph):
            where = "the background" if graph is None else graph.n3
            written = str(verb) if isinstance(verb, Variable) else part_text(verb)
            return f"In {where} {part_text(subject)} {written} {part_text(object_)}"
        case plans.SeqPlan(_, _, tests, longest, consumption):
            policy = "" if plan.unrestricted else f" {consumption.value}"
            return f"SEQ{policy}{_on(plan)}{_if(*tests)}{_kept(longest)}"
        case plans.Once():
            return "Equal triples are one occurrence"
        case plans.PlanOverTwo():
            return f"{type(plan).__name__.removesuffix('Plan').upper()}{_on(plan)}"
    return plan.text


def stream_text(plan: plans.Match) -> str:
    """A line about a match in all of a stream, for whatever windows of it."""
    ends = " . ".join(" ".join(map(_end, each.ends)) for each in plan.triples)
    return " ".join([f"Stream pattern {ends}", *map(_filter, plan.filters)])


def _triples(triples: tuple[plans.Triple, ...]) -> str:
    texts: list[str] = []
    here: TripleSource | None = None
    for each in triples:
        if each.source != here and each.source.text:
            texts.append(f"in {each.source.text}:")
        here = each.source
        texts.append(" ".join(map(_end, each.ends)) + " .")
    return " ".join(texts).removesuffix(" .")


def _end(end: Variable | Term) -> str:
    return str(end) if isinstance(end, Variable) else end.n3


def _names(names: tuple[str, ...]) -> str:
    return " ".join(f"?{name}" for name in shown(names)) or "nothing"


def _on(plan: plans.PlanOverTwo, between: str = ", ") -> str:
    """The text about the variables that both sides share."""
    shared = between.join(f"?{name}" for name in plan.shared)
    return f" on {shared}" if shared else ""


def _if(*conditions: Expression | None) -> str:
    texts = [part_text(each) for each in conditions if each is not None]
    return f" if {' && '.join(texts)}" if texts else ""


def _kept(longest: int | None) -> str:
    return ", without a bound" if longest is None else f", no longer than {longest} units of time"


def _filter(condition: Expression) -> str:
    return f"filter {part_text(condition)}"
