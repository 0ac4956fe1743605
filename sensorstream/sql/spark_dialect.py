"""A query's tree as Spark's SQL over temporary views.

The expressions are those of :mod:`.dialects`. The tables of the history are views with the rows
that the query needs. A recursive query becomes a :class:`RecursiveRows`, which is computed before,
because Spark's own cannot end where there are cycles. Some named expressions are columns of tables
below, where Spark allows no query beside a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import count
from typing import Final

from sqlglot import exp

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.frozen import frozen
from sensorstream.sql.dialect_writer import refused, rewrite
from sensorstream.sql.dialects import SPARK, TABLES
from sensorstream.sql.row_bindings import inline_values, let_below, let_of
from sensorstream.sql.sparql.compiled_query import TOO_DEEP
from sensorstream.sql.sparql.solution_relations import from_, join, selected, where
from sensorstream.sql.sql_fragments import all_of, made, named, table, united

_BRANCHES: Final = 6
"""The most branches of a CASE that are written by IF within IF."""
_AROUND: Final = (exp.Alias, exp.Case, exp.Having, exp.If, exp.Or, exp.Paren, exp.Where)
"""Within these an expression needs no parentheses, whatever it is."""
_ATOMS: Final = (exp.Boolean, exp.Column, exp.Func, exp.Literal, exp.Null)


def simplify(tree: exp.Expr) -> None:
    """Leave out parentheses that say nothing, and write CASE as IF; the meaning stays.

    Spark's parser tries every reading of each, again and again within others: 90 kB of OR and AND
    within each other took it 32 s of a processor, and take it 0.3 s.
    """
    for node in reversed(list(tree.find_all(exp.Paren, exp.Case))):
        if isinstance(node, exp.Paren):
            if _is_needless(node):
                node.replace(node.this)
        elif node.this is None and len(node.args["ifs"]) <= _BRANCHES:
            otherwise = node.args.get("default") or exp.Null()
            node.replace(reduce(_either, reversed(node.args["ifs"]), otherwise))


def _is_needless(paren: exp.Paren) -> bool:
    inner, around = paren.this, paren.parent
    if isinstance(inner, exp.Query):
        return False
    if isinstance(inner, _ATOMS) and not isinstance(inner, exp.Binary):
        return True
    return isinstance(around, _AROUND) or (
        isinstance(around, exp.And) and not isinstance(inner, exp.Or)
    )


def _either(otherwise: exp.Expr, branch: exp.If) -> exp.Expr:
    return exp.If(this=branch.this, true=branch.args["true"], false=otherwise)


_STEPS: Final = "steps"
# A prefix for names of views, since a session may have views of its own.
_PREFIX: Final = "sensorstream"
_READERS: Final = {"number": "sensorstream_number", "moment": "unix_micros"}
"""Columns of terms that are read in another form."""
_ALONE: Final = (exp.Exists, exp.Rand, exp.Uuid)
"""Spark allows them in no LATERAL: what asks, and what is another value each time."""


@frozen
class SparkText:
    """A query of Spark's SQL; ``tables`` are its own names for tables of the history."""

    sql: str
    tables: Mapping[str, str]


@frozen
class RecursiveRows:
    """The least set with the rows of ``first`` and those that ``more`` gives for rows of the set.

    ``more`` reads the view ``name``, which has these rows, and the view ``steps``.
    """

    name: str
    columns: tuple[str, ...]
    first: SparkText
    steps: SparkText
    more: str

    @property
    def steps_name(self) -> str:
        """The name of the view of the rows that do not change from round to round."""
        return f"{self.name}_{_STEPS}"


@frozen
class SparkQuery:
    """A query for Spark, and the views that it reads; each closure may read those before it."""

    text: SparkText
    closures: tuple[RecursiveRows, ...]


