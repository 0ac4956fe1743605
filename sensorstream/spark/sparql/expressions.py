"""The expressions of a query's tree, which are PostgreSQL's, as those of Spark.

A closed list: :mod:`sensorstream.sql.sparql` writes these and no others. The type of each
operand decides, because a number is not one of Spark's (:mod:`.numbers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from sensorstream.spark.sparql import aggregates, arithmetic, logic, texts, times
from sensorstream.spark.sparql.typed import Handler, Kind, Typed, Within, refused

# What a handler looks at of a node; with anything else, the node is not on the list.
_OPERANDS: Final = frozenset({"this", "expression", "expressions"})
_ARGUMENTS: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    node: frozenset(names)
    for node, names in (
        (exp.Column, ("table",)),
        (exp.Literal, ("is_string",)),
        (exp.Subquery, ("alias",)),
        (exp.Case, ("ifs", "default")),
        (exp.Is, ("negate",)),
        (exp.Cast, ("to",)),
        (exp.Trim, ("position",)),
        (exp.Between, ("low", "high")),
        (exp.Substring, ("start", "length")),
        (exp.DPipe, ("safe",)),
        (exp.StrPosition, ("substr",)),
        (exp.SplitPart, ("delimiter", "part_index")),
        (exp.Replace, ("replacement",)),
        (exp.RegexpReplace, ("replacement", "modifiers", "single_replace")),
        (exp.TimeToStr, ("format",)),
        (exp.Greatest, ("ignore_nulls",)),
        (exp.Least, ("ignore_nulls",)),
        (exp.Round, ("decimals",)),
        (exp.Div, ("typed",)),
        (exp.Encode, ("charset",)),
        (exp.Window, ("partition_by",)),
        (exp.Bracket, ("offset",)),
        (exp.Count, ("big_int",)),
        (exp.GroupConcat, ("separator",)),
    )
}


class Expressions:
    """Translates the expressions of one select.

    ``kind`` tells the type of a column, ``query`` translates the query of an EXISTS.
    """

    def __init__(
        self, kind: Callable[[exp.Column], Kind], query: Callable[[exp.Expr], exp.Expr]
    ) -> None:
        self.kind = kind
        self.query = query

    def tree(self, node: exp.Expr) -> exp.Expr:
        """The expression for Spark, without its type."""
        return self.typed(node).tree

    def typed(self, node: exp.Expr) -> Typed:
        """The expression for Spark.

        Raises:
            UnsupportedQuery: it is not on the list.
        """
        made = _HANDLERS.get(type(node))
        known = _ARGUMENTS.get(type(node), frozenset()) | _OPERANDS
        if made is None or any(
            value not in (None, False, []) and name not in known
            for name, value in node.args.items()
        ):
            raise refused(node)
        return made(self, node)


def _query(within: Within, node: exp.Subquery) -> Typed:
    """A query for one value: names for expressions, and an expression of them."""
    series = node.find(exp.GenerateSeries)
    if series is not None:
        return texts.encoded(within, series)
    order = times.exact_order(node)
    if order is not None:
        return within.typed(order)
    return within.typed(exp.Paren(this=inlined(node)))


def inlined(query: exp.Subquery) -> exp.Expr:
    """The expression of a query that only gives names to expressions; for where Spark allows no
    query.
    """
    select = query.this
    known: dict[tuple[str, str], exp.Expr] = {}

    def with_known(tree: exp.Expr) -> exp.Expr:
        made = exp.Paren(this=tree.copy())
        for column in list(made.find_all(exp.Column)):
            found = known.get((column.table, column.name))
            if found is not None:
                column.replace(exp.Paren(this=found.copy()))
        return made

    if not isinstance(select, exp.Select) or select.args.get("where"):
        raise refused(query)
    sources = [select.args["from_"].this] if select.args.get("from_") else []
    sources += [
        each.this.this if isinstance(each.this, exp.Lateral) else each.this
        for each in select.args.get("joins") or ()
    ]
    for source in sources:
        inner = source.this
        if not isinstance(source, exp.Subquery) or inner.args.get("from_"):
            raise refused(query)
        for each in inner.expressions:
            known[source.alias, each.alias] = with_known(each.this)
    return with_known(select.expressions[0].unalias())


_HANDLERS: Final[Mapping[type[exp.Expr], Handler]] = {
    **logic.HANDLERS,
    **arithmetic.HANDLERS,
    **texts.HANDLERS,
    **times.HANDLERS,
    **aggregates.HANDLERS,
    exp.Subquery: _query,
}
