"""The expressions of a query's tree, which are PostgreSQL's, as those of Spark.

A closed list: :mod:`sensorstream.history.sparql` writes these and no others. The type of each
operand decides, because a number is not one of Spark's (:mod:`.numbers`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

from sqlglot import exp

from sensorstream.spark.sparql import numbers
from sensorstream.spark.sparql.regexes import java_pattern, java_replacement
from sensorstream.spark.sparql.typed import (
    OF_NAME,
    Kind,
    Typed,
    alike,
    as_number,
    call,
    cast,
    number,
    refused,
    text,
)

Column = Callable[[exp.Column], Kind]
Asked = Callable[[exp.Expr], exp.Expr]

_ARITHMETIC: Final = {
    exp.Add: numbers.ADDED,
    exp.Sub: numbers.SUBTRACTED,
    exp.Mul: numbers.MULTIPLIED,
}
_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_ONE_NUMBER: Final = {
    exp.Abs: numbers.ABS,
    exp.Sign: numbers.SIGN,
    exp.Floor: numbers.FLOOR,
    exp.Ceil: numbers.CEIL,
    exp.Trunc: numbers.TRUNC,
    exp.Neg: numbers.NEGATED,
}
_SCIENTIFIC: Final = "9.9999999999999999EEEE"
_HOURS: Final = re.compile(r"(-?[0-9]+) hours")
# Decimal places of a quotient that is not rounded before.
_PLACES: Final = 36


class Expressions:
    """Translates the expressions of one select.

    ``column`` tells the type of a column, ``subquery`` translates the query of an EXISTS.
    """

    def __init__(self, column: Column, subquery: Asked) -> None:
        self._column = column
        self._subquery = subquery

    def tree(self, node: exp.Expr) -> exp.Expr:
        """The expression for Spark, without its type."""
        return self.typed(node).tree

    def typed(self, node: exp.Expr) -> Typed:
        """The expression for Spark.

        Raises:
            UnsupportedQuery: it is not on the list.
        """
        made = _HANDLERS.get(type(node))
        if made is None:
            raise refused(node)
        return made(self, node)

    # -- leaves -------------------------------------------------------------------------------

    def _leaf(self, node: exp.Expr) -> Typed:
        match node:
            case exp.Column():
                return Typed(node.copy(), self._column(node))
            case exp.Null():
                return Typed(exp.null(), Kind.NULL)
            case exp.Boolean():
                return Typed(node.copy(), Kind.BOOLEAN)
            case exp.Literal(is_string=True):
                return text(node.this)
            case exp.Literal() if node.this.isdigit():
                return Typed(node.copy(), Kind.INTEGER)
        return number(Decimal(node.this))

    def _paren(self, node: exp.Paren) -> Typed:
        inner = self.typed(node.this)
        return Typed(exp.Paren(this=inner.tree), inner.kind, inner.value)

    def _query(self, node: exp.Subquery) -> Typed:
        """A query for one value: names for expressions, and an expression of them."""
        series = node.find(exp.GenerateSeries)
        if series is not None:
            return self._encoded(series)
        return self.typed(exp.Paren(this=inlined(node)))

    def _encoded(self, series: exp.GenerateSeries) -> Typed:
        """ENCODE_FOR_URI: a form's encoding but for three characters."""
        length = series.args["end"]
        made = call("url_encode", Kind.TEXT, self.tree(length.this))
        for old, new in (("+", "%20"), ("*", "%2A"), ("%7E", "~")):
            made = call("replace", Kind.TEXT, made, text(old), text(new))
        return made

    # -- logic --------------------------------------------------------------------------------

    def _logical(self, node: exp.Binary) -> Typed:
        return Typed(
            type(node)(this=self.tree(node.this), expression=self.tree(node.expression)),
            Kind.BOOLEAN,
        )

    def _not(self, node: exp.Not) -> Typed:
        return Typed(exp.Not(this=self.tree(node.this)), Kind.BOOLEAN)

    def _exists(self, node: exp.Exists) -> Typed:
        return Typed(exp.Exists(this=self._subquery(node.this)), Kind.BOOLEAN)

    def _compared(self, node: exp.Binary) -> Typed:
        (one, other), _ = alike((self.typed(node.this), self.typed(node.expression)))
        return Typed(type(node)(this=one.tree, expression=other.tree), Kind.BOOLEAN)

    def _distinct(self, node: exp.NullSafeNEQ) -> Typed:
        (one, other), _ = alike((self.typed(node.this), self.typed(node.expression)))
        same = exp.NullSafeEQ(this=one.tree, expression=other.tree)
        return Typed(exp.Not(this=exp.Paren(this=same)), Kind.BOOLEAN)

    def _between(self, node: exp.Between) -> Typed:
        parts = (node.this, node.args["low"], node.args["high"])
        (this, low, high), _ = alike(map(self.typed, parts))
        return Typed(exp.Between(this=this.tree, low=low.tree, high=high.tree), Kind.BOOLEAN)

    def _in(self, node: exp.In) -> Typed:
        (this, *choices), _ = alike(map(self.typed, (node.this, *node.expressions)))
        found = exp.In(this=this.tree, expressions=[each.tree for each in choices])
        return Typed(found, Kind.BOOLEAN)

    def _case(self, node: exp.Case) -> Typed:
        given = node.args["ifs"]
        compared = node.this and self.typed(node.this)
        tests = [self.typed(each.this) for each in given]
        if compared:
            (compared, *tests), _ = alike((compared, *tests))
        default = node.args.get("default")
        results, kind = alike(
            [self.typed(each.args["true"]) for each in given]
            + ([self.typed(default)] if default is not None else [])
        )
        ifs = [exp.If(this=t.tree, true=r.tree) for t, r in zip(tests, results, strict=False)]
        made = exp.Case(
            this=compared.tree if compared else None,
            ifs=ifs,
            default=None if default is None else results[-1].tree,
        )
        return Typed(made, kind)

    def _chosen(self, node: exp.Coalesce | exp.Greatest | exp.Least) -> Typed:
        given, kind = alike(map(self.typed, (node.this, *node.expressions)))
        return call(node.sql_name().lower(), kind, *given)

    # -- numbers ------------------------------------------------------------------------------

    def _cast(self, node: exp.Cast) -> Typed:
        given, name = self.typed(node.this), node.to.this.value
        kind = OF_NAME.get(name)
        if kind is None:
            raise refused(node)
        if given.kind is Kind.NULL:
            return cast(given, kind)
        if kind is Kind.NUMBER:
            if isinstance(node.this, exp.Literal):
                return number(Decimal(node.this.this))
            return as_number(given)
        if name == "INTERVAL":
            found = _HOURS.fullmatch(node.this.this)
            if found is None:
                raise refused(node)
            return cast(text(str(int(found[1]) * 3_600_000_000)), Kind.INTEGER)
        if kind is Kind.MOMENT:
            return call(numbers.MICROS, kind, given)
        if given.kind is Kind.NUMBER:
            if kind is Kind.DOUBLE:
                if given.value is not None and given.value.is_finite():
                    return cast(text(repr(float(given.value))), Kind.DOUBLE)
                return call(numbers.DOUBLE, kind, given)
            given = call(numbers.TEXT, Kind.TEXT, given)
        if name == "INT":
            # Spark's places within texts are of this type.
            return Typed(exp.cast(given.tree, "INT"), kind)
        return cast(given, kind)

    def _arithmetic(self, node: exp.Binary) -> Typed:
        given = self.typed(node.this), self.typed(node.expression)
        (one, other), kind = alike(given)
        if kind is Kind.NUMBER:
            return call(_ARITHMETIC[type(node)], kind, one, other)
        return Typed(type(node)(this=one.tree, expression=other.tree), Kind.INTEGER)

    def _divided(self, node: exp.Div) -> Typed:
        left = node.this.unnest()
        (one, other), kind = alike((self.typed(node.this), self.typed(node.expression)))
        if kind is Kind.NUMBER:
            # Rounding the dividend only tells how many places the quotient shall have.
            places = _PLACES
            if isinstance(left, exp.Round):
                places = int(left.args["decimals"].this)
            return call(numbers.DIVIDED, kind, one, other, exp.Literal.number(places))
        return Typed(exp.Div(this=one.tree, expression=other.tree, typed=False), kind)

    def _of_number(self, node: exp.Expr) -> Typed:
        given = self.typed(node.this)
        if given.kind is Kind.NUMBER:
            if given.value is not None and isinstance(node, exp.Abs):
                return number(abs(given.value))
            return call(_ONE_NUMBER[type(node)], Kind.NUMBER, given)
        if isinstance(node, exp.Neg) and given.kind is Kind.INTEGER:
            return Typed(exp.Neg(this=given.tree), given.kind)
        raise refused(node)

    def _rounded(self, node: exp.Round) -> Typed:
        given = as_number(self.typed(node.this))
        return call(numbers.ROUND, Kind.NUMBER, given, self.typed(node.args["decimals"]))

    def _written(self, node: exp.TimeToStr) -> Typed:
        """TO_CHAR of a number with an exponent, or of the present."""
        form = node.args["format"].this
        if form == _SCIENTIFIC:
            return call(numbers.SCIENTIFIC, Kind.TEXT, self.typed(node.this))
        if node.find(exp.CurrentTimestamp) is None:
            raise refused(node)
        pattern = text("yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'")
        return call("date_format", Kind.TEXT, exp.Anonymous(this="current_timestamp"), pattern)

    def _anonymous(self, node: exp.Anonymous) -> Typed:
        name, given = node.name.upper(), node.expressions
        if name == "TRIM_SCALE":
            # The same number; a key has no zeros at its end.
            return self.typed(given[0])
        if name == "PG_INPUT_IS_VALID":
            written = self.typed(given[0])
            if given[1].this == "date":
                written = call("concat", Kind.TEXT, written, text("T00:00:00Z"))
            micros = call(numbers.MICROS, Kind.MOMENT, written)
            missing = exp.Is(this=micros.tree, expression=exp.null())
            return Typed(exp.Not(this=missing), Kind.BOOLEAN)
        raise refused(node)

    # -- texts --------------------------------------------------------------------------------

    def _collated(self, node: exp.Collate) -> Typed:
        # Spark compares by code points, and knows the cases of all letters.
        return self.typed(node.this)

    def _simple(self, node: exp.Expr) -> Typed:
        name, kind, parts = _SIMPLE[type(node)]
        found = [node.args[part] for part in parts if node.args.get(part) is not None]
        return call(name, kind, *(self.typed(each) for each in found))

    def _trimmed(self, node: exp.Trim) -> Typed:
        blanks = node.args.get("expression")
        given = [self.typed(node.this), *([] if blanks is None else [self.typed(blanks)])]
        return call("btrim" if blanks is not None else "ltrim", Kind.TEXT, *given)

    def _substring(self, node: exp.Substring) -> Typed:
        start = node.args["start"]
        if not (isinstance(start, exp.Literal) and start.is_string):
            return self._simple(node)
        group = 1 if re.compile(start.this).groups else 0
        found = call(
            "regexp_extract",
            Kind.TEXT,
            self.typed(node.this),
            text(java_pattern(start.this)),
            exp.Literal.number(group),
        )
        # Spark gives an empty text where nothing is found; these patterns find none.
        return call("nullif", Kind.TEXT, found, text(""))

    def _matches(self, node: exp.RegexpLike) -> Typed:
        pattern = self.typed(_in_java(node.expression.copy()))
        return call("rlike", Kind.BOOLEAN, self.typed(node.this), pattern)

    def _replaced(self, node: exp.RegexpReplace) -> Typed:
        pattern, new = node.expression, node.args["replacement"]
        modifiers = node.args.get("modifiers")
        is_global = modifiers is not None and modifiers.this == "g"
        if not (is_global or pattern.this.endswith("$")):
            raise refused(node)
        return call(
            "regexp_replace",
            Kind.TEXT,
            self.typed(node.this),
            text(java_pattern(pattern.this)),
            text(java_replacement(new.this)),
        )

    def _hashed(self, node: exp.Encode) -> Typed:
        digest = node.this
        if not isinstance(digest, exp.SHA2Digest | exp.SHA2):
            raise refused(node)
        (converted,) = digest.find_all(exp.Anonymous)
        given = exp.cast(self.tree(converted.expressions[0]), "BINARY")
        length = digest.args.get("length") or exp.Literal.number(256)
        return call("sha2", Kind.TEXT, given, length.copy())

    def _md5(self, node: exp.MD5) -> Typed:
        return call("md5", Kind.TEXT, exp.cast(self.tree(node.this), "BINARY"))

    def _random(self, node: exp.Expr) -> Typed:
        if isinstance(node, exp.Rand):
            return call("rand", Kind.DOUBLE)
        return call("uuid", Kind.TEXT)

    # -- aggregates ---------------------------------------------------------------------------

    def _filtered(self, node: exp.Filter) -> Typed:
        return self._aggregate(node.this, self.tree(node.expression.this))

    def _aggregate(self, node: exp.Expr, condition: exp.Expr | None = None) -> Typed:
        def filtered(found: Typed) -> Typed:
            if condition is None:
                return found
            test = exp.Where(this=condition)
            return Typed(exp.Filter(this=found.tree, expression=test), found.kind)

        match node:
            case exp.Count(this=exp.Star()):
                return filtered(Typed(exp.Count(this=exp.Star()), Kind.INTEGER))
            case exp.Count():
                return filtered(call("count", Kind.INTEGER, self.typed(node.this)))
            case exp.Sum():
                given = self.typed(node.this)
                if given.kind is not Kind.NUMBER:
                    raise refused(node)
                return filtered(call(numbers.TOTAL, Kind.NUMBER, given))
            case exp.Max() | exp.Min():
                given = self.typed(node.this)
                return filtered(call(node.sql_name().lower(), given.kind, given))
            case exp.GroupConcat(this=exp.Order(this=value)):
                # The texts are ordered by themselves.
                found = filtered(call("collect_list", Kind.TEXT, self.typed(value)))
                ordered = call("sort_array", Kind.TEXT, found)
                return call("array_join", Kind.TEXT, ordered, self.typed(node.args["separator"]))
            case exp.ArrayAgg(this=exp.Order(this=value, expressions=order)):
                # Null comes first where the order ascends, in both systems.
                name = "max_by" if order[0].args.get("desc") else "min_by"
                given = self.typed(value)
                keys = call("struct", Kind.TEXT, *(self.typed(each.this) for each in order))
                return filtered(call(name, given.kind, given, keys))
        raise refused(node)

    def _first(self, node: exp.Bracket) -> Typed:
        """The first of an ordered array, which is never made."""
        return self.typed(node.this.unnest())

    def _window(self, node: exp.Window) -> Typed:
        if not isinstance(node.this, exp.RowNumber) or node.args.get("order"):
            raise refused(node)
        keys = [self.tree(each) for each in node.args.get("partition_by") or ()]
        order = exp.Order(expressions=[exp.Ordered(this=exp.null())])
        made = exp.Window(this=exp.RowNumber(), partition_by=keys, order=order)
        return Typed(made, Kind.INTEGER)


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


