"""Property paths as relations of pairs (SPARQL 1.1, section 18.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sqlglot import exp

from sensorstream.model import xsd
from sensorstream.model.frozen import frozen
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.xsd import RDF_LANG_STRING
from sensorstream.sparql import algebra
from sensorstream.sparql.algebra import Expression, Path, PatternTerm, TriplePattern, Variable
from sensorstream.sparql.values import number
from sensorstream.sql.sparql.solution_relations import (
    Compiler,
    Layout,
    NumberBound,
    OneOf,
    PatternPlace,
    SolutionSelect,
    from_,
    join,
    own_columns,
    selected,
    settled,
    unit,
    where,
)
from sensorstream.sql.sql_fragments import any_of, constant, named, sql, table, titled, united

_ENDS: Final = ("subject", "object")


@frozen
class Paths:
    """Makes the pairs that paths connect in one graph."""

    graph: exp.Select
    compiler: Compiler

    def pairs(
        self, path: Path, subject: exp.Expr | None = None, object_: exp.Expr | None = None
    ) -> exp.Select:
        """The pairs of a path, as often as it connects them; the ids of ends restrict them."""
        match path:
            case IRI():
                is_it = sql(":a = :b", a=exp.column("predicate", "g"), b=_id(self.compiler, path))
                return self._step([is_it], subject, object_)
            case algebra.Inverse(inner):
                return self._turned(self.pairs(inner, object_, subject))
            case algebra.Sequence(left, right):
                return self._sequence(left, right, subject, object_)
            case algebra.Alternative(left, right):
                return self._union(
                    [self.pairs(left, subject, object_), self.pairs(right, subject, object_)]
                )
            case algebra.NegatedSet(forward, backward):
                ways = []
                if forward or not backward:
                    ways.append(self._step(self._none_of(forward), subject, object_))
                if backward:
                    ways.append(self._turned(self._step(self._none_of(backward), object_, subject)))
                return ways[0] if len(ways) == 1 else self._union(ways)
            case algebra.ZeroOrOne(inner):
                once = self.pairs(inner, subject, object_)
                return self._union([self._same(subject, object_), once], distinct=True)
            case algebra.OneOrMore(inner):
                return self._closure(inner, subject, object_)
            case algebra.ZeroOrMore(inner):
                more = self._closure(inner, subject, object_)
                return self._union([self._same(subject, object_), more], distinct=True)
        raise AssertionError(path)

    def _none_of(self, names: Iterable[IRI]) -> list[exp.Expr]:
        known = [_id(self.compiler, each) for each in names if each in self.compiler.ids]
        if not known:
            return []
        return [exp.Not(this=exp.In(this=exp.column("predicate", "g"), expressions=known))]

    def _step(
        self, conditions: list[exp.Expr], subject: exp.Expr | None, object_: exp.Expr | None
    ) -> exp.Select:
        """The pairs that one triple connects, each once, however many rows hold the triple."""
        # A pair may be connected by several predicates.
        columns = [exp.column(name, "g") for name in (*_ENDS, "predicate")]
        given = [
            sql(":a = :b", a=exp.column(end, "g"), b=each)
            for end, each in zip(_ENDS, (subject, object_), strict=True)
            if each is not None
        ]
        tree = from_(selected(columns), self._graph())
        where(tree, *conditions, *given)
        tree.set("distinct", exp.Distinct())
        return self._over(tree)

    def _fresh(self) -> str:
        return self.compiler.names.fresh("p")

    def _graph(self) -> exp.Subquery:
        return table(self.graph.copy(), "g")

    def _over(self, tree: exp.Expr, columns: tuple[str, str] = _ENDS) -> exp.Select:
        alias = self._fresh()
        ends = [
            named(exp.column(column, alias), end)
            for column, end in zip(columns, _ENDS, strict=True)
        ]
        return from_(selected(ends), table(tree, alias))

    def _turned(self, tree: exp.Select) -> exp.Select:
        return self._over(tree, ("object", "subject"))

    def _union(self, ways: list[exp.Select], *, distinct: bool = False) -> exp.Select:
        return self._over(united(ways, distinct=distinct))

    def _sequence(
        self, left: Path, right: Path, subject: exp.Expr | None, object_: exp.Expr | None
    ) -> exp.Select:
        one, other = self._fresh(), self._fresh()
        tree = selected([exp.column("subject", one), exp.column("object", other)])
        if subject is None and object_ is not None:
            # It begins at the end that is known.
            first = table(self.pairs(right, None, object_), other)
            second = table(self.pairs(left, None, self._beside("subject", other)), one)
        else:
            first = table(self.pairs(left, subject, None), one)
            middle = None if subject is None else self._beside("object", one)
            second = table(self.pairs(right, middle, object_), other)
        known = self.compiler.beside and (subject is not None or object_ is not None)
        on = sql(":a = :b", a=exp.column("object", one), b=exp.column("subject", other))
        from_(tree, first)
        tree.append("joins", exp.Join(this=exp.Lateral(this=second) if known else second, on=on))
        return tree

    def _same(self, subject: exp.Expr | None, object_: exp.Expr | None) -> exp.Select:
        """The paths of length zero: at the ends that are known, or at each node of the graph."""
        known = subject if subject is not None else object_
        if known is not None:
            tree = selected(named(known.copy(), end) for end in _ENDS)
            if subject is not None and object_ is not None:
                where(tree, sql(":a = :b", a=subject, b=object_))
            return tree
        halves = [
            from_(selected([named(exp.column(end, "g"), "node")]), self._graph()) for end in _ENDS
        ]
        nodes = exp.Union(this=halves[0], expression=halves[1], distinct=True)
        return self._over(nodes, ("node", "node"))

    def _closure(
        self, inner: Path, subject: exp.Expr | None, object_: exp.Expr | None
    ) -> exp.Select:
        """The pairs that one or more steps connect; UNION keeps a cycle from turning for ever."""
        found, step = self._fresh(), self._fresh()
        backward = subject is None and object_ is not None
        far = "subject" if backward else "object"
        start = object_ if backward else subject
        first = self._over(self.pairs(inner, *((None, start) if backward else (start, None))))
        here = self._beside(far, found)
        following = self.pairs(inner, *((None, here) if backward else (here, None)))
        more = selected(
            [named(exp.column(end, step if end == far else found), end) for end in _ENDS]
        )
        from_(more, exp.to_table(found))
        more.append("joins", self._next(table(following, step), found, step, far))
        both = united([first, more], distinct=True)
        recursive = exp.CTE(this=both, alias=titled(found, _ENDS))
        tree = from_(selected(exp.column(end, found) for end in _ENDS), exp.to_table(found))
        tree.set("with_", exp.With(expressions=[recursive], recursive=True))
        if subject is not None and object_ is not None:
            where(tree, sql(":a = :b", a=exp.column("object", found), b=object_))
        return self._over(tree)

    def _beside(self, column: str, alias: str) -> exp.Expr | None:
        return exp.column(column, alias) if self.compiler.beside else None

    def _next(self, following: exp.Subquery, found: str, step: str, far: str) -> exp.Join:
        """The join of what was found with the steps that follow it."""
        if self.compiler.beside:
            return exp.Join(this=exp.Lateral(this=following), kind="CROSS")
        near = "object" if far == "subject" else "subject"
        on = sql(":a = :b", a=exp.column(near, step), b=exp.column(far, found))
        return exp.Join(this=following, on=on)


_COLUMNS: Final = ("subject", "predicate", "object")
_Triple = tuple[PatternTerm, "Variable | Path", PatternTerm]


def bound(condition: Expression) -> NumberBound | OneOf | None:
    """The bound that a condition puts on a variable, for an index to answer.

    A bound on numbers is a little wider: rounding loses the difference of < and <=.
    """
    match condition:
        case algebra.Comparison("=", Variable(name), (IRI() | Literal()) as term) if _is_plain(
            term
        ):
            return OneOf(name, (term,))
        case algebra.In(Variable(name), choices) if all(map(_is_plain, choices)):
            return OneOf(name, tuple(each for each in choices if isinstance(each, IRI | Literal)))
        case algebra.Comparison(
            "=" | "<" | ">" | "<=" | ">=" as operator, Variable(name), Literal() as term
        ):
            value = number(term)
            if value is None:
                return None
            try:
                double = float(value)
            except OverflowError:
                return None
            loose = {"<": "<=", ">": ">="}.get(operator, operator)
            return NumberBound(name, loose, double) if double - double == 0 else None
    return None


def _is_plain(term: object) -> bool:
    """Whether nothing but the same term is equal to a term: an IRI or a string."""
    return isinstance(term, IRI) or (
        isinstance(term, Literal) and term.datatype in (xsd.STRING, RDF_LANG_STRING)
    )


def block(
    compiler: Compiler, patterns: Iterable[TriplePattern], place: PatternPlace
) -> SolutionSelect:
    """The solutions of a block.

    Rows of the same triple differ in their times only, so the solutions of plain triples are the
    distinct rows of their join.
    """
    triples, paths = _parted(compiler, patterns)
    found = _joined(compiler, triples, place) if triples else unit()
    for each in paths:
        found = _with_path(compiler, found, each, place)
    return found


def _parted(
    compiler: Compiler, patterns: Iterable[TriplePattern]
) -> tuple[list[_Triple], list[_Triple]]:
    """Plain triples, and those with a path that is no triple or sequence of triples."""
    triples: list[_Triple] = []
    paths: list[_Triple] = []

    def add(subject: PatternTerm, path: Variable | Path, object_: PatternTerm) -> None:
        match path:
            case IRI() | Variable():
                triples.append((subject, path, object_))
            case algebra.Inverse(inner):
                add(object_, inner, subject)
            case algebra.Sequence(left, right):
                between = Variable(compiler.names.fresh("."))
                add(subject, left, between)
                add(between, right, object_)
            case _:
                paths.append((subject, path, object_))

    for each in patterns:
        add(_end(each.subject), each.predicate, _end(each.object))
    return triples, paths


def _end(term: PatternTerm) -> PatternTerm:
    return Variable(str(term)) if isinstance(term, BlankNode) else term


def _joined(compiler: Compiler, triples: Sequence[_Triple], place: PatternPlace) -> SolutionSelect:
    columns: dict[str, exp.Expr] = {}
    conditions: list[exp.Expr] = []
    tables: list[exp.Expr] = []
    keys: dict[str, exp.Expr] = {}
    # Unknown constants make the block empty.
    for triple in dict.fromkeys(triples):
        alias = compiler.names.fresh("g")
        tables.append(table(place.graph.copy(), alias))
        for end, part in zip(triple, _COLUMNS, strict=True):
            column = exp.column(part, alias)
            if isinstance(end, Variable):
                if end.name in columns:
                    conditions.append(sql(":a = :b", a=column, b=columns[end.name]))
                    continue
                columns[end.name] = column
                conditions += _substituted(column, end.name, place)
                conditions += _bounded(compiler, column, end.name, place.bounds)
                if part == "object" and any(
                    isinstance(each, NumberBound) and each.name == end.name for each in place.bounds
                ):
                    # An index on numbers answers a condition on it.
                    keys[compiler.names.fresh("n")] = exp.column("number", alias)
            else:
                assert isinstance(end, IRI | Literal)
                conditions.append(sql(":a = :b", a=column, b=_id(compiler, end)))
    layouts = {name: Layout(compiler.names.column(name), True, False, True) for name in columns}
    own = [named(each, layouts[name].column) for name, each in columns.items()]
    own += [named(each, name) for name, each in keys.items()]
    tree = from_(selected(own), *tables)
    where(tree, *conditions)
    return SolutionSelect(tree, layouts, unique=True, pending=True, keys=tuple(keys))


def _id(compiler: Compiler, term: Term) -> exp.Expr:
    id_ = compiler.ids.get(term)
    return exp.cast(exp.null(), "BIGINT") if id_ is None else constant(id_)


def _substituted(column: exp.Expr, name: str, place: PatternPlace) -> list[exp.Expr]:
    """The value that a variable has in the row around an EXISTS."""
    if place.outer is None or not place.substituted:
        return []
    id_ = place.outer.id(name)
    if id_ is None:
        return []
    same = sql(":a = :b", a=column, b=id_)
    if place.outer.is_certain(name):
        return [same]
    return [any_of(same, sql(":id IS NULL", id=id_))]


def _bounded(
    compiler: Compiler, column: exp.Column, name: str, bounds: Iterable[NumberBound | OneOf]
) -> list[exp.Expr]:
    """Conditions that an index answers; the filters decide exactly."""
    found: list[exp.Expr] = []
    for each in bounds:
        if each.name != name:
            continue
        if isinstance(each, OneOf):
            ids = [_id(compiler, term) for term in each.terms]
            found.append(exp.In(this=column.copy(), expressions=ids) if ids else exp.false())
        elif column.name == "object":
            found.append(
                sql(
                    f":number {each.operator} CAST(:value AS DOUBLE PRECISION)",
                    number=exp.column("number", column.table),
                    value=repr(each.number),
                )
            )
    return found


def _with_path(
    compiler: Compiler, below: SolutionSelect, triple: _Triple, place: PatternPlace
) -> SolutionSelect:
    """The relation with the pairs that a path connects, from the ends that are known."""
    if not place.once:
        below = settled(below, compiler.names)
    subject, path, object_ = triple
    assert not isinstance(path, Variable)
    alias, other = compiler.names.fresh("r"), compiler.names.fresh("r")
    known = [_known(compiler, end, below, alias, place) for end in (subject, object_)]
    paths = Paths(place.graph, compiler)
    pairs: exp.Expr = table(paths.pairs(path, *known), other)
    if compiler.beside:
        pairs = exp.Lateral(this=pairs)
    layouts = dict(below.layouts)
    columns, conditions = own_columns(below, alias), []
    fresh: dict[str, exp.Expr] = {}
    for end, part in ((subject, "subject"), (object_, "object")):
        column = exp.column(part, other)
        if not isinstance(end, Variable):
            conditions.append(sql(":a = :b", a=column, b=_id(compiler, end)))
        elif end.name in fresh:
            conditions.append(sql(":a = :b", a=column, b=fresh[end.name]))
        elif end.name in below.layouts:
            conditions.append(sql(":a = :b", a=column, b=below.layouts[end.name].id_in(alias)))
        else:
            fresh[end.name] = column
            layouts[end.name] = Layout(compiler.names.column(end.name), True, False, True)
            columns.append(named(column, layouts[end.name].column))
    tree = from_(selected(columns), below.under(alias))
    tree.append("joins", join(pairs, exp.and_(*conditions) if conditions else exp.true()))
    return SolutionSelect(tree, layouts, pending=below.pending)


def _known(
    compiler: Compiler, end: PatternTerm, below: SolutionSelect, alias: str, place: PatternPlace
) -> exp.Expr | None:
    if not isinstance(end, Variable):
        return _id(compiler, end)
    if not compiler.beside:
        return None
    if end.name in below.layouts:
        return below.layouts[end.name].id_in(alias)
    if place.outer is not None and place.outer.is_certain(end.name):
        return place.outer.id(end.name)
    return None
