"""A query's tree for PostgreSQL as Spark's SQL over temporary views.

The expressions are those of :mod:`.expressions`. What else differs: the tables of the history are
views, each of the rows that the query needs; and a recursive query becomes a :class:`Closure`,
which is computed before, because Spark's own cannot end where there are cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import count
from typing import Final

from sqlglot import exp

from sensorstream.errors import UnsupportedQuery
from sensorstream.spark.sparql import numbers
from sensorstream.spark.sparql.expressions import Expressions
from sensorstream.spark.sparql.layers import layered
from sensorstream.spark.sparql.parsing import simplify
from sensorstream.spark.sparql.typed import Columns, Kind, alike, call, refused
from sensorstream.sql.sparql.fragments import all_of, named, table
from sensorstream.sql.sparql.relations import from_, join, selected, where
from sensorstream.sql.sparql.scope import TOO_DEEP

STORE: Final = "store"
_STEPS: Final = "steps"
_WAY_OUT: Final = "of the outside: Spark cannot plan it: ask the same with --on history"
_TOO_FAR: Final = (
    f"not on Spark: an EXISTS, or a MINUS, within an EXISTS that mentions a variable {_WAY_OUT}"
)
_OPTIONAL: Final = f"not on Spark: an OPTIONAL within an EXISTS that mentions a variable {_WAY_OUT}"
# Before the names of views, which a session may have of its own as well.
_PREFIX: Final = "sensorstream"
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


@dataclass(frozen=True, slots=True)
class Text:
    """A query of Spark's SQL; ``tables`` are its own names for tables of the history."""

    sql: str
    tables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Closure:
    """The least set of rows that has those of ``first`` and, with some rows, those that ``more``
    gives for them. ``more`` is over the views ``name``, of the rows, and ``steps``.
    """

    name: str
    columns: tuple[str, ...]
    first: Text
    steps: Text
    more: str

    @property
    def steps_name(self) -> str:
        """The view of what does not change from round to round."""
        return f"{self.name}_{_STEPS}"


@dataclass(frozen=True, slots=True)
class SparkQuery:
    """A query for Spark, and the views that it reads; each closure may read those before it."""

    text: Text
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
    return SparkQuery(text, tuple(made.closures))


@dataclass(slots=True)
class _Scope:
    """The columns that an expression can name: of tables by alias, and those of queries around."""

    outer: _Scope | None
    tables: dict[str, Columns] = field(default_factory=dict)
    named: dict[str, Columns] = field(default_factory=dict)
    is_condition: bool = False
    """Whether it is around an EXISTS."""
    is_optional: bool = False
    """Whether it is that of the right side of an outer join."""

    def kind(self, column: exp.Column, *, conditions: int = 0, is_optional: bool = False) -> Kind:
        """``conditions``: of so many EXISTS within the scope the column is asked for;
        ``is_optional``: on the right side of an outer join within these.
        """
        if not column.table:
            for each in self.tables.values():
                if column.name in each:
                    return each[column.name]
            raise refused(column)
        if column.table in self.tables:
            if conditions > 1:
                raise UnsupportedQuery(_TOO_FAR)
            if conditions and is_optional:
                raise UnsupportedQuery(_OPTIONAL)
            return self.tables[column.table][column.name]
        if self.outer is None:
            raise refused(column)
        return self.outer.kind(
            column,
            conditions=conditions + self.is_condition,
            is_optional=is_optional or self.is_optional,
        )

    def query(self, name: str) -> Columns | None:
        """The columns of a WITH query."""
        if name in self.named:
            return self.named[name]
        return None if self.outer is None else self.outer.query(name)


