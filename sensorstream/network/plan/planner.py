"""Plans made from the algebra."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Final, Generic, TypeVar

from sensorstream.errors import NotIncremental, UnsupportedQuery
from sensorstream.model.terms import IRI, BlankNode, Term
from sensorstream.network.expressions.expression_functions import value_of, with_base
from sensorstream.network.ordering import names_ordered_by, parted_order
from sensorstream.network.plan import nodes as plans
from sensorstream.network.plan.conjunction import Conjunction, assembled, filtered, join, projected
from sensorstream.network.plan.nodes import Anew, Plan
from sensorstream.network.plan.one_shot import check_one_shot
from sensorstream.network.plan.paths import add_path
from sensorstream.network.query_sources import EarlierContent, Sources, TripleSource
from sensorstream.network.rows import Row, slots_of
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Aggregate, Expression, Pattern, Variable
from sensorstream.sparql.rewrite import rewritten, windows_named
from sensorstream.sparql.text_bounds import patterns_of
from sensorstream.sparql.variable_scope import borrowed, existences, in_scope, names_in
from sensorstream.sparql.walk import nodes, replaced, variables


def check_windows(pattern: Pattern, sources: Sources) -> None:
    """Raise UnsupportedQuery if a WINDOW is not one of the query."""
    for each in nodes(pattern):
        if not isinstance(each, algebra.Window):
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
    """Check that all expressions of a plan can be computed, and computed again for removed rows.

    Raises NotIncremental if one has another value each time, UnsupportedQuery at an unknown
    function.
    """
    anew: NotIncremental | None = None
    for plan in plans.parts(root):
        places = slots_of(plan.variables)
        for expression in expressions_of(plan):
            try:
                value_of(expression, places)
            except NotIncremental as error:
                # An expression that cannot be answered at all is worse: look for one.
                anew = anew or error
    if anew is not None:
        raise anew


def expressions_of(plan: Plan) -> Iterator[Expression]:
    """The expressions that the operator at the top of a plan evaluates."""
    match plan:
        case plans.Match(_, filters, _):
            yield from filters
        case plans.FilterPlan(_, condition) | plans.ExtendPlan(_, _, condition):
            yield condition
        case plans.PlaceJoinPlan():
            yield plan.places.condition
        case plans.LeftJoinPlan(_, _, condition) if condition is not None:
            yield condition
        case plans.Mark(_, _, conditions) | plans.SeqPlan(_, _, conditions):
            yield from conditions
        case plans.GroupPlan(_, _, aggregates, lengths):
            yield from lengths
            yield from (each.expression for _, each in aggregates if each.expression is not None)
        case plans.SlicePlan(_, conditions, _, _):
            yield from (each.expression for each in conditions)


class Delays:
    """The groups of one query that differ only in their time and their names.

    A group over the past of windows is equal to an earlier state of the group over their present.
    An average of the last hour and those of the hours before are one group, kept in step once; the
    others get its changes later. So each event enters one group, however many times a query looks
    back to.
    """

    def __init__(self) -> None:
        self._groups: dict[
            tuple[Plan, tuple[str, ...], tuple[Aggregate, ...]], plans.GroupPlan
        ] = {}

    def of(self, group: plans.GroupPlan) -> Plan:
        """Return the plan of a group: itself, or another group delayed.

        It can be delayed if all that it reads is the past of something, by the same length of time.
        """
        pasts = {source.past for source in sources_read(group)}
        delays = {each.delay for each in pasts if each is not None}
        if None in pasts or len(delays) != 1:
            self._first(group)
            return group
        first = self._first(replaced(group, _present))
        return plans.DelayedPlan(first, delays.pop(), group.variables)

    def _first(self, group: plans.GroupPlan) -> plans.GroupPlan:
        aggregates = tuple(aggregate for _, aggregate in group.aggregates)
        return self._groups.setdefault((group.source, group.keys, aggregates), group)


def sources_read(plan: Plan) -> Iterator[TripleSource]:
    """The graphs that a plan reads; one may come several times."""
    for each in plans.parts(plan):
        if isinstance(each, plans.Match):
            for triple in each.triples:
                yield from triple.source.graphs
        elif isinstance(each, Anew):
            for source in each.sources:
                yield from source.graphs


def _present(node: object) -> object | None:
    match node:
        case TripleSource(past=EarlierContent(source)):
            return source
    return None


# The algebra computes an aggregate into an inner variable, which an Extend then copies (SPARQL 1.1,
# section 18.2.4.1). That is what the text of a query can say, so this is no rewrite of the algebra
# but the first step of a plan. Nothing outside the Project can see the inner variable, so the group
# may use the name of the copy wherever nothing below the Extend mentions that name.

_Node = TypeVar("_Node")
Where = TypeVar("Where")


def named_aggregates(pattern: Pattern) -> Pattern:
    """The pattern with every aggregate computed into the variable that it is selected as."""
    return replaced(pattern, _in_project)


def _in_project(node: object) -> object | None:
    if not isinstance(node, algebra.Project):
        return None
    names = _names(node.pattern)
    if not names:
        return None
    return replace(node, pattern=_renamed(node.pattern, names))


def _names(pattern: Pattern) -> dict[Variable, Variable]:
    """The aggregates' variables, each with the first variable it is copied to."""
    match pattern:
        case algebra.Group(_, _, aggregates):
            return {variable: variable for variable, _ in aggregates}
        case algebra.Filter(_, inner) | algebra.OrderBy(inner, _):
            return _names(inner)
        case algebra.Extend(inner, variable, expression):
            names = _names(inner)
            if (
                isinstance(expression, Variable)
                and names.get(expression) == expression
                and variable not in variables(inner)
            ):
                names[expression] = variable
            return names
    return {}


