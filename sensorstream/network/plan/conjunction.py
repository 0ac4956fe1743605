"""Parts that all must match, flattened so that their triples can be ordered together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final
from typing import Literal as OneOf

from sensorstream.model.frozen import field, frozen, mutable, replace
from sensorstream.model.terms import IRI, Literal
from sensorstream.network.expressions.constant_order import is_comparable
from sensorstream.network.plan.nodes import (
    BeyondPlan,
    ConstantPlan,
    DistinctPlan,
    FilterPlan,
    JoinPlan,
    Match,
    PlaceJoinPlan,
    PlacesCompared,
    Plan,
    ProjectPlan,
    ThresholdsPlan,
    Triple,
    UnionPlan,
)
from sensorstream.network.rows import shown
from sensorstream.sparql.algebra import And, Comparison, Expression, FunctionCall, Variable
from sensorstream.sparql.place_functions import METRIC_DISTANCE, TOUCHING
from sensorstream.sparql.values import number
from sensorstream.sparql.variable_scope import names_in


@frozen
class Threshold:
    """``variable operator constant``: queries can differ in the constant and share the rest."""

    variable: str
    operator: OneOf["=", "<", ">", "<=", ">="] | IRI
    constant: IRI | Literal

    def over(self, source: Plan, output: Sequence[str]) -> Plan:
        """The rows of a plan beyond the constant."""
        return BeyondPlan(
            ThresholdsPlan(source, self.variable, self.operator), self.constant, tuple(output)
        )


def filtered(source: Plan, condition: Expression) -> Plan:
    """The rows of a plan for which a condition is true."""
    found = _threshold(condition, source.variables)
    return FilterPlan(source, condition) if found is None else found.over(source, source.variables)


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
        case FunctionCall(function, (Variable(name), Literal() as constant)):
            if function in TOUCHING and name in bound:
                return Threshold(name, function, constant)
    return None


UNIT: Final = ConstantPlan((), ((),))
_MOST_TRIPLES: Final = 15
"""Python nests at most twenty loops; longer patterns are joined from shorter ones."""


@mutable
class Conjunction:
    """Parts that all must match: triples, filters on them, and plans of other patterns."""

    triples: list[Triple] = field(default_factory=list)
    filters: list[Expression] = field(default_factory=list)
    others: list[Plan] = field(default_factory=list)

    def bound(self) -> frozenset[str]:
        """The variables that every solution binds."""
        own = frozenset(name for triple in self.triples for name in triple.variables)
        return own.union(*(plan.certain for plan in self.others))


def assembled(parts: Conjunction, wanted: Sequence[str] | None = None) -> Plan:
    """Join the parts: connected triples as one match, the rest by the variables they share.

    Only the ``wanted`` variables are carried along, and those that a later step needs.
    """
    parts = _with_merged_apart(parts)
    triples = list(dict.fromkeys(parts.triples))
    filters = list(parts.filters)
    groups = _connected(triples)
    visible = _visible_names(groups, parts)
    if wanted is None:
        wanted = list(dict.fromkeys([*visible, *(n for o in parts.others for n in o.variables)]))
    own: list[list[Expression]] = []
    for group in groups:
        names = {name for triple in group for name in triple.variables}
        own.append([each for each in filters if names_in(each) <= names])
        filters = [each for each in filters if each not in own[-1]]
    later = frozenset().union(*map(names_in, filters))
    elsewhere = {name for plan in parts.others for name in plan.variables}
    plans = list(parts.others)
    for group, tests in zip(groups, own, strict=True):
        names = {name for triple in group for name in triple.variables}
        # In the order wanted, so that rows need no new layout.
        kept = dict.fromkeys(n for n in wanted if n in names)
        kept.update((n, None) for n in visible if n in names and (n in later or n in elsewhere))
        plans.append(matched(group, tests, list(kept)))
    kept = dict.fromkeys([*wanted, *sorted(later.difference(wanted))])
    plans, filters = _joined_by_place(plans, filters, list(kept))
    joined = join_all(plans, list(kept)) if plans else UNIT
    for condition in filters:
        joined = filtered(joined, condition)
    return joined


def _joined_by_place(
    plans: list[Plan], filters: list[Expression], wanted: Sequence[str]
) -> tuple[list[Plan], list[Expression]]:
    """Join plans that share no variable where a filter compares places of theirs, by an index."""
    rest = list[Expression]()
    for condition in filters:
        found = places_compared(condition)
        sides = [_linked(plans, name) for name in (found.left, found.right)] if found else []
        if found is None or not all(sides) or sides[0] & sides[1]:
            rest.append(condition)
            continue
        left, right = (join_all([plans[at] for at in sorted(side)], wanted) for side in sides)
        names = tuple(n for n in wanted if n in left.variables or n in right.variables)
        others = [each for at, each in enumerate(plans) if at not in sides[0] | sides[1]]
        plans = [PlaceJoinPlan(left, right, names, found), *others]
    return plans, rest


def places_compared(condition: Expression) -> PlacesCompared | None:
    """Two variables whose places must touch, or be within some metres; None: another condition."""
    match condition:
        case FunctionCall(function, (Variable(one), Variable(other))) if function in TOUCHING:
            return PlacesCompared(condition, one, other, 0.0)
        case Comparison(
            "<" | "<=", FunctionCall(function, (Variable(one), Variable(other))), Literal() as most
        ) if function == METRIC_DISTANCE:
            metres = number(most)
            if metres is not None and 0 < metres < 1e9:
                return PlacesCompared(condition, one, other, float(metres))
    return None


def places_between(
    conditions: Iterable[Expression], left: Collection[str], right: Collection[str]
) -> PlacesCompared | None:
    """A condition on a place of the left and one of the right, which share no variable."""
    if not set(left).isdisjoint(right):
        return None
    for condition in conditions:
        if isinstance(condition, And):
            found = places_between((condition.left, condition.right), left, right)
        else:
            found = places_compared(condition)
        if found is not None and found.left in right and found.right in left:
            found = replace(found, left=found.right, right=found.left)
        if found is not None and found.left in left and found.right in right:
            return found
    return None


def _linked(plans: Sequence[Plan], name: str) -> set[int]:
    """The places of plans that variables link with those that have a variable."""
    names, found = {name}, set[int]()
    while following := {
        at for at, p in enumerate(plans) if at not in found and names.intersection(p.variables)
    }:
        found |= following
        names.update(*(plans[at].variables for at in following))
    return found


def _with_merged_apart(parts: Conjunction) -> Conjunction:
    """Replace the triples of merged graphs by plans.

    A triple in several of the graphs is one triple (RDF 1.1 Semantics, section 4.1).
    """
    plain = [each for each in parts.triples if not each.source.parts]
    if len(plain) == len(parts.triples):
        return parts
    apart = dict.fromkeys(each for each in parts.triples if each.source.parts)
    return Conjunction(plain, parts.filters, [*parts.others, *map(_merged, apart)])


def _merged(triple: Triple) -> Plan:
    names = triple.variables
    found = (Match((replace(triple, source=e),), (), names) for e in triple.source.parts)
    return DistinctPlan(UnionPlan(tuple(found)))


def matched(group: Sequence[Triple], filters: Sequence[Expression], output: Sequence[str]) -> Plan:
    """Connected triples with filters on them, as the ``output`` variables."""
    if any(triple.source.parts for triple in group):
        return projected(assembled(Conjunction(list(group), list(filters)), output), output)
    if len(group) > _MOST_TRIPLES:
        return _long_match(group, filters, output)
    bound = {name for triple in group for name in triple.variables}
    rest, threshold = parted_threshold(filters, bound)
    if threshold is None:
        return Match(tuple(group), tuple(filters), tuple(output))
    # Its variable is needed until the constants have been compared.
    names = dict.fromkeys((*output, threshold.variable))
    return threshold.over(Match(tuple(group), rest, tuple(names)), output)


def _long_match(
    group: Sequence[Triple], filters: Sequence[Expression], output: Sequence[str]
) -> Plan:
    first, rest = group[:_MOST_TRIPLES], group[_MOST_TRIPLES:]
    shared = {n for t in first for n in t.variables} & {n for t in rest for n in t.variables}
    mentioned = frozenset().union(*map(names_in, filters))
    sides = []
    for part in (first, rest):
        names = dict.fromkeys(name for triple in part for name in triple.variables)
        sides.append(matched(part, (), [n for n in names if n in {*shared, *output, *mentioned}]))
    joined = join(sides[0], sides[1])
    for condition in filters:
        joined = filtered(joined, condition)
    return projected(joined, output)


def join_all(plans: Sequence[Plan], wanted: Sequence[str] | None = None) -> Plan:
    """Join plans, connected ones first; a product comes last, when it is smallest."""
    ahead = list(plans)
    joined = ahead.pop(0)
    while ahead:
        names = set(shown(joined.variables))
        following = next((each for each in ahead if names.intersection(each.variables)), ahead[0])
        ahead.remove(following)
        needed = wanted
        if wanted is not None:
            needed = [*dict.fromkeys([*wanted, *(name for n in ahead for name in n.variables)])]
        joined = join(joined, following, needed)
    return joined


def join(left: Plan, right: Plan, wanted: Iterable[str] | None = None) -> Plan:
    """Join two plans; without ``wanted``, all variables are kept."""
    if isinstance(left, ConstantPlan) and left.is_unit:
        return right
    if isinstance(right, ConstantPlan) and right.is_unit:
        return left
    names = dict.fromkeys((*left.variables, *right.variables))
    return JoinPlan(
        left, right, tuple(names if wanted is None else (n for n in wanted if n in names))
    )


def projected(source: Plan, names: Sequence[str]) -> Plan:
    """Project a plan to these variables, in this order."""
    return source if tuple(names) == source.variables else ProjectPlan(source, tuple(names))


def _connected(triples: Sequence[Triple]) -> list[list[Triple]]:
    """Split triples into groups that share no variable."""
    groups: list[list[Triple]] = []
    for triple in triples:
        names = set(triple.variables)
        linked = [g for g in groups if any(names & set(each.variables) for each in g)]
        rest = [g for g in groups if g not in linked]
        groups = [*rest, [*(each for g in linked for each in g), triple]]
    return groups


def _visible_names(groups: Sequence[Sequence[Triple]], parts: Conjunction) -> list[str]:
    """The variables that a query can use: all but blank nodes and steps within a path.

    The others still join a group with another part, where both mention them.
    """
    elsewhere = {name for plan in parts.others for name in plan.variables}
    names = dict.fromkeys(n for group in groups for triple in group for n in triple.variables)
    return [n for n in names if not n.startswith(("_:", ".path")) or n in elsewhere]
