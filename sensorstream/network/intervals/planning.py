"""From the algebra to the plan of a pattern in time.

Filters go down to the smallest part that binds their variables, but for those that ask for the
interval: each part has another one. What such filters say of the length goes down as a bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations, count
from typing import Final, NoReturn, TypeVar

from sensorstream.errors import NotIncremental, UnsupportedQuery
from sensorstream.model.terms import IRI, BlankNode, Term
from sensorstream.network.expressions.expression_functions import with_base
from sensorstream.network.intervals import plan as timed
from sensorstream.network.intervals.conditions import (
    Clock,
    asks_for_time,
    check_lengths,
    longest,
    timed_test,
    timed_value,
)
from sensorstream.network.plan import nodes as plans
from sensorstream.network.plan.nodes import End, Plan
from sensorstream.sparql.algebra import (
    BGP,
    And,
    Comparison,
    Distinct,
    Equals,
    EqualsOptional,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    Join,
    LeftJoin,
    Minus,
    OptionalSeq,
    OrderBy,
    Path,
    Pattern,
    Project,
    Query,
    Reduced,
    Seq,
    Service,
    Slice,
    TriplePattern,
    Union,
    Values,
    Variable,
    Window,
)
from sensorstream.sparql.algebra import (
    Sequence as PathSequence,
)
from sensorstream.sparql.rewrite.constants_right import constants_right
from sensorstream.sparql.rewrite.filters_split import filters_split
from sensorstream.sparql.scope import existences, names_in
from sensorstream.sparql.walk import nodes

_Given = TypeVar("_Given", Expression, Expression | None)
_TEMPORAL: Final = (Seq, Equals, OptionalSeq, EqualsOptional)


def is_in_time(query: Query) -> bool:
    """Whether a query's pattern is one in time: an operator or a function of it asks for when."""
    pattern = query.form.pattern
    return any(isinstance(each, _TEMPORAL) for each in nodes(pattern)) or asks_for_time(pattern)


def plan_in_time(pattern: Pattern, clock: Clock, base: IRI | None = None) -> Plan:
    """The plan whose rows are a query's solutions with their intervals.

    Raises:
        UnsupportedQuery: part of the pattern has no meaning over occurrences, or an expression
            cannot be evaluated.
    """
    rewritten = constants_right(filters_split(with_base(pattern, base)))
    plan = _bounded(_Planner(clock).planned(rewritten), None, clock)
    _check(plan, clock)
    return plan