def _renamed(pattern: Pattern, names: dict[Variable, Variable]) -> Pattern:
    """The nodes above the group, and the group, with the new names."""
    match pattern:
        case algebra.Group(inner, _, aggregates):
            computed = tuple((names[variable], each) for variable, each in aggregates)
            return replace(pattern, pattern=named_aggregates(inner), aggregates=computed)
        case algebra.Filter(condition, inner):
            return algebra.Filter(_substituted(condition, names), _renamed(inner, names))
        case algebra.OrderBy(inner, conditions):
            return algebra.OrderBy(_renamed(inner, names), _substituted(conditions, names))
        case algebra.Extend(inner, variable, expression):
            below = _renamed(inner, names)
            if isinstance(expression, Variable) and names.get(expression) == variable:
                return below
            return algebra.Extend(below, variable, _substituted(expression, names))
    return pattern


def _substituted(node: _Node, names: dict[Variable, Variable]) -> _Node:
    return replaced(node, lambda each: names.get(each) if isinstance(each, Variable) else None)


_MOST_ANEW: Final = 32
"""Patterns of a continuous query that is evaluated anew. Oxigraph orders them each time in the time
of their fourth power: 32 take 15 ms, 100 over two seconds, and nothing can interrupt it."""


def plan(pattern: Pattern, sources: Sources, base: IRI | None = None) -> Plan:
    """Make the plan whose rows are a query's solutions.

    It is one :class:`Anew`, with the reason, if they cannot be kept in step. Rows come in the
    query's order if that needs what the query does not select. ``base`` resolves ``IRI("text")``.
    Raises UnsupportedQuery if part of the pattern cannot be answered at all.
    """
    pattern = windows_named(pattern, sources.windows)
    try:
        return plan_in_step(pattern, sources, base)
    except NotIncremental as error:
        return anew(pattern, sources, base, error)


def plan_in_step(pattern: Pattern, sources: Sources, base: IRI | None = None) -> Plan:
    """Make a :func:`plan` that is kept in step; raises NotIncremental, too, if it cannot be."""
    check_windows(pattern, sources)
    pattern = named_aggregates(rewritten(with_base(pattern, base)))
    _, conditions, outside = parted_order(pattern)
    if outside is not None and not names_ordered_by(conditions) <= set(outside):
        pattern = algebra.Slice(pattern)
    made = _Planner(sources).planned(pattern, sources.default)
    check_expressions(made)
    return made