def spark_query(tree: exp.Select, *, pretty: bool = False) -> SparkQuery:
    """Translate a compiled query's tree for Spark.

    Raises:
        UnsupportedQuery: a part of it cannot be said in Spark's SQL, or it is nested too deeply.
    """
    try:
        tree = tree.copy()
        rewrite(tree, SPARK)
        return _query(tree, pretty)
    except RecursionError:
        raise UnsupportedQuery(TOO_DEEP) from None


def _query(tree: exp.Select, pretty: bool) -> SparkQuery:
    whole, numbers = exp.Subquery(this=tree), count(1)
    inline_values(reversed(list(tree.find_all(exp.Subquery))))
    for select in reversed(list(tree.find_all(exp.Select))):
        offset = select.args.get("offset")
        # OFFSET 0 makes PostgreSQL compute an expression once.
        if offset is not None and offset.expression.this == "0":
            offset.pop()
        # The tree gives a name to an expression by CROSS JOIN LATERAL (SELECT … AS name).
        joins = select.args.get("joins") or ()
        if any(let_of(each.this) and each.find(*_ALONE) for each in joins):
            let_below(select, numbers, spark=True)
    for values in list(whole.find_all(exp.Values)):
        # Spark calls no functions in VALUES.
        if values.find(exp.Anonymous):
            values.replace(_selects(values))
    numbers = count(1)
    for each in list(whole.find_all(exp.Table)):
        if each.db:
            each.replace(_view(each, f"{_PREFIX}_{each.name}_{next(numbers)}"))
    closures = []
    for with_ in reversed(list(whole.find_all(exp.With))):
        if with_.args.get("recursive"):
            closures += [_closure(each, whole, pretty) for each in with_.expressions]
            with_.pop()
    return SparkQuery(_text(whole.this, pretty), tuple(closures))


def _text(tree: exp.Expr, pretty: bool) -> SparkText:
    simplify(tree)
    tables = {e.name: e.name.split("_")[1] for e in tree.find_all(exp.Table) if _is_own(e)}
    return SparkText(tree.sql(SPARK, identify=True, copy=False, pretty=pretty), tables)


def _is_own(table: exp.Table) -> bool:
    prefix, _, rest = table.name.partition("_")
    return prefix == _PREFIX and rest.partition("_")[0] in TABLES


def _view(node: exp.Table, name: str) -> exp.Expr:
    """The view for a use of a table, whose needed columns are found by themselves."""
    alias = node.alias_or_name
    if node.name != "terms":
        return exp.to_table(name, alias=alias)
    columns = [
        named(made(_READERS.get(each, ":a"), SPARK, exp.column(each)), each)
        for each in TABLES["terms"]
    ]
    return table(from_(selected(columns), exp.to_table(name)), alias)


def _selects(values: exp.Values) -> exp.Subquery:
    names = [each.name for each in values.args["alias"].columns]
    rows: list[exp.Expr] = [
        selected(named(cell, name) for cell, name in zip(row.expressions, names, strict=True))
        for row in values.expressions
    ]
    return table(united(rows), values.alias)


# -- closures ---------------------------------------------------------------------------------


def _closure(each: exp.CTE, whole: exp.Expr, pretty: bool) -> RecursiveRows:
    union, name, view = each.this, each.alias, f"{_PREFIX}_{each.alias}"
    for use in list(whole.find_all(exp.Table)):
        if use.name == name and not use.db:
            use.replace(exp.to_table(view, alias=use.alias_or_name))
    steps, more = _parted(union.expression, view)
    first = union.this
    columns = tuple(column.alias_or_name for column in first.expressions)
    first_text, steps_text, more_text = (_text(part, pretty) for part in (first, steps, more))
    return RecursiveRows(view, columns, first_text, steps_text, more_text.sql)


def _parted(step: exp.Expr, name: str) -> tuple[exp.Select, exp.Select]:
    """Split a step of a closure: the tables beside the found rows, with the conditions among them,
    and the join of both with the rest of the conditions.
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
        whole = exp.Paren(this=tree.unalias().copy())
        for column in list(whole.find_all(exp.Column)):
            if column.table != alias:
                column.replace(exp.column(f"{column.table}_{column.name}", steps))
        return whole

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
