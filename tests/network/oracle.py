"""Random patterns of the algebra, and what Oxigraph answers to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from functools import reduce
from itertools import count
from typing import Any, cast

import pyoxigraph as ox
from hypothesis import strategies as st

from sensorstream.errors import TermError
from sensorstream.kb.oxigraph_terms import from_oxigraph, subject_to_oxigraph, to_oxigraph
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Term, Triple
from sensorstream.sparql.algebra import (
    BGP,
    Aggregate,
    Alternative,
    And,
    Arithmetic,
    Call,
    Comparison,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    GroupKey,
    In,
    Inverse,
    Join,
    LeftJoin,
    Minus,
    NegatedSet,
    Not,
    OneOrMore,
    Or,
    Path,
    Pattern,
    Project,
    Query,
    Select,
    Sequence,
    TriplePattern,
    Union,
    Values,
    Variable,
    ZeroOrMore,
    ZeroOrOne,
)
from sensorstream.sparql.query_printer import query_text
from sensorstream.sparql.values import number
from sensorstream.sparql.variable_scope import in_scope

NODES: tuple[Any, ...] = tuple(IRI(f"http://example.org/{name}") for name in "abc")
PROPERTIES: tuple[Any, ...] = tuple(IRI(f"http://example.org/{name}") for name in "pqr")
GRAPHS: tuple[Any, ...] = tuple(IRI(f"http://example.org/{name}") for name in ("g1", "g2"))
LITERALS: tuple[Any, ...] = (
    *(Literal(str(n), xsd.INTEGER) for n in (0, 1, 2)),
    Literal("x"),
    Literal("x", language="en"),
)
VARIABLES: tuple[Any, ...] = tuple(Variable(name) for name in ("x", "y", "z", "v"))

triples = st.tuples(
    st.sampled_from(NODES), st.sampled_from(PROPERTIES), st.sampled_from((*NODES, *LITERALS))
)


@st.composite
def paths(draw: st.DrawFn, depth: int = 2) -> Path:
    """Property paths of little depth."""
    step: Any = draw(st.sampled_from(PROPERTIES))
    kind = draw(st.integers(0, 8)) if depth else 0
    if kind == 0:
        return cast(Path, step)
    if kind == 1:
        return NegatedSet((step,))
    if kind == 2:
        return NegatedSet((), (step,))
    inner = draw(paths(depth - 1))
    match kind:
        case 3:
            return Inverse(inner)
        case 4:
            return Sequence(step, inner)
        case 5:
            return Alternative(step, inner)
        case 6:
            return ZeroOrMore(inner)
        case 7:
            return OneOrMore(inner)
    return ZeroOrOne(inner)


@st.composite
def blocks(draw: st.DrawFn, complex_paths: bool = True) -> BGP:
    """Basic graph patterns."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        subject = draw(st.sampled_from((*VARIABLES, *VARIABLES, *NODES)))
        predicate: Path | Variable = draw(st.sampled_from((*PROPERTIES, *PROPERTIES, *VARIABLES)))
        if complex_paths and draw(st.integers(0, 3)) == 0:
            predicate = draw(paths())
        object_ = draw(st.sampled_from((*VARIABLES, *VARIABLES, *NODES, *LITERALS)))
        found.append(TriplePattern(subject, predicate, object_))
    return BGP(tuple(found))


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Expression:
    """Expressions that are true of some rows."""
    ends = st.sampled_from((*VARIABLES, *VARIABLES, *LITERALS, NODES[0]))
    kind = draw(st.integers(0, 6 if depth else 3))
    match kind:
        case 0:
            operator: Any = draw(st.sampled_from(("=", "!=", "<", ">=")))
            # Of two terms that are no literals Oxigraph finds one at least as great as itself.
            others = ends if operator in ("=", "!=") else st.sampled_from(LITERALS)
            return Comparison(operator, draw(ends), draw(others))
        case 1:
            return Call("BOUND", (draw(st.sampled_from(VARIABLES)),))
        case 2:
            return Call("ISIRI", (draw(st.sampled_from(VARIABLES)),))
        case 3:
            return In(draw(ends), (draw(ends), draw(ends)))
    inner = draw(conditions(depth - 1))
    if kind == 4:
        return Not(inner)
    other = draw(conditions(depth - 1))
    return And(inner, other) if kind == 5 else Or(inner, other)