class _Planner:
    """Plans the pattern of one query."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._fresh = count()

    def planned(self, pattern: Pattern) -> Plan:
        match pattern:
            case BGP(patterns):
                return self._block(patterns)
            case Join(left, right):
                return _join(self.planned(left), self.planned(right))
            case Seq(left, right, consumption):
                return timed.Seq(self.planned(left), self.planned(right), consumption=consumption)
            case Equals(left, right):
                return timed.Equals(self.planned(left), self.planned(right))
            case LeftJoin(left, right, condition):
                return timed.Optional(self.planned(left), self.planned(right), _plain(condition))
            case OptionalSeq(left, right, condition):
                return timed.OptionalSeq(self.planned(right), self.planned(left), _plain(condition))
            case EqualsOptional(left, right, condition):
                return timed.EqualsOptional(
                    self.planned(left), self.planned(right), _plain(condition)
                )
            case Minus(left, right):
                return timed.Minus(self.planned(left), self.planned(right))
            case Union(left, right):
                return plans.Union((self.planned(left), self.planned(right)))
            case Filter(condition, inner):
                return _filtered(self.planned(inner), _conjuncts(_plain(condition)), self._clock)
            case Extend(inner, variable, expression):
                return _extended(self.planned(inner), variable.name, _plain(expression))
            case Values(variables, rows):
                return plans.Constant(tuple(each.name for each in variables), rows)
            case Group():
                return self._group(pattern)
            case Project(inner, variables):
                names = [each.name for each in variables]
                return _projected(_without_unused(self.planned(inner), frozenset(names)), names)
            case Distinct(inner) | Reduced(inner) | OrderBy(inner, _):
                # Solutions are a set; those of one report are put in order when it is made.
                return self.planned(inner)
        _refuse(pattern)

    def _group(self, pattern: Group) -> Plan:
        below = self.planned(pattern.pattern)
        keys: list[str] = []
        for place, key in enumerate(pattern.keys):
            expression = _plain(key.expression)
            if isinstance(expression, Variable) and key.variable in (None, expression):
                name = expression.name
            else:
                name = key.variable.name if key.variable is not None else f".key{place}"
            if name not in below.variables:
                below = plans.Extend(below, name, expression)
            if name not in keys:
                keys.append(name)
        for _, aggregate in pattern.aggregates:
            _plain(aggregate.expression)
        return timed.Group(below, tuple(keys), pattern.aggregates)

    def _block(self, patterns: Iterable[TriplePattern]) -> Plan:
        ends = [each for pattern in patterns for each in self._steps(pattern)]
        if not ends:
            return plans.Constant((), ((),))
        ends = list(dict.fromkeys(ends))
        pairs = [
            (one, other)
            for one, other in combinations(range(len(ends)), 2)
            if all(map(_may_agree, ends[one], ends[other]))
        ]
        labelled = {place for pair in pairs for place in pair}
        parts = [
            timed.Occurrence(*each, f"{timed.OCCURRENCE}{place}" if place in labelled else "")
            for place, each in enumerate(ends)
        ]
        found = _joined(parts)
        if pairs:
            labels = tuple(
                (f"{timed.OCCURRENCE}{one}", f"{timed.OCCURRENCE}{other}") for one, other in pairs
            )
            found = timed.Once(found, labels)
        visible = [name for name in found.variables if not name.startswith((".", "_:"))]
        return _projected(found, visible)

    def _steps(self, pattern: TriplePattern) -> list[tuple[End, End, End]]:
        subject, object_ = _end(pattern.subject), _end(pattern.object)
        if isinstance(pattern.predicate, Variable):
            return [(subject, pattern.predicate, object_)]
        return self._path(subject, pattern.predicate, object_)

    def _path(self, subject: End, path: Path, object_: End) -> list[tuple[End, End, End]]:
        match path:
            case IRI():
                return [(subject, path, object_)]
            case Inverse(inner):
                return self._path(object_, inner, subject)
            case PathSequence(left, right):
                between = Variable(f".path{next(self._fresh)}")
                return [*self._path(subject, left, between), *self._path(between, right, object_)]
        raise UnsupportedQuery(
            "a pattern in time follows paths of a fixed length only, such as :a/^:b: write the "
            "alternatives with UNION; a path of any length has no interval"
        )


def _refuse(pattern: Pattern) -> NoReturn:
    match pattern:
        case Slice():
            raise UnsupportedQuery(
                "LIMIT and OFFSET: the solutions of a pattern in time come as they happen"
            )
        case Window():
            raise UnsupportedQuery(
                "WINDOW within a pattern in time: its patterns match what happens in all streams; "
                "bound how long it takes by FILTER(getDURATION() < …)"
            )
        case Graph() | Service():
            raise UnsupportedQuery(
                f"{type(pattern).__name__.upper()}: a pattern in time matches what happens in the "
                "streams, and the background knowledge"
            )
    raise UnsupportedQuery(f"{type(pattern).__name__}: not within a pattern in time")


def _plain(expression: _Given) -> _Given:
    if expression is not None and existences(expression):
        raise UnsupportedQuery(
            "EXISTS within a pattern in time: write OPTIONAL, OPTIONALSEQ or EQUALSOPTIONAL, and "
            "FILTER(!BOUND(?x)) of a variable that the pattern binds; that also says when"
        )
    return expression


def _end(term: Variable | Term) -> Variable | Term:
    return Variable(str(term)) if isinstance(term, BlankNode) else term


def _may_agree(one: End, other: End) -> bool:
    return isinstance(one, Variable) or isinstance(other, Variable) or one == other


def _joined(parts: Sequence[Plan]) -> Plan:
    """Joined from left to right, what shares a variable first."""
    ahead = list(parts)
    found = ahead.pop(0)
    while ahead:
        names = set(found.variables)
        following = next((each for each in ahead if names.intersection(each.variables)), ahead[0])
        ahead.remove(following)
        found = timed.Join(found, following)
    return found


def _is_unit(plan: Plan) -> bool:
    return isinstance(plan, plans.Constant) and plan.is_unit


def _join(left: Plan, right: Plan) -> Plan:
    if _is_unit(left):
        return right
    return left if _is_unit(right) else timed.Join(left, right)


def _projected(plan: Plan, names: Sequence[str]) -> Plan:
    return plan if tuple(names) == plan.variables else plans.Project(plan, tuple(names))


def _extended(plan: Plan, name: str, expression: Expression) -> Plan:
    """The plan with one value more: an aggregate under another name is given out by its group."""
    if isinstance(plan, timed.Group) and isinstance(expression, Variable):
        for variable, aggregate in plan.aggregates:
            if variable == expression:
                return replace(plan, aggregates=(*plan.aggregates, (Variable(name), aggregate)))
    return plans.Extend(plan, name, expression)


def _without_unused(plan: Plan, names: frozenset[str]) -> Plan:
    """The plan without values that nobody asks for."""
    match plan:
        case plans.Extend(source, name, expression):
            if name not in names:
                return _without_unused(source, names)
            asked = names | names_in(expression)
            return replace(plan, source=_without_unused(source, asked))
        case plans.Filter(source, condition):
            return replace(plan, source=_without_unused(source, names | names_in(condition)))
        case timed.Group():
            used = tuple(each for each in plan.aggregates if each[0].name in names)
            return replace(plan, aggregates=used)
    return plan


def _conjuncts(condition: Expression) -> list[Expression]:
    if isinstance(condition, And):
        return [*_conjuncts(condition.left), *_conjuncts(condition.right)]
    return [condition]


def _filtered(plan: Plan, conditions: Iterable[Expression], clock: Clock) -> Plan:
    for condition in conditions:
        lowered = _chosen(plan, condition) or _taken_together(plan, condition, clock)
        if lowered is None and not asks_for_time(condition):
            lowered = _lowered(plan, condition)
        plan = plans.Filter(plan, condition) if lowered is None else lowered
    return plan


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
        case timed.Optional() | timed.OptionalSeq() | timed.EqualsOptional():
            if names <= plan.mandatory.certain:
                return replace(plan, mandatory=into(plan.mandatory))
        case timed.Minus() if names <= plan.left.certain:
            return replace(plan, left=into(plan.left))
        case plans.Filter() | plans.Project() | timed.Once() if names <= plan.source.certain:
            return replace(plan, source=into(plan.source))
        case plans.Extend() if names <= plan.source.certain and plan.name not in names:
            return replace(plan, source=into(plan.source))
    return None


def _bounded(plan: Plan, most: int | None, clock: Clock) -> Plan:
    """The plan with the length beyond which its solutions are not wanted.

    A part of a solution is never longer than the whole.
    """
    match plan:
        case plans.Filter(source, condition):
            bound = longest(condition, clock)
            if bound is not None:
                most = bound if most is None else min(most, bound)
            return replace(plan, source=_bounded(source, most, clock))
        case plans.Extend() | plans.Project() | timed.Once():
            return replace(plan, source=_bounded(plan.source, most, clock))
        case timed.Group():
            # What is counted must not depend on what is wanted of it further up.
            return replace(plan, source=_bounded(plan.source, longest_of(plan, clock), clock))
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
                left=_bounded(left, most, clock),
                right=_bounded(right, most, clock),
                longest=most,
            )
        case plans.Union(parts):
            return replace(plan, parts=tuple(_bounded(each, most, clock) for each in parts))
        case timed.Equals(left, right):
            return replace(
                plan, left=_bounded(left, most, clock), right=_bounded(right, most, clock)
            )
        case timed.Minus(left, right):
            return replace(
                plan, left=_bounded(left, most, clock), right=_bounded(right, None, clock)
            )
        case timed.Optional(mandatory, optional) | timed.OptionalSeq(mandatory, optional):
            return replace(
                plan,
                mandatory=_bounded(mandatory, most, clock),
                optional=_bounded(optional, None, clock),
                longest=most if _only_existence(plan) else None,
            )
        case timed.EqualsOptional(mandatory, optional):
            return replace(
                plan,
                mandatory=_bounded(mandatory, most, clock),
                optional=_bounded(optional, None, clock),
            )
    return plan


def longest_of(plan: timed.Group, clock: Clock) -> int | None:
    """The length beyond which nothing is taken together; None: there is none."""
    bounds = (longest(each, clock) for each in plan.lengths)
    return min((each for each in bounds if each is not None), default=None)


def _only_existence(plan: timed.Optional | timed.OptionalSeq) -> bool:
    """Whether any old optional row of the same key stands for all others.

    What is joined with an old one is too long to be wanted; but that there is one must be known.
    """
    shared = set(plan.mandatory.variables).intersection(plan.optional.variables)
    certain = plan.mandatory.certain & plan.optional.certain
    return plan.condition is None and shared <= certain


def _check(plan: Plan, clock: Clock) -> None:
    """Refuse expressions that cannot be evaluated, before any operator is made."""
    try:
        for each in _all(plan):
            names = each.variables
            match each:
                case plans.Filter(_, condition):
                    check_lengths(condition, clock)
                    timed_test(condition, names, clock)
                case plans.Extend(source, _, expression):
                    check_lengths(expression, clock)
                    timed_value(expression, source.variables, clock)
                case timed.Group(source, _, aggregates):
                    for _, aggregate in aggregates:
                        if aggregate.expression is not None:
                            timed_value(aggregate.expression, source.variables, clock)
                    for length in each.lengths:
                        check_lengths(length, clock)
                case timed.Seq(_, _, tests):
                    for test in tests:
                        check_lengths(test, clock)
                        timed_test(test, names, clock)
                case timed.Optional() | timed.OptionalSeq() | timed.EqualsOptional():
                    if each.condition is not None:
                        check_lengths(each.condition, clock)
                        timed_test(each.condition, names, clock)
    except NotIncremental as error:
        raise UnsupportedQuery(f"within a pattern in time: {error.message}") from None


def _all(plan: Plan) -> Iterable[Plan]:
    yield plan
    for each in plan.inputs:
        yield from _all(each)
