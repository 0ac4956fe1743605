"""From the algebra to operators: equal parts of different queries become one operator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias

from sensorstream.errors import NotIncremental, UnsupportedQuery
from sensorstream.kb.index import TripleIndex
from sensorstream.kb.occurrences import Scope
from sensorstream.model.terms import IRI, BlankNode, Term
from sensorstream.network.aggregates import kind_of
from sensorstream.network.conjunction import Conjunction, connected, visible_names
from sensorstream.network.expressions.compile import test_of, value_of
from sensorstream.network.expressions.values import FALSE, TRUE
from sensorstream.network.network import Network
from sensorstream.network.node import Node
from sensorstream.network.operators.closure import Closure
from sensorstream.network.operators.delta_join import MOST_PATTERNS, DeltaJoin, Test
from sensorstream.network.operators.delta_join import Pattern as Triple
from sensorstream.network.operators.distinct import Distinct as DistinctNode
from sensorstream.network.operators.ends import Ends
from sensorstream.network.operators.group import Column
from sensorstream.network.operators.group import Group as GroupNode
from sensorstream.network.operators.join import Join as JoinNode
from sensorstream.network.operators.matching import LeftJoin as LeftJoinNode
from sensorstream.network.operators.matching import Mark
from sensorstream.network.operators.matching import Minus as MinusNode
from sensorstream.network.operators.scoped_join import InScope, ScopedJoin
from sensorstream.network.operators.simple import Constant
from sensorstream.network.operators.simple import Extend as ExtendNode
from sensorstream.network.operators.simple import Filter as FilterNode
from sensorstream.network.operators.simple import Project as ProjectNode
from sensorstream.network.operators.simple import Union as UnionNode
from sensorstream.network.operators.slice import Slice as SliceNode
from sensorstream.network.ordering import names_ordered_by, order_of, parted_order
from sensorstream.network.rows import Row, slots_of
from sensorstream.network.scope import borrowed, existences, in_scope, names_in
from sensorstream.network.sources import Sources
from sensorstream.sparql.algebra import (
    BGP,
    Alternative,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    Join,
    LeftJoin,
    Minus,
    NegatedSet,
    OneOrMore,
    OrderBy,
    Path,
    Pattern,
    Project,
    Reduced,
    Service,
    Slice,
    TriplePattern,
    Union,
    Values,
    Variable,
    Window,
    ZeroOrMore,
    ZeroOrOne,
)
from sensorstream.sparql.algebra import (
    Sequence as PathSequence,
)
from sensorstream.sparql.printing import expression_text
from sensorstream.sparql.rewrite.named_aggregates import named_aggregates
from sensorstream.sparql.walk import replaced

Source: TypeAlias = TripleIndex | Scope


class Compiler:
    """Compiles the patterns of one query into a network.

    Raises (every method):
        NotIncremental: part of the pattern cannot be kept in step with deletions.
        UnsupportedQuery: part of it cannot be answered at all.
    """

    def __init__(self, network: Network, sources: Sources) -> None:
        self._network = network
        self._sources = sources
        self._fresh = count()

    def compile(self, pattern: Pattern) -> Node:
        """The operator whose output is a query's solutions.

        Rows come in the query's order if that needs what the query does not select.
        """
        pattern = named_aggregates(pattern)
        _, conditions, outside = parted_order(pattern)
        if outside is not None and not names_ordered_by(conditions) <= set(outside):
            pattern = Slice(pattern)
        return self._node(pattern, self._sources.default)

    def _share(self, *key: Hashable, make: Callable[[], Node]) -> Node:
        return self._network.share(key, make)

    def _node(self, pattern: Pattern, index: Source) -> Node:
        match pattern:
            case BGP() | Join() | Window():
                return self._assemble(self._conjunction(pattern, index))
            case Filter():
                return self._filter(pattern, index)
            case Graph(name, inner):
                return self._graph(name, inner)
            case LeftJoin():
                return self._left_join(pattern, index)
            case Union(left, right):
                return self._union([self._node(left, index), self._node(right, index)])
            case Minus(left, right):
                one, other = self._node(left, index), self._node(right, index)
                return self._share("minus", one, other, make=lambda: MinusNode(one, other))
            case Extend(inner, variable, expression):
                return self._extend(self._node(inner, index), variable.name, expression, index)
            case Values(variables, rows):
                names = tuple(each.name for each in variables)
                return self._share("values", names, rows, make=lambda: Constant(names, rows))
            case Group():
                return self._group(pattern, index)
            case Project(inner, variables):
                selected = [each.name for each in variables]
                return self._project(self._narrow(inner, index, selected), selected)
            case Distinct(inner):
                return self._distinct(self._node(inner, index))
            case Reduced(inner) | OrderBy(inner, _):
                return self._node(inner, index)
            case Slice():
                return self._slice(pattern, index)
            case Service():
                raise UnsupportedQuery(
                    "SERVICE: a continuous query cannot follow what changes elsewhere"
                )
        raise UnsupportedQuery(
            f"{type(pattern).__name__}: temporal operators are not evaluated by this network"
        )

    def _narrow(self, pattern: Pattern, index: Source, wanted: Sequence[str]) -> Node:
        """The operator of a pattern of whose variables only some are wanted.

        It may give others as well; those that are left out cost no joined row anything.
        """
        match pattern:
            case BGP() | Join() | Window():
                return self._assemble(self._conjunction(pattern, index), wanted)
            case Filter(condition, _) if not existences(condition):
                return self._assemble(self._conjunction(pattern, index), wanted)
            case Extend(inner, variable, expression) if not existences(expression):
                names = [name for name in wanted if name != variable.name]
                names += sorted(names_in(expression).difference(names))
                source = self._narrow(inner, index, names)
                return self._extend(source, variable.name, expression, index)
        return self._node(pattern, index)

    # -- conjunctions -----------------------------------------------------------------------

    def _conjunction(self, pattern: Pattern, index: Source) -> Conjunction:
        """Flatten nested joins, so that all triple patterns can be ordered together."""
        match pattern:
            case BGP(patterns):
                return self._block(patterns, index)
            case Join(left, right):
                one, other = self._conjunction(left, index), self._conjunction(right, index)
                return Conjunction(
                    [*one.triples, *other.triples],
                    [*one.filters, *other.filters],
                    [*one.others, *other.others],
                )
            case Window(name, inner):
                return self._conjunction(inner, self._window(name))
            case Graph(IRI() as name, inner):
                return self._conjunction(inner, self._named(name))
            case Filter(condition, inner) if not existences(condition):
                found = self._conjunction(inner, index)
                if names_in(condition) <= found.bound():
                    found.filters.append(condition)
                    return found
                # It must not see what a neighbour binds: it stays with its own group.
                return Conjunction(others=[self._filtered(self._assemble(found), condition)])
        return Conjunction(others=[self._node(pattern, index)])

    def _block(self, patterns: Iterable[TriplePattern], index: Source) -> Conjunction:
        found = Conjunction()
        for pattern in patterns:
            ends = (_end(pattern.subject), _end(pattern.object))
            if isinstance(pattern.predicate, Variable):
                found.triples.append(Triple(index, ends[0], pattern.predicate, ends[1]))
            else:
                self._path(ends[0], pattern.predicate, ends[1], index, found)
        return found

    def _assemble(self, parts: Conjunction, wanted: Sequence[str] | None = None) -> Node:
        """Join the parts: connected triples as delta joins, the rest by what they share.

        Only the ``wanted`` variables are carried along, and those that a later step needs.
        """
        triples = list(dict.fromkeys(parts.triples))
        filters = list(parts.filters)
        groups = connected(triples)
        visible = visible_names(groups, parts)
        if wanted is None:
            wanted = list(
                dict.fromkeys([*visible, *(n for o in parts.others for n in o.variables)])
            )
        own: list[list[Expression]] = []
        for group in groups:
            names = {name for triple in group for name in triple.variables}
            own.append([each for each in filters if names_in(each) <= names])
            filters = [each for each in filters if each not in own[-1]]
        later = frozenset().union(*map(names_in, filters))
        elsewhere = {name for node in parts.others for name in node.variables}
        nodes = list(parts.others)
        for group, tests in zip(groups, own, strict=True):
            names = {name for triple in group for name in triple.variables}
            # In the order they are wanted, so that nothing needs to be laid out anew.
            kept = dict.fromkeys(n for n in wanted if n in names)
            kept.update((n, None) for n in visible if n in names and (n in later or n in elsewhere))
            nodes.append(self._delta_join(group, tests, list(kept)))
        kept = dict.fromkeys([*wanted, *sorted(later.difference(wanted))])
        joined = self._join_all(nodes, list(kept)) if nodes else self._unit()
        for condition in filters:
            joined = self._filtered(joined, condition)
        return joined

    def _delta_join(
        self, group: Sequence[Triple], filters: Sequence[Expression], output: Sequence[str]
    ) -> Node:
        if len(group) > MOST_PATTERNS:
            first, rest = group[:MOST_PATTERNS], group[MOST_PATTERNS:]
            shared = {n for t in first for n in t.variables} & {
                n for t in rest for n in t.variables
            }
            sides = []
            for part in (first, rest):
                names = dict.fromkeys(name for triple in part for name in triple.variables)
                keep = [n for n in names if n in shared or n in output or _mentioned(n, filters)]
                sides.append(self._delta_join(part, (), keep))
            joined = self._join(sides[0], sides[1])
            for condition in filters:
                joined = self._filtered(joined, condition)
            return self._project(joined, output)
        scope = group[0].index
        if isinstance(scope, Scope) and all(t.index is scope for t in group):
            return self._scoped_join(scope, group, filters, output)
        key = (tuple((id(t.index), *t.ends) for t in group), tuple(filters), tuple(output))
        return self._share(
            "pattern",
            key,
            make=lambda: DeltaJoin(
                group, [_test(each) for each in filters], output, self._network.dispatcher
            ),
        )

    def _scoped_join(
        self,
        scope: Scope,
        group: Sequence[Triple],
        filters: Sequence[Expression],
        output: Sequence[str],
    ) -> Node:
        stream = scope.occurrences
        patterns = [replace(each, index=stream.index) for each in group]
        key = (id(stream), tuple(t.ends for t in group), tuple(filters), tuple(output))
        everywhere = self._share(
            "stream pattern",
            key,
            make=lambda: ScopedJoin(
                stream, patterns, [_test(f) for f in filters], output, self._network.dispatcher
            ),
        )
        assert isinstance(everywhere, ScopedJoin)
        return self._share(
            "in scope",
            everywhere,
            id(scope),
            make=lambda: InScope(everywhere, scope, self._network.wake),
        )

    def _join_all(self, nodes: Sequence[Node], wanted: Sequence[str]) -> Node:
        """Join what is connected first: a product comes last, when it is smallest."""
        ahead = list(nodes)
        joined = ahead.pop(0)
        while ahead:
            linked = [n for n in ahead if set(n.variables) & set(joined.variables)]
            following = linked[0] if linked else ahead[0]
            ahead.remove(following)
            needed = dict.fromkeys([*wanted, *(name for n in ahead for name in n.variables)])
            joined = self._join(joined, following, list(needed))
        return joined

    def _join(self, left: Node, right: Node, wanted: Sequence[str] | None = None) -> Node:
        """Join two operators; without ``wanted``, all variables are kept."""
        if isinstance(left, Constant) and left.is_unit:
            return right
        if isinstance(right, Constant) and right.is_unit:
            return left
        names = dict.fromkeys((*left.variables, *right.variables))
        output = tuple(names if wanted is None else (n for n in wanted if n in names))
        return self._share("join", left, right, output, make=lambda: JoinNode(left, right, output))

    def _unit(self) -> Node:
        return self._share("values", (), ((),), make=lambda: Constant((), ((),)))

    # -- graphs and windows -----------------------------------------------------------------

    def _window(self, name: Variable | IRI) -> Source:
        if isinstance(name, Variable):
            raise UnsupportedQuery(f"WINDOW {name}: name one of the query's windows")
        index = self._sources.windows.get(name)
        if index is None:
            known = ", ".join(f"<{each}>" for each in self._sources.windows) or "none"
            raise UnsupportedQuery(
                f"WINDOW <{name}>: no such window; the query defines {known} (FROM NAMED WINDOW)"
            )
        return index

    def _named(self, name: IRI) -> TripleIndex:
        # An index that is empty now is as good as any other: no "or" here.
        return self._sources.named.get(name, TripleIndex())

    def _graph(self, name: Variable | IRI, inner: Pattern) -> Node:
        if isinstance(name, IRI):
            if name in self._sources.named:
                return self._node(inner, self._sources.named[name])
            # A graph that is not there has no solutions, not even of an empty pattern.
            scope = tuple(sorted(in_scope(inner)))
            return self._share("values", scope, (), make=lambda: Constant(scope, ()))
        found = []
        for each, index in self._sources.named.items():
            names, rows = (name.name,), ((each,),)
            here = self._share("values", names, rows, make=_constant(names, rows))
            found.append(self._join(here, self._node(inner, index)))
        if not found:
            scope = tuple(sorted(in_scope(inner) | {name.name}))
            return self._share("values", scope, (), make=lambda: Constant(scope, ()))
        return found[0] if len(found) == 1 else self._union(found)

    # -- operators --------------------------------------------------------------------------

    def _union(self, inputs: Sequence[Node]) -> Node:
        return self._share("union", tuple(inputs), make=lambda: UnionNode(inputs))

    def _distinct(self, source: Node) -> Node:
        if isinstance(source, DistinctNode | Closure):
            return source
        return self._share("distinct", source, make=lambda: DistinctNode(source))

    def _project(self, source: Node, names: Sequence[str]) -> Node:
        if tuple(names) == source.variables:
            return source
        return self._share("project", source, tuple(names), make=lambda: ProjectNode(source, names))

    def _filtered(self, source: Node, condition: Expression) -> Node:
        return self._share(
            "filter",
            source,
            condition,
            make=lambda: FilterNode(
                source, test_of(condition, slots_of(source.variables)), expression_text(condition)
            ),
        )

    def _filter(self, pattern: Filter, index: Source) -> Node:
        if not existences(pattern.condition):
            return self._assemble(self._conjunction(pattern, index))
        source = self._node(pattern.pattern, index)
        condition, marked = self._marked(source, pattern.condition, index)
        return self._project(self._filtered(marked, condition), source.variables)

    def _extend(self, source: Node, name: str, expression: Expression, index: Source) -> Node:
        names = (*source.variables, name)
        expression, marked = self._marked(source, expression, index)
        extended = self._share(
            "extend",
            marked,
            name,
            expression,
            make=lambda: ExtendNode(
                marked,
                name,
                value_of(expression, slots_of(marked.variables)),
                expression_text(expression),
            ),
        )
        return self._project(extended, names)

    def _marked(
        self, source: Node, expression: Expression, index: Source
    ) -> tuple[Expression, Node]:
        """Replace each EXISTS by a variable that says whether its pattern matches."""
        for found in existences(expression):
            flag = f".exists{next(self._fresh)}"
            source = self._mark(source, found.pattern, flag, index)
            expression = replaced(expression, _exchange(found, Variable(flag)))
        return expression, source

    def _mark(self, source: Node, pattern: Pattern, flag: str, index: Source) -> Node:
        outer = frozenset(source.variables)
        lifted: list[Expression] = []
        while isinstance(pattern, Filter) and borrowed(pattern, outer) > borrowed(
            pattern.pattern, outer
        ):
            lifted.append(pattern.condition)
            pattern = pattern.pattern
        if borrowed(pattern, outer):
            names = ", ".join(f"?{name}" for name in sorted(borrowed(pattern, outer)))
            raise NotIncremental(f"EXISTS: {names} of the outer pattern is used deep within")
        if any(existences(each) for each in lifted):
            raise NotIncremental("EXISTS: a filter on outer variables holds another EXISTS")
        right = self._node(pattern, index)
        joined = tuple(dict.fromkeys((*source.variables, *right.variables)))
        tests = [test_of(each, slots_of(joined)) for each in lifted]
        condition = (lambda row: all(test(row) for test in tests)) if tests else None
        return self._share(
            "mark",
            source,
            right,
            tuple(lifted),
            flag,
            make=lambda: Mark(source, right, flag, TRUE, FALSE, condition),
        )

    def _left_join(self, pattern: LeftJoin, index: Source) -> Node:
        left, right = self._node(pattern.left, index), self._node(pattern.right, index)
        condition = pattern.condition
        if condition is None:
            return self._share("optional", left, right, make=lambda: LeftJoinNode(left, right))
        if existences(condition):
            raise NotIncremental("OPTIONAL with EXISTS in its filter")
        names = tuple(dict.fromkeys((*left.variables, *right.variables)))
        return self._share(
            "optional",
            left,
            right,
            condition,
            make=lambda: LeftJoinNode(
                left, right, test_of(condition, slots_of(names)), expression_text(condition)
            ),
        )

    def _group(self, pattern: Group, index: Source) -> Node:
        source = self._grouped(pattern, index)
        keys: list[str] = []
        for place, key in enumerate(pattern.keys):
            if isinstance(key.expression, Variable) and key.variable in (None, key.expression):
                name = key.expression.name
                if name not in source.variables:
                    source = self._extend(source, name, key.expression, index)
            else:
                name = key.variable.name if key.variable is not None else f".key{place}"
                source = self._extend(source, name, key.expression, index)
            if name not in keys:
                keys.append(name)
        columns = []
        for variable, aggregate in pattern.aggregates:
            value: Callable[[Row], Any]
            if aggregate.expression is None:
                value = (lambda row: row) if aggregate.distinct else (lambda row: True)
            else:
                if existences(aggregate.expression):
                    raise NotIncremental("EXISTS within an aggregate")
                value = value_of(aggregate.expression, slots_of(source.variables))
            columns.append(
                Column(
                    variable.name,
                    kind_of(aggregate),
                    aggregate.expression,
                    value,
                    expression_text(aggregate),
                )
            )
        return self._share(
            "group",
            source,
            tuple(keys),
            pattern.aggregates,
            make=lambda: GroupNode(source, keys, columns),
        )

    def _grouped(self, pattern: Group, index: Source) -> Node:
        """What is grouped, narrowed to what keys and aggregates look at."""
        aggregates = [each for _, each in pattern.aggregates]
        if any(each.expression is None and each.distinct for each in aggregates):
            # It counts whole solutions.
            return self._node(pattern.pattern, index)
        looked_at: set[str] = set()
        for expression in (*(k.expression for k in pattern.keys), *aggregates):
            looked_at |= names_in(expression)
        return self._narrow(pattern.pattern, index, sorted(looked_at))

    def _slice(self, pattern: Slice, index: Source) -> Node:
        inner, conditions, outside = parted_order(pattern.pattern)
        source = self._node(inner, index)
        key = None
        if conditions:
            if any(existences(each.expression) for each in conditions):
                raise NotIncremental("EXISTS within ORDER BY")
            key = order_of(conditions, slots_of(source.variables))
        sliced = self._share(
            "slice",
            source,
            conditions,
            pattern.offset,
            pattern.limit,
            make=lambda: SliceNode(source, key, pattern.offset, pattern.limit),
        )
        return sliced if outside is None else self._project(sliced, outside)

    # -- paths ------------------------------------------------------------------------------

    def _path(
        self,
        subject: Variable | Term,
        path: Path,
        object_: Variable | Term,
        index: Source,
        into: Conjunction,
    ) -> None:
        """Section 18.2.2.4: what of a path is triples becomes triples, the rest operators."""
        match path:
            case IRI():
                into.triples.append(Triple(index, subject, path, object_))
            case Inverse(inner):
                self._path(object_, inner, subject, index, into)
            case PathSequence(left, right):
                between = Variable(f".path{next(self._fresh)}")
                self._path(subject, left, between, index, into)
                self._path(between, right, object_, index, into)
            case _:
                ends = (".from", ".to")
                fixed = tuple(None if isinstance(e, Variable) else e for e in (subject, object_))
                pairs = self._pairs(path, index, ends, fixed)
                into.others.append(self._named_ends(pairs, ends, (subject, object_)))

    def _pairs(
        self,
        path: Path,
        index: Source,
        ends: tuple[str, str],
        fixed: tuple[Term | None, ...] = (None, None),
    ) -> Node:
        """The pairs a path connects, as the two variables ``ends``.

        Where an end is ``fixed`` at least the pairs with that end are given.
        """
        one, other = Variable(ends[0]), Variable(ends[1])
        match path:
            case Alternative(left, right):
                return self._union(
                    [self._pairs(left, index, ends, fixed), self._pairs(right, index, ends, fixed)]
                )
            case NegatedSet(forward, backward):
                ways = []
                if forward or not backward:
                    ways.append(self._other_than(one, forward, other, index, ends))
                if backward:
                    ways.append(self._other_than(other, backward, one, index, ends))
                return ways[0] if len(ways) == 1 else self._union(ways)
            case OneOrMore(inner):
                step = self._pairs(inner, index, ends)
                return self._share(
                    "closure",
                    step,
                    fixed,
                    make=lambda: Closure(step, ends, fixed[0], fixed[1]),
                )
            case ZeroOrMore(inner):
                more = self._pairs(OneOrMore(inner), index, ends, fixed)
                return self._distinct(self._union([self._same(index, ends, fixed), more]))
            case ZeroOrOne(inner):
                once = self._pairs(inner, index, ends, fixed)
                return self._distinct(self._union([self._same(index, ends, fixed), once]))
        parts = Conjunction()
        self._path(one, path, other, index, parts)
        return self._project(self._assemble(parts), ends)

    def _other_than(
        self,
        subject: Variable,
        names: Collection[IRI],
        object_: Variable,
        index: Source,
        ends: tuple[str, str],
    ) -> Node:
        predicate = Variable(".predicate")
        triple = Triple(index, subject, predicate, object_)
        refused = frozenset(names)
        test = Test((predicate.name,), lambda row: row[0] not in refused, f"not {sorted(names)}")
        return self._share(
            "negated",
            (id(index), subject, refused, object_, ends),
            make=lambda: DeltaJoin([triple], [test], ends, self._network.dispatcher),
        )

    def _same(self, index: Source, ends: tuple[str, str], fixed: tuple[Term | None, ...]) -> Node:
        """The paths of length zero: from every node of the graph, and every fixed end."""
        constants = tuple(dict.fromkeys(end for end in fixed if end is not None))
        if constants:
            rows = tuple((end, end) for end in constants)
            return self._share("values", ends, rows, make=lambda: Constant(ends, rows))
        node, p, x = Variable(ends[0]), Variable(".predicate"), Variable(".other")
        halves = []
        for triple in (Triple(index, node, p, x), Triple(index, x, p, node)):
            halves.append(self._delta_join([triple], (), [node.name]))
        everything = self._distinct(self._union(halves))
        return self._extend(everything, ends[1], node, index)

    def _named_ends(
        self,
        pairs: Node,
        ends: tuple[str, str],
        wanted: tuple[Variable | Term, Variable | Term],
    ) -> Node:
        """Rename the ends of a path to what the query calls them, and select."""
        places = slots_of(pairs.variables)
        at = (places[ends[0]], places[ends[1]])
        return self._share("ends", pairs, wanted, make=lambda: Ends(pairs, at, wanted))


def _end(term: Variable | Term) -> Variable | Term:
    """A blank node of a pattern is a variable nobody can ask for."""
    return Variable(str(term)) if isinstance(term, BlankNode) else term


def _test(condition: Expression) -> Test:
    names = tuple(sorted(names_in(condition)))
    return Test(names, test_of(condition, slots_of(names)), expression_text(condition))


def _constant(names: tuple[str, ...], rows: tuple[Row, ...]) -> Callable[[], Node]:
    return lambda: Constant(names, rows)


def _mentioned(name: str, filters: Iterable[Expression]) -> bool:
    return any(name in names_in(each) for each in filters)


def _exchange(old: Exists, new: Variable) -> Callable[[object], object | None]:
    return lambda node: new if node is old else None