@st.composite
def patterns(draw: st.DrawFn, depth: int = 3, complex_paths: bool = True) -> Pattern:
    """Any pattern of SPARQL 1.1 that does not depend on order."""
    kinds = ["bgp"]
    if depth:
        kinds += ["join", "optional", "union", "minus", "filter", "extend", "values", "group"]
        kinds += ["distinct", "exists", "graph", "project"]
    kind = draw(st.sampled_from(kinds))
    if kind == "bgp":
        return draw(blocks(complex_paths))
    if kind == "values":
        cells = st.sampled_from((None, *NODES, *LITERALS[:2]))
        rows = draw(st.lists(st.tuples(cells, cells), max_size=3))
        return Join(draw(blocks(False)), Values(VARIABLES[:2], tuple(rows)))
    inner = draw(patterns(depth - 1, complex_paths))
    match kind:
        case "join":
            return Join(inner, draw(patterns(depth - 1, complex_paths)))
        case "optional":
            condition = draw(st.one_of(st.none(), conditions()))
            return LeftJoin(inner, draw(patterns(depth - 1, complex_paths)), condition)
        case "union":
            return Union(inner, draw(patterns(depth - 1, complex_paths)))
        case "minus":
            return Minus(inner, draw(patterns(depth - 1, complex_paths)))
        case "filter":
            return Filter(draw(conditions()), inner)
        case "exists":
            found: Expression = Exists(draw(patterns(max(0, depth - 2), False)))
            if draw(st.booleans()):
                found = Not(found)
            if draw(st.booleans()):
                found = Or(found, draw(conditions()))
            return Filter(found, inner)
        case "extend":
            free = [v for v in VARIABLES if v.name not in in_scope(inner)]
            if not free:
                return inner
            one, other = draw(st.tuples(st.sampled_from(VARIABLES), st.sampled_from(LITERALS)))
            value: Any = draw(
                st.sampled_from(
                    (
                        Arithmetic("+", one, other),
                        Call("STR", (one,)),
                        Call("COALESCE", (one, other)),
                        Call("IF", (Call("BOUND", (one,)), one, other)),
                        Not(Exists(draw(blocks(False)))),
                    )
                )
            )
            return Extend(inner, free[0], value)
        case "distinct":
            return Distinct(Project(inner, _chosen(draw, inner)))
        case "project":
            return Project(inner, _chosen(draw, inner))
        case "graph":
            return Graph(draw(st.sampled_from((*GRAPHS, VARIABLES[3]))), draw(blocks(False)))
        case _:
            return draw(_groups(inner))


def _chosen(draw: st.DrawFn, inner: Pattern) -> tuple[Variable, ...]:
    names = sorted(in_scope(inner)) or ["x"]
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    return tuple(map(Variable, chosen))


@st.composite
def _groups(draw: st.DrawFn, inner: Pattern) -> Pattern:
    keys = draw(st.lists(st.sampled_from(VARIABLES[:2]), max_size=2, unique=True))
    over = draw(st.sampled_from(VARIABLES))
    name: Any = draw(st.sampled_from(("COUNT", "SUM", "MIN", "MAX", "AVG")))
    every = draw(st.booleans()) and name == "COUNT"
    aggregate = Aggregate(name, None if every else over, draw(st.booleans()))
    result = Variable("n")
    grouped: Pattern = Group(
        inner, tuple(GroupKey(k, k) for k in keys), ((Variable(".agg0"), aggregate),)
    )
    if draw(st.booleans()):
        grouped = Filter(Comparison(">=", Variable(".agg0"), LITERALS[1]), grouped)
    return Project(Extend(grouped, result, Variable(".agg0")), (*keys, result))


