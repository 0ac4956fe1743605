"""A query's tree for PostgreSQL as Spark's SQL over temporary views.

The expressions are those of :mod:`.expressions`. What else differs: the tables of the history are
views, each of the rows that the query needs; and a recursive query becomes a :class:`Closure`,
which is computed before, because Spark's own cannot end where there are cycles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from sensorstream.errors import UnsupportedQuery
from sensorstream.history.sparql.scope import TOO_DEEP
from sensorstream.spark.sparql import numbers
from sensorstream.spark.sparql.expressions import Expressions
from sensorstream.spark.sparql.typed import Columns, Kind, Typed, alike, call, refused

STORE: Final = "store"
_TABLES: Final[Mapping[str, Columns]] = {
    "statements": {
        "subject": Kind.INTEGER,
        "predicate": Kind.INTEGER,
        "object": Kind.INTEGER,
        "number": Kind.DOUBLE,
        "valid_from": Kind.INTEGER,
        "valid_to": Kind.INTEGER,
        "inferred": Kind.BOOLEAN,
    },
    "terms": {
        "id": Kind.INTEGER,
        "kind": Kind.INTEGER,
        "text": Kind.TEXT,
        "datatype": Kind.TEXT,
        "language": Kind.TEXT,
        "number": Kind.NUMBER,
        "moment": Kind.MOMENT,
    },
}
Equals = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Source:
    """Rows of a table of the history as a temporary view.

    ``equals`` are columns and values that they must have, ``uses`` how often the query reads them.
    """

    table: str
    name: str
    equals: Equals
    columns: set[str] = field(default_factory=set)
    uses: int = 0


@dataclass(frozen=True, slots=True)
class Closure:
    """The least set of rows that has those of ``first`` and, with some rows, those that ``more``
    gives for them. ``more`` reads the view ``name``.
    """

    name: str
    columns: tuple[str, ...]
    first: str
    more: str


@dataclass(frozen=True, slots=True)
class SparkQuery:
    """A query for Spark, and the views that it reads; each closure may read those before it."""

    text: str
    sources: tuple[Source, ...]
    closures: tuple[Closure, ...]


def spark_query(tree: exp.Select, *, pretty: bool = False) -> SparkQuery:
    """The query for Spark.

    Raises:
        UnsupportedQuery: a part of it cannot be said in Spark's SQL, or it is nested too deeply.
    """
    made = _Queries(pretty)
    try:
        text = made.text(made.query(tree, None)[0])
    except RecursionError:
        raise UnsupportedQuery(TOO_DEEP) from None
    return SparkQuery(text, tuple(made.sources.values()), tuple(made.closures))


@dataclass(slots=True)
class _Scope:
    """The columns that an expression can name: of tables by alias, and those of queries around."""

    outer: _Scope | None
    tables: dict[str, Columns] = field(default_factory=dict)
    named: dict[str, Columns] = field(default_factory=dict)

    def kind(self, column: exp.Column) -> Kind:
        if not column.table:
            return next(e[column.name] for e in self.tables.values() if column.name in e)
        if column.table in self.tables:
            return self.tables[column.table][column.name]
        if self.outer is None:
            raise refused(column)
        return self.outer.kind(column)

    def query(self, name: str) -> Columns | None:
        """The columns of a WITH query."""
        if name in self.named:
            return self.named[name]
        return None if self.outer is None else self.outer.query(name)


class _Queries:
    """Translates one query, and gathers what it reads."""

    def __init__(self, pretty: bool) -> None:
        self._pretty = pretty
        self.sources: dict[tuple[str, Equals], Source] = {}
        self.closures: list[Closure] = []

    def text(self, tree: exp.Expr) -> str:
        return tree.sql("spark", identify=True, copy=False, pretty=self._pretty)

    def query(
        self, tree: exp.Expr, outer: _Scope | None, equals: Equals = ()
    ) -> tuple[exp.Expr, Columns]:
        """A SELECT or UNION with its columns."""
        if isinstance(tree, exp.Union):
            return self._union(tree, outer)
        if isinstance(tree, exp.Subquery) and not tree.alias:
            return self.query(tree.this, outer)
        if not isinstance(tree, exp.Select):
            raise refused(tree)
        return self._select(tree, outer, equals)

    def _union(self, tree: exp.Union, outer: _Scope | None) -> tuple[exp.Expr, Columns]:
        left, columns = self.query(tree.this, outer)
        right, others = self.query(tree.expression, outer)
        kinds = zip(columns.items(), others.values(), strict=True)
        found = {name: other if kind is Kind.NULL else kind for (name, kind), other in kinds}
        distinct = bool(tree.args.get("distinct"))
        return exp.Union(this=left, expression=right, distinct=distinct), found

    def _select(
        self, tree: exp.Select, outer: _Scope | None, equals: Equals
    ) -> tuple[exp.Expr, Columns]:
        scope, made = _Scope(outer), exp.Select()
        expressions = Expressions(scope.kind, lambda query: self.query(query, scope)[0])
        if tree.args.get("with_"):
            queries = list(self._with(tree.args["with_"], scope))
            if queries:
                made.set("with_", exp.With(expressions=queries))
        fixed = dict(_fixed(tree))
        if tree.args.get("from_"):
            source = self._relation(tree.args["from_"].this, tree, scope, fixed, equals)
            made.set("from_", exp.From(this=source))
        for each in tree.args.get("joins") or ():
            joined = self._relation(each.this, tree, scope, fixed, ())
            on = each.args.get("on")
            made.append(
                "joins",
                exp.Join(
                    this=joined,
                    on=None if on is None else expressions.tree(on),
                    side=each.side or None,
                    kind=each.kind or None,
                ),
            )
        for part in ("where", "having"):
            if tree.args.get(part):
                test = expressions.tree(tree.args[part].this)
                made.set(part, type(tree.args[part])(this=test))
        columns: dict[str, Kind] = {}
        for each in tree.expressions:
            found = expressions.typed(each.unalias())
            columns[each.alias_or_name] = found.kind
            made.append(
                "expressions",
                exp.Alias(this=found.tree, alias=exp.to_identifier(each.alias_or_name)),
            )
        if tree.args.get("group"):
            keys = [expressions.tree(each) for each in tree.args["group"].expressions]
            made.set("group", exp.Group(expressions=keys))
        if tree.args.get("order"):
            order = [
                exp.Ordered(
                    this=expressions.tree(each.this),
                    desc=each.args.get("desc"),
                    nulls_first=each.args.get("nulls_first"),
                )
                for each in tree.args["order"].expressions
            ]
            made.set("order", exp.Order(expressions=order))
        for part in ("distinct", "limit", "offset"):
            given = tree.args.get(part)
            # OFFSET 0 tells PostgreSQL to compute an expression once.
            if given and not (part == "offset" and given.expression.this == "0"):
                made.set(part, given.copy())
        return made, columns

    def _with(self, tree: exp.With, scope: _Scope) -> Iterator[exp.CTE]:
        for each in tree.expressions:
            union = each.this
            if tree.args.get("recursive") and isinstance(union, exp.Union):
                self._closure(each.alias, union, scope)
                continue
            query, columns = self.query(union, scope)
            scope.named[each.alias] = columns
            yield exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(each.alias)))

    def _closure(self, name: str, union: exp.Union, scope: _Scope) -> None:
        first, columns = self.query(union.this, scope)
        scope.named[name] = columns
        more, _ = self.query(union.expression, scope)
        closure = Closure(name, tuple(columns), self.text(first), self.text(more))
        self.closures.append(closure)

    def _relation(
        self,
        node: exp.Expr,
        select: exp.Select,
        scope: _Scope,
        fixed: Mapping[str, Equals],
        equals: Equals,
    ) -> exp.Expr:
        """A table of FROM; its columns become known to the scope."""
        match node:
            case exp.Table():
                return self._table(node, select, scope, equals)
            case exp.Values():
                return self._values(node, scope)
            case exp.Lateral(this=exp.Subquery() as inner):
                alias, query, columns = inner.alias, *self.query(inner.this, scope)
            case exp.Subquery():
                alias = node.alias
                inner = _Scope(scope.outer, named=scope.named)
                query, columns = self.query(_pruned(node, select), inner, fixed.get(alias, ()))
            case _:
                raise refused(node)
        scope.tables[alias] = columns
        named = exp.TableAlias(this=exp.to_identifier(alias))
        if isinstance(node, exp.Lateral):
            return exp.Lateral(this=exp.Subquery(this=query), alias=named)
        return exp.Subquery(this=query, alias=named)

    def _table(
        self, node: exp.Table, select: exp.Select, scope: _Scope, equals: Equals
    ) -> exp.Expr:
        alias = node.alias or node.name
        if node.db != STORE:
            columns = scope.query(node.name)
            if columns is None:
                raise refused(node)
            scope.tables[alias] = columns
            return exp.to_table(node.name, alias=alias)
        source = self.sources.setdefault(
            (node.name, equals),
            Source(node.name, f"{STORE}_{node.name}_{len(self.sources)}", equals),
        )
        source.uses += 1
        columns = _TABLES[node.name]
        source.columns |= {e.name for e in select.find_all(exp.Column) if e.name in columns}
        scope.tables[alias] = columns
        return exp.to_table(source.name, alias=alias)

    def _values(self, node: exp.Values, scope: _Scope) -> exp.Expr:
        names = [each.name for each in node.args["alias"].columns]
        expressions = Expressions(scope.kind, lambda query: self.query(query, scope)[0])
        rows = [[expressions.typed(e) for e in row.expressions] for row in node.expressions]
        columns = [alike(column) for column in zip(*rows, strict=True)]
        scope.tables[node.alias] = {
            name: kind for name, (_, kind) in zip(names, columns, strict=True)
        }
        made = [
            exp.Tuple(expressions=[each.tree for each in row])
            for row in zip(*(cells for cells, _ in columns), strict=True)
        ]
        return exp.Values(expressions=made, alias=node.args["alias"].copy())


def _fixed(select: exp.Select) -> Iterator[tuple[str, Equals]]:
    """The columns of each table that must have one number, by the table's alias."""
    where = select.args.get("where")
    found: dict[str, dict[str, str]] = {}
    for each in _conjuncts(where.this) if where else ():
        left, right = each.args.get("this"), each.args.get("expression")
        if isinstance(each, exp.EQ) and isinstance(left, exp.Column) and _is_number(right):
            assert right is not None
            found.setdefault(left.table, {})[left.name] = right.sql()
    for alias, columns in found.items():
        yield alias, tuple(sorted(columns.items()))