def anew(pattern: Pattern, sources: Sources, base: IRI | None, why: NotIncremental) -> Anew:
    """Make the plan that evaluates a pattern anew at every change, with the reason.

    Raises UnsupportedQuery if Oxigraph cannot evaluate it, or it has too many patterns.
    """
    if (found := patterns_of(pattern)) > _MOST_ANEW:
        raise UnsupportedQuery(
            f"it cannot be kept in step ({why.message}), and what is evaluated anew may have "
            f"{_MOST_ANEW} patterns, not {found}",
            part=why.part,
        )
    made = whole_plan(pattern, sources, base, why.message, why.part)
    check_one_shot(made)
    return made


def whole_plan(
    pattern: Pattern,
    sources: Sources,
    base: IRI | None = None,
    reason: str = "",
    part: object = None,
) -> Anew:
    """The plan of a pattern that is evaluated as a whole."""
    names = (
        tuple(each.name for each in pattern.variables)
        if isinstance(pattern, algebra.Project)
        else tuple(sorted(name for name in in_scope(pattern) if name.isidentifier()))
    )
    named, windows = tuple(sources.named.items()), tuple(sources.windows.items())
    return Anew(pattern, base, sources.default, named, windows, names, reason, part)


class PatternPlanner(ABC, Generic[Where]):
    """Plans the patterns of one query; ``where`` is what a block of triples matches.

    ``named`` has the ``where`` of each graph that GRAPH matches.
    """

    def __init__(self, named: Mapping[IRI, Where]) -> None:
        self.named = named
        self.fresh = count()

    def planned(self, pattern: Pattern, where: Where) -> Plan:
        match pattern:
            case algebra.Graph():
                return self.graph(pattern)
            case algebra.Union(left, right):
                return plans.UnionPlan((self.planned(left, where), self.planned(right, where)))
            case algebra.Minus(left, right):
                return plans.MinusPlan(self.planned(left, where), self.planned(right, where))
            case algebra.Extend(inner, variable, expression):
                return self.extend(self.planned(inner, where), variable.name, expression, where)
            case algebra.Values(variables, rows):
                return self.constant([each.name for each in variables], rows)
            case algebra.Reduced(inner) | algebra.OrderBy(inner, _):
                return self.planned(inner, where)
        return self.special(pattern, where)

    @abstractmethod
    def special(self, pattern: Pattern, where: Where) -> Plan:
        """The plan of a pattern that differs between graphs and what happens."""

    @abstractmethod
    def constant(self, names: Sequence[str], rows: Sequence[Row]) -> Plan:
        """Rows that never change."""

    @abstractmethod
    def mark(self, below: Plan, asked: algebra.Exists, flag: str, where: Where) -> Plan:
        """The rows of a plan with one more variable: whether a pattern matches."""

    @abstractmethod
    def extend(self, below: Plan, name: str, expression: Expression, where: Where) -> Plan:
        """The rows of a plan with the value of an expression."""

    def graph(self, pattern: algebra.Graph) -> Plan:
        name, inner = pattern.name, pattern.pattern
        if isinstance(name, IRI):
            if name in self.named:
                return self.planned(inner, self.named[name])
            # A graph that is not there has no solutions, not even of an empty pattern.
            return self.constant(sorted(in_scope(inner)), ())
        found = [
            join(self.constant([name.name], ((each,),)), self.planned(inner, where))
            for each, where in self.named.items()
        ]
        if not found:
            return self.constant(sorted(in_scope(inner) | {name.name}), ())
        return found[0] if len(found) == 1 else plans.UnionPlan(tuple(found))

    def marked(self, below: Plan, expression: Expression, where: Where) -> tuple[Plan, Expression]:
        """Replace each EXISTS by a variable that says whether its pattern matches."""
        for found in existences(expression):
            flag = f".exists{next(self.fresh)}"
            below = self.mark(below, found, flag, where)
            expression = replaced(expression, _exchange(found, Variable(flag)))
        return below, expression

    def keyed(
        self, below: Plan, keys: Iterable[algebra.GroupKey], where: Where
    ) -> tuple[Plan, tuple[str, ...]]:
        """The rows of a plan with the keys of GROUP BY, and these."""
        names: dict[str, None] = {}
        for place, key in enumerate(keys):
            if isinstance(key.expression, Variable) and key.variable in (None, key.expression):
                name = key.expression.name
            else:
                name = key.variable.name if key.variable is not None else f".key{place}"
            if name not in below.variables:
                below = self.extend(below, name, key.expression, where)
            names[name] = None
        return below, tuple(names)


