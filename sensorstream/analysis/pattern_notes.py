"""Patterns in time: what they remember for ever, do not follow, and wait for in vain."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import attrgetter
from typing import Final

from sensorstream.analysis.note import AnyParsed, Note, QueryContext
from sensorstream.errors import Position, UnsupportedQuery
from sensorstream.model import rdf
from sensorstream.model.schema import Schema, shortened
from sensorstream.model.terms import IRI
from sensorstream.model.timeline import Timeline
from sensorstream.network.intervals.interval_expressions import IntervalTime
from sensorstream.network.intervals.interval_planner import is_in_time, plan_in_time
from sensorstream.network.plan import nodes as plans
from sensorstream.network.plan.nodes import Plan
from sensorstream.network.recursion.triple_kinds import TriplesRead
from sensorstream.sparql.algebra import Construct, Graph, Query, TriplePattern, Variable
from sensorstream.sparql.query_printer import part_text
from sensorstream.sparql.walk import nodes

_CLOCK: Final = IntervalTime(Timeline.DATETIME, 1_000_000)
_FILTER: Final = 'FILTER(getDURATION() < "PT1H"^^xsd:duration)'


def notes(parsed: AnyParsed, known: QueryContext) -> Iterator[Note]:
    """``unbounded-state``: no length of time bounds what a pattern remembers;
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
        # The registration tells why.
        return
    for each in plans.parts(plan):
        text = _unbounded(each)
        if text:
            yield Note("unbounded-state", text, _place(parsed, each.inputs[-1]))
        if isinstance(each, plans.KnownPlan) and each.path is not None and each.graph is None:
            yield Note(
                "path-in-background",
                f"{part_text(each.path)} is followed in the background knowledge, and not in "
                "what happens: let a CONSTRUCT query add each step to chain what happens",
                parsed.position(each.path),
            )


def _unbounded(plan: Plan) -> str:
    """The state that an operator keeps for ever, and a way to bound it; empty: none."""
    match plan:
        case plans.SeqPlan(longest=None) if not plan.unrestricted:
            return _text("SEQ", "its left side", f"{_FILTER} in the group of the SEQ")
        case plans.SeqPlan(longest=None):
            return _text("SEQ", "its left side", f"{_FILTER} in its group or around it")
        case plans.JoinPlan(left, right, longest=None):
            if not (left.is_timeless or right.is_timeless):
                what = f"{_names(left)} and {_names(right)}"
                return _text("a join", what, f"{_FILTER} in its group or around it")
        case plans.LeftJoinPlan(longest=None) if plan.remembers:
            return _text(
                plan.operator,
                "its optional part",
                f"{_FILTER} around it, no filter being in the optional part,",
            )
        case plans.GroupPlan(lengths=()):
            by = f"HAVING{_FILTER.removeprefix('FILTER')}"
            return _text("GROUP BY", "all that it takes together", by)
        case plans.MinusPlan(_, right) | plans.Mark(_, right):
            names = [f"?{name}" for name in right.variables if name in plan.shared]
            if names and not right.is_timeless:
                name = "MINUS" if isinstance(plan, plans.MinusPlan) else "EXISTS"
                return (
                    f"{name} remembers each {', '.join(names)} of what it asks for, and no length "
                    "bounds that: EQUALSOPTIONAL and !BOUND ask about the same interval only"
                )
    return ""


def _text(operator: str, what: str, bound: str) -> str:
    return f"{operator} remembers {what} without a bound: {bound} would bound it"


def _names(plan: Plan) -> str:
    return " ".join(f"?{name}" for name in plan.variables if name.isidentifier()) or "solutions"


def _place(parsed: AnyParsed, plan: Plan) -> Position:
    """The first place in which one of the variables of a part is written."""
    written = parsed.places.first
    places = (written[each] for each in map(Variable, plan.variables) if each in written)
    return min(places, key=attrgetter("line", "column"), default=parsed.start)


def feeding_notes(parsed: AnyParsed, known: QueryContext) -> Iterator[Note]:
    """``feeds-nothing``: a pattern in time reads what a query makes that is none itself."""
    query = parsed.meaning
    if not known.continuous or not isinstance(query, Query):
        return
    written = partial(shortened, prefixes=parsed.prefixes)
    for name, other in known.beside.items():
        making, reading = (other, query) if is_in_time(query) else (query, other)
        if is_in_time(making) or not is_in_time(reading):
            continue
        for kind, met in _meetings(making, reading, known.schema):
            this = f"the CONSTRUCT query {name}" if making is other else "this CONSTRUCT query"
            told = "any property" if kind.predicate is None else written(kind.predicate)
            read = met.object if isinstance(met.object, IRI) else met.predicate
            if met is not kind and read is not None:
                told = f"{written(read)}, which follows from {told},"
            yield Note(
                "feeds-nothing",
                f"{this} adds nothing to the stream: a pattern in time that reads {told} does "
                "not see what it makes. To feed the stream with the intervals of its triples "
                "it asks when: BIND(getENDTIME() AS ?when) in its WHERE, and no WINDOW",
                parsed.position(kind.predicate if making is query else met.predicate),
            )
            break


def _meetings(
    making: Query, reading: Query, schema: Schema
) -> Iterator[tuple[TriplesRead, TriplesRead]]:
    """The triples that a query makes, each with the equal or entailed one that another reads."""
    for kind in _made(making):
        for met in (kind, *_following(kind, schema)):
            if any(map(met.meets, _read(reading))):
                yield kind, met


def _following(kind: TriplesRead, schema: Schema) -> Iterator[TriplesRead]:
    """The triples that follow from one by the ontology's hierarchies, domains and ranges."""
    predicate = kind.predicate
    if predicate == rdf.TYPE and isinstance(kind.object, IRI):
        classes = schema.superclasses(kind.object)
    elif predicate is not None:
        yield from (TriplesRead(each, None) for each in schema.superproperties(predicate))
        said = schema.domains(predicate) | schema.ranges(predicate)
        classes = said.union(*map(schema.superclasses, said))
    else:
        return
    yield from (TriplesRead(rdf.TYPE, each) for each in classes)


def _made(query: Query) -> Iterator[TriplesRead]:
    form = query.form
    if isinstance(form, Construct):
        yield from map(_kind, form.template)


def _read(query: Query) -> Iterator[TriplesRead]:
    for each in nodes(query.form.pattern, TriplePattern):
        if isinstance(each.predicate, IRI | Variable):
            yield _kind(each)
        else:
            yield from (TriplesRead(p, None) for p in nodes(each.predicate, IRI))


def _kind(triple: TriplePattern) -> TriplesRead:
    predicate = triple.predicate if isinstance(triple.predicate, IRI) else None
    object_ = triple.object
    return TriplesRead(
        predicate, object_ if predicate == rdf.TYPE and isinstance(object_, IRI) else None
    )