class Oracle:
    """Oxigraph over the same graphs."""

    def __init__(self) -> None:
        self.store = ox.Store()

    def add(self, triple: Triple, graph: IRI | None) -> None:
        """Take a triple in."""
        self.store.add(_quad(triple, graph))

    def remove(self, triple: Triple, graph: IRI | None) -> None:
        """Take a triple out."""
        self.store.remove(_quad(triple, graph))

    def answer(self, pattern: Project) -> Counter[tuple[Any, ...]]:
        """The solutions of a pattern, as values."""
        found = self.store.query(query_text(Query(Select(spelled_out(pattern, count())))))
        assert isinstance(found, ox.QuerySolutions)
        names = [each.name for each in pattern.variables]
        return values(
            tuple(None if row[name] is None else from_oxigraph(row[name]) for name in names)
            for row in found
        )


def spelled_out(node: Any, fresh: Iterator[int]) -> Any:
    """The pattern with its paths as section 18.2.2.4 translates them.

    Oxigraph evaluates alternatives and sequences as sets of pairs, and a negated set between two
    known ends; they are bags.
    """
    if isinstance(node, BGP):
        parts = [_spelled_path(each, fresh) for each in node.patterns]
        return reduce(Join, parts)
    if isinstance(node, tuple):
        return tuple(spelled_out(each, fresh) for each in node)
    if hasattr(node, "__dataclass_fields__"):
        return replace(
            node, **{f.name: spelled_out(getattr(node, f.name), fresh) for f in fields(node)}
        )
    return node


def _spelled_path(pattern: TriplePattern, fresh: Iterator[int]) -> Pattern:
    s, path, o = pattern.subject, pattern.predicate, pattern.object
    match path:
        case Inverse(inner):
            return _spelled_path(TriplePattern(o, inner, s), fresh)
        case Sequence(left, right):
            middle = Variable(f"between{next(fresh)}")
            return Join(
                _spelled_path(TriplePattern(s, left, middle), fresh),
                _spelled_path(TriplePattern(middle, right, o), fresh),
            )
        case Alternative(left, right):
            return Union(
                _spelled_path(TriplePattern(s, left, o), fresh),
                _spelled_path(TriplePattern(s, right, o), fresh),
            )
        case NegatedSet(forward, backward):
            ways = []
            if forward or not backward:
                ways.append(_other_than(s, forward, o, fresh))
            if backward:
                ways.append(_other_than(o, backward, s, fresh))
            return reduce(Union, ways)
    return BGP((pattern,))


def _other_than(s: Any, names: tuple[IRI, ...], o: Any, fresh: Iterator[int]) -> Pattern:
    step = Variable(f"between{next(fresh)}")
    block = BGP((TriplePattern(s, step, o),))
    return Filter(Not(In(step, names)), block) if names else block


def _quad(triple: Triple, graph: IRI | None) -> ox.Quad:
    s, p, o = triple
    name = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
    return ox.Quad(subject_to_oxigraph(s), ox.NamedNode(p), to_oxigraph(o), name)


def values(rows: Iterable[tuple[Term | None, ...]]) -> Counter[tuple[Any, ...]]:
    """Rows with numbers for numerals: how a number is written is up to the engine."""
    return Counter(tuple(map(_value, row)) for row in rows)


def _value(term: Term | None) -> Any:
    try:
        found = number(term)
    except TermError:
        return term
    if isinstance(found, float):
        return ("number", round(found, 9))
    return term if found is None else ("number", round(float(Fraction(found)), 9))


def subtract(weights: Mapping[Any, int]) -> dict[Any, int]:
    """Without what has come to nothing."""
    return {key: count for key, count in weights.items() if count}