class _Planner(PatternPlanner[TripleSource]):
    """Plans over graphs and windows."""

    def __init__(self, sources: Sources) -> None:
        super().__init__(sources.named)
        self._sources = sources
        self._delays = Delays()

    def special(self, pattern: Pattern, source: TripleSource) -> Plan:
        match pattern:
            case algebra.BGP() | algebra.Join() | algebra.Window():
                return assembled(self._conjunction(pattern, source))
            case algebra.Filter():
                return self._filter(pattern, source)
            case algebra.LeftJoin():
                return self._left_join(pattern, source)
            case algebra.Group():
                return self._group(pattern, source)
            case algebra.Project(inner, variables):
                selected = [each.name for each in variables]
                return projected(self._narrow(inner, source, selected), selected)
            case algebra.Distinct(inner):
                found = self.planned(inner, source)
                once = isinstance(found, plans.DistinctPlan | plans.ClosurePlan)
                return found if once else plans.DistinctPlan(found)
            case algebra.Slice():
                return self._slice(pattern, source)
            case algebra.Service():
                raise UnsupportedQuery(
                    "SERVICE: a continuous query cannot follow what changes elsewhere",
                    part=pattern,
                )
            case _ if isinstance(pattern, algebra.InTime | algebra.Stream):
                raise UnsupportedQuery(
                    f"{type(pattern).__name__.upper()}: a pattern in time is a query by itself: "
                    "let it CONSTRUCT what is to be matched here",
                    part=pattern,
                )
        raise AssertionError(pattern)

    def _narrow(self, pattern: Pattern, source: TripleSource, wanted: Sequence[str]) -> Plan:
        """The plan of a pattern of whose variables only some are wanted.

        It may give others as well; a variable that is left out is in no joined row.
        """
        match pattern:
            case algebra.BGP() | algebra.Join() | algebra.Window():
                return assembled(self._conjunction(pattern, source), wanted)
            case algebra.Filter(condition, _) if not existences(condition):
                return assembled(self._conjunction(pattern, source), wanted)
            case algebra.Extend(inner, variable, expression) if not existences(expression):
                names = [name for name in wanted if name != variable.name]
                names += sorted(names_in(expression).difference(names))
                extended = self._narrow(inner, source, names)
                return self.extend(extended, variable.name, expression, source)
        return self.planned(pattern, source)

    # -- conjunctions -----------------------------------------------------------------------

    def _conjunction(self, pattern: Pattern, source: TripleSource) -> Conjunction:
        """Flatten nested joins, so that all triple patterns can be ordered together."""
        match pattern:
            case algebra.BGP(patterns):
                block = Conjunction()
                for each in patterns:
                    triple = end_of(each.subject), each.predicate, end_of(each.object)
                    add_path(block, triple, source, self.fresh)
                return block
            case algebra.Join(left, right):
                one, other = self._conjunction(left, source), self._conjunction(right, source)
                return Conjunction(
                    [*one.triples, *other.triples],
                    [*one.filters, *other.filters],
                    [*one.others, *other.others],
                )
            case algebra.Window(IRI() as name, inner):
                return self._conjunction(inner, self._sources.windows[name])
            case algebra.Graph(IRI() as name, inner) if name in self._sources.named:
                return self._conjunction(inner, self._sources.named[name])
            case algebra.Filter(condition, inner) if not existences(condition):
                found = self._conjunction(inner, source)
                if names_in(condition) <= found.bound():
                    found.filters.append(condition)
                    return found
                # The filter must not see variables of a neighbour: it stays with its own group.
                return Conjunction(others=[filtered(assembled(found), condition)])
        return Conjunction(others=[self.planned(pattern, source)])

    # -- operators --------------------------------------------------------------------------

    def _filter(self, pattern: algebra.Filter, source: TripleSource) -> Plan:
        if not existences(pattern.condition):
            return assembled(self._conjunction(pattern, source))
        below = self.planned(pattern.pattern, source)
        marked, condition = self.marked(below, pattern.condition, source)
        return projected(filtered(marked, condition), below.variables)

    def constant(self, names: Sequence[str], rows: Sequence[Row]) -> Plan:
        return plans.ConstantPlan(tuple(names), tuple(rows))

    def extend(self, below: Plan, name: str, expression: Expression, where: TripleSource) -> Plan:
        names = (*below.variables, name)
        marked, expression = self.marked(below, expression, where)
        return projected(plans.ExtendPlan(marked, name, expression), names)

    def mark(self, below: Plan, asked: algebra.Exists, flag: str, where: TripleSource) -> Plan:
        lifted, pattern, deep = lifted_filters(asked.pattern, frozenset(below.variables))
        if deep:
            names = ", ".join(f"?{name}" for name in sorted(deep))
            raise NotIncremental(
                f"EXISTS: {names} of the outer pattern is used deep within", part=asked
            )
        for inner in existences(lifted):
            raise NotIncremental(
                "EXISTS: a filter on outer variables holds another EXISTS", part=inner
            )
        return plans.Mark(below, self.planned(pattern, where), lifted, flag)

    def _left_join(self, pattern: algebra.LeftJoin, source: TripleSource) -> Plan:
        for asked in existences(pattern.condition):
            raise NotIncremental("OPTIONAL with EXISTS in its filter", part=asked)
        left, right = self.planned(pattern.left, source), self.planned(pattern.right, source)
        return plans.LeftJoinPlan(left, right, pattern.condition)

    def _group(self, pattern: algebra.Group, source: TripleSource) -> Plan:
        below, keys = self.keyed(self._grouped(pattern, source), pattern.keys, source)
        for asked in existences(tuple(each for _, each in pattern.aggregates)):
            raise NotIncremental("EXISTS within an aggregate", part=asked)
        return self._delays.of(plans.GroupPlan(below, keys, pattern.aggregates))

    def _grouped(self, pattern: algebra.Group, source: TripleSource) -> Plan:
        """The rows to be grouped, narrowed to the variables of keys and aggregates."""
        aggregates = [each for _, each in pattern.aggregates]
        if any(each.expression is None and each.distinct for each in aggregates):
            # COUNT(DISTINCT *) needs whole solutions.
            return self.planned(pattern.pattern, source)
        looked_at: set[str] = set()
        for expression in (*(k.expression for k in pattern.keys), *aggregates):
            looked_at |= names_in(expression)
        return self._narrow(pattern.pattern, source, sorted(looked_at))

    def _slice(self, pattern: algebra.Slice, source: TripleSource) -> Plan:
        inner, conditions, outside = parted_order(pattern.pattern)
        below = self.planned(inner, source)
        for asked in existences(conditions):
            raise NotIncremental("EXISTS within ORDER BY", part=asked)
        sliced = plans.SlicePlan(below, conditions, pattern.offset, pattern.limit)
        return sliced if outside is None else projected(sliced, outside)


def lifted_filters(
    pattern: Pattern, outer: frozenset[str]
) -> tuple[tuple[Expression, ...], Pattern, frozenset[str]]:
    """The filters of a group that see outer variables, the group without them, and what it sees."""
    lifted, inside = list[Expression](), list[Expression]()
    while isinstance(pattern, algebra.Filter):
        here = borrowed(pattern, outer) > borrowed(pattern.pattern, outer)
        (lifted if here else inside).append(pattern.condition)
        pattern = pattern.pattern
    for condition in reversed(inside):
        pattern = algebra.Filter(condition, pattern)
    return tuple(lifted), pattern, borrowed(pattern, outer)


def end_of(term: Variable | Term) -> Variable | Term:
    """Convert an end: a blank node becomes a variable that no other part of the query can use."""
    return Variable(str(term)) if isinstance(term, BlankNode) else term


def _exchange(old: algebra.Exists, new: Variable) -> Callable[[object], object | None]:
    return lambda node: new if node is old else None