def _in_java(pattern: exp.Expr) -> exp.Expr:
    """A pattern, or a choice of patterns."""
    if isinstance(pattern, exp.Literal):
        return exp.Literal.string(java_pattern(pattern.this))
    if isinstance(pattern, exp.Paren):
        return exp.Paren(this=_in_java(pattern.this))
    if not isinstance(pattern, exp.Case):
        raise refused(pattern)
    for each in pattern.args["ifs"]:
        each.set("true", _in_java(each.args["true"]))
    if pattern.args.get("default") is not None:
        pattern.set("default", _in_java(pattern.args["default"]))
    return pattern


_SIMPLE: Final[Mapping[type[exp.Expr], tuple[str, Kind, tuple[str, ...]]]] = {
    exp.Left: ("left", Kind.TEXT, ("this", "expression")),
    exp.Right: ("right", Kind.TEXT, ("this", "expression")),
    exp.Length: ("char_length", Kind.INTEGER, ("this",)),
    exp.StrPosition: ("instr", Kind.INTEGER, ("this", "substr")),
    exp.Substring: ("substring", Kind.TEXT, ("this", "start", "length")),
    exp.Replace: ("replace", Kind.TEXT, ("this", "expression", "replacement")),
    exp.Upper: ("upper", Kind.TEXT, ("this",)),
    exp.Lower: ("lower", Kind.TEXT, ("this",)),
    exp.DPipe: ("concat", Kind.TEXT, ("this", "expression")),
}
_Handler = Callable[[Expressions, exp.Expr], Typed]
_HANDLERS: Final[Mapping[type[exp.Expr], Callable[..., Typed]]] = {
    **dict.fromkeys((exp.Column, exp.Null, exp.Boolean, exp.Literal), Expressions._leaf),
    exp.Paren: Expressions._paren,
    exp.Subquery: Expressions._query,
    **dict.fromkeys((exp.And, exp.Or, exp.Is), Expressions._logical),
    exp.Not: Expressions._not,
    exp.Exists: Expressions._exists,
    **dict.fromkeys(_COMPARISONS, Expressions._compared),
    exp.NullSafeNEQ: Expressions._distinct,
    exp.Between: Expressions._between,
    exp.In: Expressions._in,
    exp.Case: Expressions._case,
    **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least), Expressions._chosen),
    exp.Cast: Expressions._cast,
    **dict.fromkeys(_ARITHMETIC, Expressions._arithmetic),
    exp.Div: Expressions._divided,
    **dict.fromkeys(_ONE_NUMBER, Expressions._of_number),
    exp.Round: Expressions._rounded,
    exp.TimeToStr: Expressions._written,
    exp.Anonymous: Expressions._anonymous,
    exp.Collate: Expressions._collated,
    **dict.fromkeys(set(_SIMPLE) - {exp.Substring}, Expressions._simple),
    exp.Trim: Expressions._trimmed,
    exp.Substring: Expressions._substring,
    exp.RegexpLike: Expressions._matches,
    exp.RegexpReplace: Expressions._replaced,
    exp.Encode: Expressions._hashed,
    exp.MD5: Expressions._md5,
    **dict.fromkeys((exp.Rand, exp.Uuid), Expressions._random),
    exp.Filter: Expressions._filtered,
    **dict.fromkeys(
        (exp.Count, exp.Sum, exp.Max, exp.Min, exp.GroupConcat, exp.ArrayAgg),
        Expressions._aggregate,
    ),
    exp.Bracket: Expressions._first,
    exp.Window: Expressions._window,
}
