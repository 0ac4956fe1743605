"""Property paths as relations of pairs (SPARQL 1.1, section 18.4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from sensorstream.model.terms import IRI, Term
from sensorstream.sparql.algebra import (
    Alternative,
    Inverse,
    NegatedSet,
    OneOrMore,
    Path,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from sensorstream.sql.sparql.fragments import constant, named, sql, table
from sensorstream.sql.sparql.relations import Names, from_, selected, where
from sensorstream.sql.sparql.scope import Id

_ENDS: Final = ("subject", "object")


@dataclass(frozen=True, slots=True)
class Paths:
    """Makes the pairs that paths connect in one graph.

    ``ids`` are the ids of constants; ``beside`` tells whether the middle of a path may be taken
    from the table before it (LATERAL).
    """

    graph: exp.Select
    names: Names
    ids: dict[Term, Id]
    beside: bool = True

    def pairs(
        self, path: Path, subject: exp.Expr | None = None, object_: exp.Expr | None = None
    ) -> exp.Select:
        """The pairs of a path, as often as the path connects them.

        ``subject`` and ``object_`` are the ids of known ends: only pairs with them are given.
        """
        match path:
            case IRI():
                return self._step([self._is(path)], subject, object_)
            case Inverse(inner):
                return self._turned(self.pairs(inner, object_, subject))
            case Sequence(left, right):
                return self._sequence(left, right, subject, object_)
            case Alternative(left, right):
                return self._union(
                    [self.pairs(left, subject, object_), self.pairs(right, subject, object_)]
                )
            case NegatedSet(forward, backward):
                ways = []
                if forward or not backward:
                    ways.append(self._step(self._none_of(forward), subject, object_))
                if backward:
                    ways.append(self._turned(self._step(self._none_of(backward), object_, subject)))
                return ways[0] if len(ways) == 1 else self._union(ways)
            case ZeroOrOne(inner):
                once = self.pairs(inner, subject, object_)
                return self._union([self._same(subject, object_), once], distinct=True)
            case OneOrMore(inner):
                return self._closure(inner, subject, object_)
            case ZeroOrMore(inner):
                more = self._closure(inner, subject, object_)
                return self._union([self._same(subject, object_), more], distinct=True)
        raise AssertionError(path)

    def _is(self, name: IRI) -> exp.Expr:
        return sql(":a = :b", a=exp.column("predicate", "g"), b=self._id(name))

    def _none_of(self, names: Iterable[IRI]) -> list[exp.Expr]:
        known = [constant(self.ids[each]) for each in names if each in self.ids]
        if not known:
            return []
        return [exp.Not(this=exp.In(this=exp.column("predicate", "g"), expressions=known))]

    def _id(self, term: Term) -> exp.Expr:
        id_ = self.ids.get(term)
        return exp.cast(exp.null(), "BIGINT") if id_ is None else constant(id_)

    def _step(
        self, conditions: list[exp.Expr], subject: exp.Expr | None, object_: exp.Expr | None
    ) -> exp.Select:
        """One triple; a triple connects its ends once, however many rows say it."""
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
        return self._over(tree, _ENDS)

    def _graph(self) -> exp.Subquery:
        return table(self.graph.copy(), "g")

    def _over(self, tree: exp.Expr, columns: tuple[str, str]) -> exp.Select:
        alias = self.names.fresh("p")
        ends = [
            named(exp.column(column, alias), end)
            for column, end in zip(columns, _ENDS, strict=True)
        ]
        return from_(selected(ends), table(tree, alias))

    def _turned(self, tree: exp.Select) -> exp.Select:
        return self._over(tree, ("object", "subject"))

    def _union(self, ways: list[exp.Select], *, distinct: bool = False) -> exp.Select:
        made: exp.Query = ways[0]
        for each in ways[1:]:
            made = exp.Union(this=made, expression=each, distinct=distinct)
        return self._over(made, ("subject", "object"))

    def _sequence(
        self, left: Path, right: Path, subject: exp.Expr | None, object_: exp.Expr | None
    ) -> exp.Select:
        one, other = self.names.fresh("p"), self.names.fresh("p")
        tree = selected([exp.column("subject", one), exp.column("object", other)])
        if subject is None and object_ is not None:
            # From the end that is known.
            first = table(self.pairs(right, None, object_), other)
            second = table(self.pairs(left, None, self._beside("subject", other)), one)
        else:
            first = table(self.pairs(left, subject, None), one)
            middle = None if subject is None else self._beside("object", one)
            second = table(self.pairs(right, middle, object_), other)
        known = self.beside and (subject is not None or object_ is not None)
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
        found, step = self.names.fresh("p"), self.names.fresh("p")
        backward = subject is None and object_ is not None
        far = "subject" if backward else "object"
        start = object_ if backward else subject
        first = self._over(
            self.pairs(inner, *((None, start) if backward else (start, None))), _ENDS
        )
        here = self._beside(far, found)
        following = self.pairs(inner, *((None, here) if backward else (here, None)))
        more = selected(
            [named(exp.column(end, step if end == far else found), end) for end in _ENDS]
        )
        from_(more, exp.to_table(found))
        more.append("joins", self._next(table(following, step), found, step, far))
        recursive = exp.CTE(
            this=exp.Union(this=first, expression=more, distinct=True),
            alias=exp.TableAlias(
                this=exp.to_identifier(found), columns=[exp.to_identifier(end) for end in _ENDS]
            ),
        )
        tree = from_(selected(exp.column(end, found) for end in _ENDS), exp.to_table(found))
        tree.set("with_", exp.With(expressions=[recursive], recursive=True))
        if subject is not None and object_ is not None:
            where(tree, sql(":a = :b", a=exp.column("object", found), b=object_))
        return self._over(tree, _ENDS)

    def _beside(self, column: str, alias: str) -> exp.Expr | None:
        return exp.column(column, alias) if self.beside else None

    def _next(self, following: exp.Subquery, found: str, step: str, far: str) -> exp.Join:
        """The join of what was found with the steps that follow it."""
        if self.beside:
            return exp.Join(this=exp.Lateral(this=following), kind="CROSS")
        near = "object" if far == "subject" else "subject"
        on = sql(":a = :b", a=exp.column(near, step), b=exp.column(far, found))
        return exp.Join(this=following, on=on)