def _conjuncts(test: exp.Expr) -> Iterator[exp.Expr]:
    test = test.unnest()
    if isinstance(test, exp.And):
        yield from _conjuncts(test.this)
        yield from _conjuncts(test.expression)
    else:
        yield test


def _is_number(tree: exp.Expr | None) -> bool:
    if isinstance(tree, exp.Neg):
        return _is_number(tree.this)
    return isinstance(tree, exp.Literal) and not tree.is_string


def _pruned(subquery: exp.Subquery, select: exp.Select) -> exp.Expr:
    """The query of a subquery; of a table of the history, only the columns that are used."""
    query = subquery.this
    source = query.args.get("from_") if isinstance(query, exp.Select) else None
    if source is None or not isinstance(source.this, exp.Table) or source.this.db != STORE:
        return query
    used = {each.name for each in select.find_all(exp.Column) if each.table == subquery.alias}
    pruned = query.copy()
    kept = [each for each in pruned.expressions if each.alias_or_name in used]
    if kept:
        pruned.set("expressions", kept)
    return pruned


def relation_of(source: Source, raw: str) -> str:
    """The query that gives a source its columns; ``raw`` is the view of what was read."""
    columns = []
    for name in sorted(source.columns):
        column = Typed(exp.column(name), Kind.TEXT)
        if source.table == "terms" and name == "number":
            column = call(numbers.READ, Kind.NUMBER, column)
        elif source.table == "terms" and name == "moment":
            column = call("unix_micros", Kind.MOMENT, column)
        columns.append(exp.Alias(this=column.tree, alias=exp.to_identifier(name)))
    return exp.Select(expressions=columns).from_(raw).sql("spark", identify=True)