class _Queries:
    """Translates one query, and gathers what it reads."""

    def __init__(self, pretty: bool) -> None:
        self._pretty = pretty
        self._numbers = count(1)
        self._views: dict[str, str] = {}
        self.closures: list[Closure] = []

    def text(self, tree: exp.Expr) -> Text:
        simplify(tree)
        tables = {e.name: e.name.split("_")[1] for e in tree.find_all(exp.Table) if _is_own(e)}
        return Text(tree.sql("spark", identify=True, copy=False, pretty=self._pretty), tables)

    def query(self, tree: exp.Expr, outer: _Scope | None) -> tuple[exp.Expr, Columns]:
        """A SELECT or UNION with its columns."""
        if isinstance(tree, exp.Union):
            return self._union(tree, outer)
        if isinstance(tree, exp.Subquery) and not tree.alias:
            return self.query(tree.this, outer)
        if not isinstance(tree, exp.Select):
            raise refused(tree)
        return self._select(tree, outer)

    def _union(self, tree: exp.Union, outer: _Scope | None) -> tuple[exp.Expr, Columns]:
        left, columns = self.query(tree.this, outer)
        right, others = self.query(tree.expression, outer)
        kinds = zip(columns.items(), others.values(), strict=True)
        found = {name: other if kind is Kind.NULL else kind for (name, kind), other in kinds}
        distinct = bool(tree.args.get("distinct"))
        return exp.Union(this=left, expression=right, distinct=distinct), found

    def _select(self, tree: exp.Select, outer: _Scope | None) -> tuple[exp.Expr, Columns]:
        tree = layered(tree)
        scope, made = _Scope(outer), exp.Select()

        def exists(query: exp.Expr) -> exp.Expr:
            return self.query(query, _Scope(scope, is_condition=True))[0]

        expressions = Expressions(scope.kind, exists)
        optional = Expressions(partial(scope.kind, is_optional=True), exists)
        if tree.args.get("with_"):
            queries = list(self._with(tree.args["with_"], scope))
            if queries:
                made.set("with_", exp.With(expressions=queries))
        if tree.args.get("from_"):
            source = self._relation(tree.args["from_"].this, scope)
            made.set("from_", exp.From(this=source))
        for each in tree.args.get("joins") or ():
            joined = self._relation(each.this, scope, is_optional=bool(each.side))
            on = each.args.get("on")
            made.append(
                "joins",
                exp.Join(
                    this=joined,
                    on=None if on is None else (optional if each.side else expressions).tree(on),
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
            # A key without a table may be one of the query's own columns.
            own = {exp.column(name) for name in columns}
            order = [
                exp.Ordered(
                    this=each.this if each.this in own else expressions.tree(each.this),
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
        fixed, steps = _parted(union.expression, name)
        constant, scope.named[f"{name}_{_STEPS}"] = self.query(fixed, scope)
        for each in (name, f"{name}_{_STEPS}"):
            self._views[each] = f"{_PREFIX}_{each}"
        more, _ = self.query(steps, scope)
        parts = self.text(first), self.text(constant), self.text(more).sql
        self.closures.append(Closure(self._views[name], tuple(columns), *parts))

    def _relation(self, node: exp.Expr, scope: _Scope, *, is_optional: bool = False) -> exp.Expr:
        """A table of FROM; its columns become known to the scope."""
        match node:
            case exp.Table():
                return self._table(node, scope)
            case exp.Values():
                return self._values(node, scope)
            case exp.Lateral(this=exp.Subquery() as lateral):
                query, scope.tables[lateral.alias] = self.query(lateral.this, scope)
                alias = exp.TableAlias(this=exp.to_identifier(lateral.alias))
                return exp.Lateral(this=exp.Subquery(this=query), alias=alias)
            case exp.Subquery():
                inner = _Scope(scope.outer, named=scope.named, is_optional=is_optional)
                query, scope.tables[node.alias] = self.query(node.this, inner)
                alias = exp.TableAlias(this=exp.to_identifier(node.alias))
                return exp.Subquery(this=query, alias=alias)
        raise refused(node)

    def _table(self, node: exp.Table, scope: _Scope) -> exp.Expr:
        alias = node.alias or node.name
        if node.db != STORE:
            columns = scope.query(node.name)
            if columns is None:
                raise refused(node)
            scope.tables[alias] = columns
            return exp.to_table(self._views.get(node.name, node.name), alias=alias)
        scope.tables[alias] = _TABLES[node.name]
        # What is needed of a table is found for each use of it.
        name = f"{_PREFIX}_{node.name}_{next(self._numbers)}"
        if node.name != "terms":
            return exp.to_table(name, alias=alias)
        terms = [
            exp.Alias(this=_TERM.get(each, exp.column)(each), alias=exp.to_identifier(each))
            for each in _TABLES["terms"]
        ]
        return exp.Subquery(
            this=exp.Select(expressions=terms).from_(name),
            alias=exp.TableAlias(this=exp.to_identifier(alias)),
        )

    def _values(self, node: exp.Values, scope: _Scope) -> exp.Expr:
        names = [each.name for each in node.args["alias"].columns]
        expressions = Expressions(scope.kind, lambda query: self.query(query, scope)[0])
        rows = [[expressions.typed(e) for e in row.expressions] for row in node.expressions]
        columns = [alike(column) for column in zip(*rows, strict=True)]
        scope.tables[node.alias] = {
            name: kind for name, (_, kind) in zip(names, columns, strict=True)
        }
        cells = zip(*(column for column, _ in columns), strict=True)
        made = [[cell.tree for cell in row] for row in cells]
        if any(each.find(exp.Anonymous) for row in made for each in row):
            # Spark calls no functions in VALUES.
            selects: list[exp.Expr] = [
                selected(named(cell, name) for cell, name in zip(row, names, strict=True))
                for row in made
            ]
            return table(reduce(_both, selects), node.alias)
        tuples = [exp.Tuple(expressions=row) for row in made]
        return exp.Values(expressions=tuples, alias=node.args["alias"].copy())


def _both(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Union(this=one, expression=other, distinct=False)


def _number(name: str) -> exp.Expr:
    return call(numbers.READ, Kind.NUMBER, exp.column(name)).tree


def _moment(name: str) -> exp.Expr:
    return call("unix_micros", Kind.MOMENT, exp.column(name)).tree


_TERM: Final[Mapping[str, Callable[[str], exp.Expr]]] = {"number": _number, "moment": _moment}
"""The columns of terms that are read in another form."""


def _is_own(table: exp.Table) -> bool:
    prefix, _, rest = table.name.partition("_")
    return prefix == _PREFIX and rest.partition("_")[0] in _TABLES


def _parted(step: exp.Expr, name: str) -> tuple[exp.Select, exp.Select]:
    """A step of a closure as what does not change, and its join with the rows that were found.

    The first has the tables beside the rows with the conditions among them, the second the rest.
    """
    assert isinstance(step, exp.Select)
    rows = step.args["from_"].this
    if not isinstance(rows, exp.Table) or rows.name != name:
        raise refused(step)
    alias = rows.alias or rows.name
    tables: list[exp.Expr] = []
    within: list[exp.Expr] = []
    across: list[exp.Expr] = []
    for each in step.args.get("joins") or ():
        tables.append(each.this)
        for test in _conjuncts(each.args["on"]) if each.args.get("on") else ():
            own = all(column.table != alias for column in test.find_all(exp.Column))
            (within if own else across).append(test)
    columns = {
        f"{c.table}_{c.name}": c
        for part in (*step.expressions, *across)
        for c in part.find_all(exp.Column)
        if c.table != alias
    }
    fixed = from_(selected(named(each, each_name) for each_name, each in columns.items()), *tables)
    where(fixed, *within)
    steps = f"{name}_{_STEPS}"

    def outside(tree: exp.Expr) -> exp.Expr:
        made = exp.Paren(this=tree.unalias().copy())
        for column in list(made.find_all(exp.Column)):
            if column.table != alias:
                column.replace(exp.column(f"{column.table}_{column.name}", steps))
        return made

    results = (named(outside(each), each.alias_or_name) for each in step.expressions)
    more = from_(selected(results), rows.copy())
    more.append("joins", join(exp.to_table(steps), all_of(*map(outside, across))))
    return fixed.copy(), more


def _conjuncts(test: exp.Expr) -> Iterator[exp.Expr]:
    test = test.unnest()
    if isinstance(test, exp.And):
        yield from _conjuncts(test.this)
        yield from _conjuncts(test.expression)
    else:
        yield test
