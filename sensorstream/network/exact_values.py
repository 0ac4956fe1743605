"""Queries for Oxigraph that give what SQL gives: Oxigraph matches terms, and computes nothing.

Its stores hold literals under datatypes that it does not know
(:mod:`sensorstream.kb.oxigraph_terms`), and functions of this module do all that looks at values:
filters, expressions, aggregates, keys of ORDER BY.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain, count
from typing import Any, Final, TypeAlias, cast

import pyoxigraph as ox

from sensorstream.errors import QueryError, UnsupportedQuery
from sensorstream.kb.oxigraph_terms import OxigraphTerm, hidden, stored, term_of, to_oxigraph
from sensorstream.model.frozen import field, frozen, replace
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.xsd import XSD
from sensorstream.network.aggregates import AggregationKind, kind_of
from sensorstream.network.expressions.expression_functions import truth_of, value_of, with_base
from sensorstream.network.ordering import order_text
from sensorstream.network.rows import Row
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Pattern, Query, TriplePattern, Variable
from sensorstream.sparql.functions import UNREPEATABLE, Trait, named
from sensorstream.sparql.query_printer import query_text
from sensorstream.sparql.variable_scope import certain, existences, expressions, in_scope
from sensorstream.sparql.walk import children, nodes, patterns_in, renewed, replaced, variables

_UNBOUND: Final = IRI("urn:sensorstream:unbound")
_FUNCTION: Final = "urn:sensorstream:function:"
_TERMS_ONLY: Final = named(Trait.OF_TERM)
_TRUE: Final = to_oxigraph(Literal("true", f"{XSD}boolean"))
_FALSE: Final = to_oxigraph(Literal("false", f"{XSD}boolean"))

Function: TypeAlias = Callable[..., OxigraphTerm | None]
Results: TypeAlias = ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples
_OfRow: TypeAlias = Callable[[Row], OxigraphTerm | None]


@frozen
class OxigraphQuery:
    """A query for Oxigraph, with the functions that its text names."""

    text: str
    functions: Mapping[ox.NamedNode, Function]
    aggregates: Mapping[ox.NamedNode, Callable[[], _Accumulator]]
    faults: list[Exception]
    """The errors that the functions have raised; to Oxigraph they are errors of SPARQL."""

    def answer(
        self, store: ox.Store, default_graphs: Sequence[str] = (), named_graphs: Sequence[str] = ()
    ) -> Results:
        """Query a store, its own graphs if none are given; raises QueryError if Oxigraph failed."""
        self.faults.clear()
        graphs: dict[str, Any] = {}
        if default_graphs or named_graphs:
            graphs["default_graph"] = [ox.NamedNode(graph) for graph in default_graphs]
            graphs["named_graphs"] = [ox.NamedNode(graph) for graph in named_graphs]
        try:
            return store.query(
                self.text,
                custom_functions=dict(self.functions),
                custom_aggregate_functions=dict(self.aggregates),
                **graphs,
            )
        except (SyntaxError, ValueError, RuntimeError, OSError) as error:
            raise QueryError(f"the query cannot be answered: {error}") from None

    def check(self) -> None:
        """Raise the first of the faults."""
        if self.faults:
            raise self.faults[0]


def exact(query: Query, store: ox.Store) -> OxigraphQuery:
    """Make the query for Oxigraph over a store.

    Raises UnsupportedQuery at an unknown function, or a constant that is no valid pattern of REGEX.
    """
    _check_existences(query)
    _check_graphs(query)
    return _computed_here(query, store)


def repeated(query: Query) -> Callable[[ox.Store], OxigraphQuery]:
    """Make a function that gives the query for a store, to be asked again and again.

    Raises UnsupportedQuery at an unknown function, or a constant that is no valid pattern of REGEX;
    not where Oxigraph matches otherwise than SQL.
    """
    asked = _computed_here(query, ox.Store())
    if any(isinstance(each, TriplePattern) and _may_stay(each) for each in nodes(query)):
        return lambda store: _computed_here(query, store)
    return lambda store: asked


def _computed_here(query: Query, store: ox.Store) -> OxigraphQuery:
    rewriting = _Rewriting(store)
    text = query_text(rewriting.all(replaced(with_base(query, query.base), _plainly_named)))
    return OxigraphQuery(text, rewriting.functions, rewriting.aggregates, rewriting.faults)


@frozen
class _Rewriting:
    store: ox.Store
    functions: dict[ox.NamedNode, Function] = field(default_factory=dict)
    aggregates: dict[ox.NamedNode, Callable[[], _Accumulator]] = field(default_factory=dict)
    faults: list[Exception] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def all(self, node: Any) -> Any:
        """Rewrite a node with all below it."""
        match node:
            case Literal():
                return hidden(node)
            case algebra.BGP(patterns):
                return self.block(patterns)
            case algebra.Filter(condition, inner):
                return algebra.Filter(self.condition(condition), self.all(inner))
            case algebra.LeftJoin(left, right, condition) if condition is not None:
                return algebra.LeftJoin(self.all(left), self.all(right), self.condition(condition))
            case algebra.Extend(inner, variable, expression):
                return algebra.Extend(self.all(inner), variable, self.value(expression))
            case algebra.Group():
                return self.group(node)
            case algebra.OrderBy():
                return self.order(node)
        return renewed(node, [self.all(each) for each in children(node)])

    def block(self, patterns: Sequence[TriplePattern]) -> Pattern:
        """Rewrite a block: Oxigraph finds a path of length zero at nodes only, and once.

        By SPARQL it begins at any constant, and once for each way.
        """
        kept: list[TriplePattern] = []
        alone: list[Pattern] = []
        for each in patterns:
            found = self._path(each)
            if isinstance(found, TriplePattern):
                kept.append(found)
            else:
                alone.append(found)
        return reduce(algebra.Join, alone, cast(Pattern, algebra.BGP(tuple(kept))))

    def _path(self, triple: TriplePattern) -> TriplePattern | Pattern:
        path, ends = triple.predicate, (triple.subject, triple.object)
        constants = [end for end in ends if isinstance(end, IRI | Literal)]
        ways = ways_of_no_length(path)
        is_loop = len(set(ends)) == 1
        if (
            ways
            and constants
            and (
                (is_loop and isinstance(path, algebra.ZeroOrMore | algebra.ZeroOrOne))
                or ((is_loop or len(constants) == 1) and not self._is_node(constants[0]))
            )
        ):
            free = tuple(end for end in ends if isinstance(end, Variable))
            row = tuple(self.all(constants[0]) for _ in free)
            return algebra.Values(free, (row,) * ways)
        if not _has_ways(path):
            return cast(TriplePattern, self.all(triple))
        match path:
            case algebra.Alternative(left, right):
                one, other = (self.block((replace(triple, predicate=e),)) for e in (left, right))
                return algebra.Union(one, other)
            case algebra.Sequence(left, right):
                middle = self._fresh()
                first = TriplePattern(triple.subject, left, middle)
                return self.block((first, TriplePattern(middle, right, triple.object)))
        assert isinstance(path, algebra.Inverse)
        return self.block((TriplePattern(triple.object, path.path, triple.subject),))

    def _is_node(self, term: IRI | Literal) -> bool:
        node: Any = stored(term)
        quads = self.store.quads_for_pattern
        subjects = iter(()) if isinstance(term, Literal) else quads(node, None, None, None)
        return any(True for _ in chain(subjects, quads(None, None, node, None)))

    def condition(self, expression: Expression) -> Expression:
        """Rewrite an expression whose effective boolean value counts."""
        match expression:
            case algebra.Or(left, right):
                return algebra.Or(self.condition(left), self.condition(right))
            case algebra.And(left, right):
                return algebra.And(self.condition(left), self.condition(right))
            case algebra.Not(operand):
                return algebra.Not(self.condition(operand))
            case algebra.Exists():
                return algebra.Exists(self.all(expression.pattern))
            case algebra.Comparison("=" | "!=", left, right) if (
                isinstance(left, IRI) or isinstance(right, IRI)
            ) and _are_terms((left, right)):
                return expression
            case algebra.Call(name, arguments) if name in _TERMS_ONLY and _are_terms(arguments):
                return cast(Expression, replaced(expression, _hide))
        return self._call(expression, _test)

    def value(self, expression: Expression) -> Expression:
        """Rewrite an expression whose value counts."""
        match expression:
            case Variable() | IRI() | Literal():
                return hidden(expression)
        return self._call(expression, _computed)

    def order(self, node: algebra.OrderBy) -> algebra.OrderBy:
        """Rewrite ORDER BY so that keys are computed once, not at each comparison."""
        pattern: Pattern = self.all(node.pattern)
        conditions = []
        for each in node.conditions:
            key = self._fresh()
            pattern = algebra.Extend(pattern, key, self._call(each.expression, _keyed))
            conditions.append(algebra.OrderCondition(key, each.descending))
        return algebra.OrderBy(pattern, tuple(conditions))

    def group(self, node: algebra.Group) -> Pattern:
        """Rewrite groups to a subquery; expressions over aggregates are computed outside of it."""
        keys = tuple(replace(each, expression=self.value(each.expression)) for each in node.keys)
        native: list[tuple[Variable, algebra.Aggregate]] = []
        columns: list[tuple[Variable, Expression]] = []
        numbers: list[tuple[Variable, Variable]] = []
        for variable, aggregate in node.aggregates:
            if _counts_terms(aggregate):
                column = self._fresh()
                numbers.append((variable, column))
                native.append((self._fresh(), aggregate))
                columns.append((column, native[-1][0]))
            else:
                columns.append((variable, self._aggregated(aggregate)))
        pattern: Pattern = algebra.Group(self.all(node.pattern), keys, tuple(native))
        for variable, expression in columns:
            pattern = algebra.Extend(pattern, variable, expression)
        kept = [each.variable for each in keys if each.variable is not None]
        kept += [variable for variable, _ in columns]
        if not kept:
            kept.append(self._fresh())
            pattern = algebra.Extend(pattern, kept[0], _UNBOUND)
        pattern = algebra.Project(pattern, tuple(kept))
        for variable, column in numbers:
            pattern = algebra.Extend(pattern, variable, self._call(column, _computed))
        return pattern

    def _aggregated(self, aggregate: algebra.Aggregate) -> algebra.FunctionCall:
        assert aggregate.expression is not None
        name = IRI(f"{_FUNCTION}aggregate:{len(self.aggregates)}")
        kind = _kind(aggregate)
        self.aggregates[ox.NamedNode(name)] = lambda: _Accumulator(kind, self.faults)
        return algebra.FunctionCall(name, (_or_unbound(self.value(aggregate.expression)),))

    def _call(
        self, expression: Expression, made: Callable[[Expression, Mapping[str, int]], _OfRow]
    ) -> algebra.FunctionCall:
        """Make a function that computes an expression, and the call of it."""
        arguments: list[Expression] = []

        def argument(node: object) -> Variable | None:
            match node:
                case Variable() | algebra.Exists():
                    if node not in arguments:
                        arguments.append(node)
                    return _argument_name(arguments.index(node))
                case algebra.Call(name) if name in UNREPEATABLE:
                    # Each call has a value of its own.
                    arguments.append(node)
                    return _argument_name(len(arguments) - 1)
            return None

        plain = replaced(expression, argument)
        places = {_argument_name(place).name: place for place in range(len(arguments))}
        value = made(plain, places)

        def function(*terms: OxigraphTerm) -> OxigraphTerm | None:
            try:
                return value(tuple(map(_given, terms)))
            except Exception as error:
                self.faults.append(error)
                return None

        name = IRI(f"{_FUNCTION}{len(self.functions)}")
        self.functions[ox.NamedNode(name)] = function
        return algebra.FunctionCall(name, tuple(map(self._argument, arguments)))

    def _argument(self, node: Expression) -> Expression:
        match node:
            case algebra.Exists():
                return self.condition(node)
            case algebra.Call(_, arguments) if arguments:
                return _or_unbound(replace(node, arguments=tuple(map(self.value, arguments))))
            case algebra.Call():
                return node
        return _or_unbound(node)

    def _fresh(self) -> Variable:
        """A variable that no query has."""
        return Variable(f"sensorstream_{next(self.numbers)}")


def ways_of_no_length(path: object) -> int:
    """The number of ways in which a path has length zero."""
    match path:
        case algebra.Inverse(inner):
            return ways_of_no_length(inner)
        case algebra.Alternative(left, right):
            return ways_of_no_length(left) + ways_of_no_length(right)
        case algebra.Sequence(left, right):
            return ways_of_no_length(left) * ways_of_no_length(right)
        case algebra.OneOrMore(inner):
            return min(1, ways_of_no_length(inner))
    return int(isinstance(path, algebra.ZeroOrMore | algebra.ZeroOrOne))


def _may_stay(triple: TriplePattern) -> bool:
    """Whether a path of length zero may begin at a constant that is no node for Oxigraph."""
    ends = (triple.subject, triple.object)
    named = any(isinstance(each, IRI | Literal) for each in ends)
    return named and ways_of_no_length(triple.predicate) > 0


def _has_ways(path: object) -> bool:
    """Whether a path, or a step of it, has length zero in several ways."""
    match path:
        case algebra.Inverse(inner):
            return _has_ways(inner)
        case algebra.Alternative(left, right) | algebra.Sequence(left, right):
            return ways_of_no_length(path) > 1 or _has_ways(left) or _has_ways(right)
    return False


def _check_existences(query: Query) -> None:
    """Refuse EXISTS that Oxigraph and SQL understand differently.

    Oxigraph gives an optional part, and that of MINUS, the values of the solution outside; with
    these the part is there, or shares a variable, where it would not by itself.
    """
    for node in nodes(query):
        outer = frozenset[str]().union(*(in_scope(each) for each in patterns_in(node)))
        for expression in expressions(node):
            for each in existences(expression):
                names = sorted(_optionally(each.pattern, outer))
                if names:
                    raise UnsupportedQuery(
                        f"EXISTS: ?{names[0]} has its value outside, and occurs in an OPTIONAL or "
                        "MINUS whose left side does not bind it, which the cache cannot answer as "
                        "history does: bind it there, or ask with --on all",
                        part=each,
                    )


def _optionally(pattern: Pattern, outer: frozenset[str]) -> frozenset[str]:
    """The outer variables of optional parts whose left sides do not surely bind them."""
    found = frozenset[str]()
    if isinstance(pattern, algebra.LeftJoin) or (
        isinstance(pattern, algebra.Minus) and not certain(pattern.left) & certain(pattern.right)
    ):
        found = (in_scope(pattern.right) & outer) - certain(pattern.left)
    return found.union(*(_optionally(each, outer) for each in patterns_in(pattern)))


def _check_graphs(query: Query) -> None:
    """Refuse parts that Oxigraph evaluates for one graph after the other, SQL for all together."""
    for node in nodes(query):
        if not isinstance(node, algebra.Graph) or not isinstance(node.name, Variable):
            continue
        for part in nodes(node.pattern):
            mentions = isinstance(
                part, algebra.Filter | algebra.LeftJoin | algebra.Extend | algebra.Values
            )
            if (
                isinstance(part, algebra.Minus | algebra.Group | algebra.Slice)
                or (mentions and node.name in variables(part))
                or (isinstance(part, TriplePattern) and _may_stay(part))
            ):
                raise UnsupportedQuery(
                    f"GRAPH {node.name}: its group has MINUS, LIMIT, an aggregate, a path that "
                    f"may go nowhere from a constant, or {node.name} itself beside triples, which "
                    "the cache cannot answer as history does: name the graph, or ask with --on "
                    "all",
                    part=node,
                )


def _plainly_named(node: object) -> Variable | None:
    """Rename variables of the algebra, whose names cannot be written in a query."""
    if isinstance(node, Variable) and node.name.startswith("."):
        return Variable(f"sensorstream_{node.name[1:]}")
    return None


def _argument_name(place: int) -> Variable:
    return Variable(f"argument{place}")


def _counts_terms(aggregate: algebra.Aggregate) -> bool:
    """Whether Oxigraph may count, as no value has to be looked at."""
    of = aggregate.expression
    return aggregate.name == "COUNT" and (of is None or isinstance(of, Variable))


def _hide(node: object) -> object | None:
    return hidden(node) if isinstance(node, Literal) else None


def _are_terms(expressions: Sequence[Expression]) -> bool:
    return all(isinstance(each, Variable | IRI | Literal) for each in expressions)


def _or_unbound(expression: Expression) -> Expression:
    """Replace an error or unbound variable, with which no function would be called."""
    return algebra.Call("COALESCE", (expression, _UNBOUND))


def _given(stored: OxigraphTerm) -> Term | None:
    found = term_of(stored)
    return None if found == _UNBOUND else found


def _test(expression: Expression, places: Mapping[str, int]) -> _OfRow:
    truth = truth_of(expression, places)
    terms = {True: _TRUE, False: _FALSE, None: None}
    return lambda row: terms[truth(row)]


def _computed(expression: Expression, places: Mapping[str, int]) -> _OfRow:
    value = value_of(expression, places)

    def computed(row: Row) -> OxigraphTerm | None:
        found = value(row)
        return None if found is None else stored(found)

    return computed


def _keyed(expression: Expression, places: Mapping[str, int]) -> _OfRow:
    value = value_of(expression, places)
    return lambda row: ox.Literal(order_text(value(row)))


class _Extreme:
    """MIN or MAX in the order of ORDER BY; of equal values the first by its text."""

    __slots__ = ("_best", "_choose", "_failed")

    def __init__(self, choose: Callable[..., tuple[str, str, str, Term]]) -> None:
        self._choose = choose
        self._best: tuple[str, str, str, Term] | None = None
        self._failed = False

    def take(self, value: Any, weight: int) -> None:
        if value is None:
            self._failed = True
            return
        literal = isinstance(value, Literal)
        lexical, datatype = (value.lexical, value.datatype) if literal else (str(value), "")
        found = (order_text(value), lexical, datatype, value)
        self._best = found if self._best is None else self._choose(self._best, found)

    def result(self) -> Term | None:
        return None if self._failed or self._best is None else self._best[3]


def _kind(aggregate: algebra.Aggregate) -> AggregationKind:
    choose = {"MIN": min, "MAX": max}.get(aggregate.name)
    if choose is None:
        return kind_of(aggregate, math.inf)
    return AggregationKind(aggregate.name, lambda: _Extreme(choose), _Extreme.result)


class _Accumulator:
    """The aggregate of one group, in the form that Oxigraph calls."""

    __slots__ = ("_faults", "_kind", "_state")

    def __init__(self, kind: AggregationKind, faults: list[Exception]) -> None:
        self._kind = kind
        self._faults = faults
        self._state = kind.make()

    def accumulate(self, stored: OxigraphTerm) -> None:
        try:
            self._state.take(_given(stored), 1)
        except Exception as error:
            self._faults.append(error)

    def finish(self) -> OxigraphTerm | None:
        try:
            found = self._kind.result(self._state)
            return None if found is None else to_oxigraph(hidden(found))
        except Exception as error:
            self._faults.append(error)
            return None
