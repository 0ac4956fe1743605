"""Rows of the table of functions, and the translation of a call by the row that fits.

The functions here write Spark's text of a call where it depends on the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final, TypeAlias

from sqlglot import exp

from sensorstream.model.frozen import frozen
from sensorstream.sql.postgres.sql_scope import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    MOST_DIGITS,
    NUMBERS,
    QUOTIENT_SCALE,
    SPAN,
    TEXT,
    TIMES,
    Around,
    PostgresType,
    SqlScope,
    SqlType,
    TypedSql,
    one_of,
    refused,
    spark,
    whole,
)
from sensorstream.sql.postgres.typed_values import (
    as_text,
    common,
    converted,
    ordered,
    rounded,
    settle,
    settled,
    uncompared,
    united,
)

MANY: Final = 10_000


@frozen
class ListedCall:
    """A call in the query, of a function that is on the list."""

    name: str
    node: exp.Expr
    arguments: Sequence[exp.Expr]
    distinct: bool = False
    order: Sequence[exp.Expr] = ()
    around: Around = lambda tree: tree

    def aggregate(self, name: str, result: SqlType, *parts: exp.Expr) -> TypedSql:
        """Spark's function of the call, with DISTINCT, over its window or behind its filter."""
        if self.distinct:
            parts = (exp.Distinct(expressions=[parts[0].copy()]),)
        return TypedSql(self.around(spark(name, result, *parts).tree), result)


@frozen
class Of:
    """An argument of one of these kinds; ``literal`` is the kind of a literal in quotes.

    ``to``: the kind that the value is given. ``sorted``, ``cased``: both systems must sort it, or
    change its case, alike. ``why``: the reason to refuse another kind.
    """

    kinds: tuple[PostgresType, ...]
    literal: PostgresType | None = None
    to: PostgresType | None = None
    sorted: bool = False
    cased: bool = False
    why: str = ""

    def taken(
        self, value: TypedSql | None, node: exp.Expr, call: ListedCall, scope: SqlScope
    ) -> TypedSql:
        """The argument; raises :class:`QueryError` if it is another one."""
        assert value is not None
        if self.cased and not scope.by_code_point:
            raise refused(call.node, "case depends on the database's language here")
        if self.literal is not None:
            value = settle(value, self.literal, node)
        if self.sorted:
            ordered(value, call.node, by_code_point=scope.by_code_point)
        one_of(self.kinds, value, call.node if self.why else node, self.why)
        return value if self.to is None else converted(value, self.to, node)


@frozen
class WrittenLiteral:
    """A literal in the text of the query.

    It is a whole number from ``least`` on, one of ``words``, which are mapped to Spark's, or a
    text, which may be ``empty``. ``once``: no character stands in it twice.
    """

    what: str
    least: int | None = None
    words: Mapping[str, str] | None = None
    once: bool = False
    empty: bool = False

    def taken(
        self, _: TypedSql | None, node: exp.Expr, call: ListedCall, _scope: SqlScope
    ) -> TypedSql:
        """The argument; raises :class:`QueryError` if it is another one."""
        if self.least is not None:
            number = whole(node, self.least, call.node, self.what)
            return TypedSql(exp.Literal.number(number), SqlType(PostgresType.INTEGER))
        text = node.name if isinstance(node, exp.Literal | exp.Var) else ""
        if self.words is not None:
            text = self.words.get(text.lower(), "")
        elif not node.is_string:
            text = ""
        if not text and not (self.empty and node.is_string):
            expected = "must be a literal with at least one character"
            if self.words is not None:
                expected = f"is one of {', '.join(sorted(self.words))}, as a literal"
            raise refused(call.node, f"{self.what} {expected}")
        if self.once and len(set(text)) < len(text):
            raise refused(call.node, f"a character stands twice in {self.what}")
        return TypedSql(exp.Literal.string(text), SqlType(PostgresType.TEXT))


Argument: TypeAlias = Of | WrittenLiteral
Body: TypeAlias = Callable[[ListedCall, Sequence[TypedSql], SqlScope], TypedSql]


@frozen
class FunctionRow:
    """A function or operator with arguments of some kinds: its result, and its form in Spark.

    ``result`` is None where it is the type of the first argument. ``spark`` is a name, a template
    over ``:a``, ``:b``, ... or a function; ``then`` a template over what the others give.
    """

    result: SqlType | None
    spark: str | Body
    arguments: tuple[Argument, ...]
    optional: int
    then: str

    def takes(self, count: int) -> bool:
        """Whether a call may have so many arguments; of MANY the last kind may be repeated."""
        if self.optional == MANY:
            return count > 0
        return 0 <= len(self.arguments) - count <= self.optional

    def at(self, place: int) -> Argument:
        """The argument declared for a place of a call; the last one repeats."""
        return self.arguments[min(place, len(self.arguments) - 1)]

    def fits(self, values: Sequence[TypedSql | None]) -> bool:
        """Whether the values among a call's arguments have the row's kinds."""
        return all(
            isinstance(each := self.at(place), WrittenLiteral)
            or (value is not None and value.kind in each.kinds)
            for place, value in enumerate(values)
        )

    def told(
        self, call: ListedCall, values: Sequence[TypedSql | None], scope: SqlScope
    ) -> TypedSql:
        """The call on Spark; raises :class:`QueryError` if its arguments are not this row's."""
        given = [
            self.at(place).taken(value, node, call, scope)
            for place, (node, value) in enumerate(zip(call.arguments, values, strict=True))
        ]
        if not isinstance(self.spark, str):
            return self.spark(call, given, scope)
        result = given[0].type if self.result is None else self.result
        found = call.aggregate(self.spark, result, *(each.tree for each in given))
        return spark(self.then, result, found.tree) if self.then else found


def row(
    result: SqlType | None,
    spark: str | Body,
    *arguments: Argument,
    optional: int = 0,
    then: str = "",
) -> tuple[FunctionRow]:
    """A row; of its arguments so many at the end are ``optional``."""
    return (FunctionRow(result, spark, arguments, optional, then),)


def answered(rows: tuple[FunctionRow, ...], call: ListedCall, scope: SqlScope) -> TypedSql:
    """Translate a call by the first row that fits its arguments; raises QueryError if none does."""
    rows = tuple(each for each in rows if each.takes(len(call.arguments)))
    if not rows:
        raise refused(call.node, "with so many arguments it is not on the list")
    # Computed once for all rows, because calls may be nested deeply.
    values = [
        scope.value(node) if any(isinstance(each.at(place), Of) for each in rows) else None
        for place, node in enumerate(call.arguments)
    ]
    return next((each for each in rows if each.fits(values)), rows[-1]).told(call, values, scope)


def of(*kinds: PostgresType, to: PostgresType | None = None) -> Of:
    """A value of one of these kinds, and not a literal in quotes."""
    return Of(kinds, to=to)


ALL: Final = Of(tuple(PostgresType))
ANY: Final = Of(
    tuple(each for each in PostgresType if each is not PostgresType.UNKNOWN), PostgresType.TEXT
)
TEXTS: Final = Of((PostgresType.TEXT,), PostgresType.TEXT)
AS_TEXT: Final = Of(ANY.kinds, PostgresType.TEXT, to=PostgresType.TEXT)
TEXT_OR_BYTES: Final = Of((PostgresType.TEXT, PostgresType.BYTES), PostgresType.TEXT)
NUMBER: Final = Of(NUMBERS, PostgresType.DOUBLE)
AS_DOUBLE: Final = Of(NUMBERS, PostgresType.DOUBLE, to=PostgresType.DOUBLE)
EXACT: Final = of(PostgresType.NUMERIC)
AS_MOMENT: Final = of(*TIMES, to=PostgresType.MOMENT)
TRUTH: Final = Of((PostgresType.BOOLEAN,), PostgresType.BOOLEAN, why="it is no condition")


_FEW_DIGITS: Final = 18
COMPARISONS: Final = {
    "=": ":a = :b",
    "<>": ":a <> :b",
    "<": ":a < :b",
    "<=": ":a <= :b",
    ">": ":a > :b",
    ">=": ":a >= :b",
    "is not distinct from": ":a <=> :b",
    "is distinct from": "NOT (:a <=> :b)",
}
_BY_SIZE: Final = ("<", "<=", ">", ">=", "greatest", "least")


def compared(call: ListedCall, given: Sequence[TypedSql], scope: SqlScope) -> TypedSql:
    """A comparison."""
    left, right = common(given, call.node)
    uncompared(left, call.node)
    if call.name in _BY_SIZE:
        free = any(isinstance(each, exp.Collate) for each in call.arguments)
        ordered(left, call.node, by_code_point=free or scope.by_code_point)
    return spark(COMPARISONS[call.name], BOOLEAN, left.tree, right.tree)


def calculated(call: ListedCall, given: Sequence[TypedSql], _: SqlScope) -> TypedSql:
    """Arithmetic with numbers, and the span between two times."""
    node, sign = call.node, "%" if call.name == "mod" else call.name
    if all(each.kind is PostgresType.UNKNOWN for each in given):
        raise refused(node, "two literals in quotes have no type; write a cast")
    left, right = given
    if sign == "-" and any(each.kind in TIMES for each in given):
        left, right = common(given, node)
        if left.kind is PostgresType.DATE:
            return spark("DATEDIFF", INTEGER, left.tree, right.tree)
        return spark(":a - :b", SPAN, left.tree, right.tree)
    if any(each.kind in (*TIMES, PostgresType.SPAN) for each in given):
        raise refused(node, "this arithmetic with times is not on the list")
    left, right = (one_of(NUMBERS, each, node) for each in common(given, node))
    if sign == "/" and left.kind is PostgresType.NUMERIC:
        return _divided(left, right, node)
    if sign == "/" and left.kind is not PostgresType.DOUBLE:
        # Spark's quotient is a bigint.
        text = ":a DIV :b" if left.kind is PostgresType.BIGINT else "CAST(:a DIV :b AS INT)"
        return spark(text, left.type, left.tree, right.tree)
    type_ = left.type
    if left.kind is PostgresType.NUMERIC:
        a, b = left.type, right.type
        scale = a.scale + b.scale if sign == "*" else max(a.scale, b.scale)
        if scale > MOST_DIGITS:
            raise refused(node, f"Spark has {MOST_DIGITS} digits; cast to double precision")
        type_ = SqlType(PostgresType.NUMERIC, scale, loose=a.loose or b.loose)
    return spark(f":a {sign} :b", type_, left.tree, right.tree)


def _divided(left: TypedSql, right: TypedSql, node: exp.Expr) -> TypedSql:
    """The quotient of two numerics, with PostgreSQL's number of digits, which Spark must keep."""
    if left.type.loose or right.type.loose:
        raise refused(
            node, "the digits of a quotient of quotients differ; cast one to double precision"
        )
    type_ = SqlType(PostgresType.NUMERIC, QUOTIENT_SCALE, loose=True)
    return spark("sensorstream_divide", type_, left.tree, right.tree)


def concatenated(call: ListedCall, given: Sequence[TypedSql], _: SqlScope) -> TypedSql:
    """``concat`` and ``concat_ws``: they leave NULL out, Spark's concat is NULL then."""
    separator = [] if call.name == "concat_ws" else [exp.Literal.string("")]
    texts = []
    for each, node in zip(given, call.arguments, strict=True):
        if each.kind is PostgresType.BOOLEAN:
            # PostgreSQL writes t and f here, and true and false in a cast.
            each = spark("CASE WHEN :a THEN 't' WHEN NOT :a THEN 'f' END", TEXT, each.tree)
        texts.append(as_text(each, node).tree)
    return spark("CONCAT_WS", TEXT, *separator, *texts)


def rounded_to(call: ListedCall, given: Sequence[TypedSql], scope: SqlScope) -> TypedSql:
    """``round`` to digits after the point."""
    value, digits = given[0], int(given[1].tree.name)
    if value.kind is PostgresType.DOUBLE:
        raise refused(call.node, "round to digits takes a numeric; write round(x::numeric, 2)")
    inner = call.arguments[0].unnest()
    if isinstance(inner, exp.Cast) and not inner.args["to"].expressions:
        double = scope.value(inner.this)
        if (
            double.kind is PostgresType.DOUBLE
            and value.kind is PostgresType.NUMERIC
            and digits <= _FEW_DIGITS
        ):
            # In one step, since a small double has more digits than Spark's numerics.
            type_ = SqlType(PostgresType.NUMERIC, digits)
            return spark(f"CAST(:a AS DECIMAL(38, {digits}))", type_, rounded(double, digits).tree)
    numeric = converted(value, PostgresType.NUMERIC, call.node)
    # PostgreSQL adds zeros up to the digits, Spark does not: the value is the same.
    type_ = SqlType(PostgresType.NUMERIC, min(digits, numeric.type.scale))
    return spark(f"ROUND(:a, {digits})", type_, numeric.tree)


def of_common(call: ListedCall, given: Sequence[TypedSql], scope: SqlScope) -> TypedSql:
    """Translate COALESCE, LEAST or GREATEST, whose values get one common type."""
    values = common(given, call.node)
    if call.name in _BY_SIZE:
        ordered(values[0], call.node, by_code_point=scope.by_code_point)
    type_ = united([each.type for each in values])
    return spark(call.name.upper(), type_, *(each.tree for each in values))


def null_if(call: ListedCall, given: Sequence[TypedSql], _: SqlScope) -> TypedSql:
    """``nullif``, which has the type of its first value."""
    first = settled(given[0], call.node)
    left, right = common(given, call.node)
    text = "CASE WHEN :a = :b THEN NULL ELSE :c END"
    return spark(text, first.type, left.tree, right.tree, first.tree)


def grouping(_call: ListedCall, given: Sequence[TypedSql], _scope: SqlScope) -> TypedSql:
    """``grouping``: a bit for each key, that of the last one the lowest."""
    bits = [spark("CAST(GROUPING(:a) AS INT)", INTEGER, each.tree) for each in given]
    return reduce(lambda high, low: spark("(2 * :a + :b)", INTEGER, high.tree, low.tree), bits)


def mean(call: ListedCall, given: Sequence[TypedSql], _: SqlScope) -> TypedSql:
    """``avg`` of exact numbers: a quotient, with PostgreSQL's digits."""
    wide = converted(given[0], PostgresType.NUMERIC, call.node)
    count = converted(
        call.aggregate("COUNT", BIGINT, given[0].tree), PostgresType.NUMERIC, call.node
    )
    return _divided(call.aggregate("SUM", wide.type, wide.tree), count, call.node)


def percentile(call: ListedCall, _given: Sequence[TypedSql], scope: SqlScope) -> TypedSql:
    """``percentile_cont`` and ``percentile_disc``, within a group."""
    share = call.arguments[0]
    if not isinstance(share, exp.Literal) or share.is_string or len(call.order) != 1:
        raise refused(call.node, "the share must be a literal between 0 and 1")
    (key,) = call.order
    value = one_of(NUMBERS, scope.value(key.this), call.node)
    if call.name == "percentile_disc" and value.kind is not PostgresType.DOUBLE:
        raise refused(call.node, "Spark gives a double precision; cast to that")
    double = converted(value, PostgresType.DOUBLE, call.node).tree.copy()
    order = exp.Order(expressions=[exp.Ordered(this=double, desc=bool(key.args.get("desc")))])
    function = spark(call.name.upper(), DOUBLE, share).tree
    return TypedSql(call.around(exp.WithinGroup(this=function, expression=order)), DOUBLE)


def neighbour(call: ListedCall, given: Sequence[TypedSql], _: SqlScope) -> TypedSql:
    """``lag`` and ``lead``."""
    value, *rest = given
    types = [value.type]
    if len(rest) > 1:
        first, default = common([value, rest[1]], call.node)
        if first.kind is not value.kind:
            raise refused(call.node, "the default has another type; cast it")
        rest[1] = default
        types = [first.type, default.type]
    return call.aggregate(
        call.name.upper(), united(types), value.tree, *(each.tree for each in rest)
    )


def collected(call: ListedCall, given: Sequence[TypedSql], scope: SqlScope) -> TypedSql:
    """Translate ``array_agg(x ORDER BY k)`` and ``string_agg(x, ',' ORDER BY k)``.

    Spark collects in any order, so each value comes with its keys and is sorted after.
    """
    node, joined, value = call.node, call.name == "string_agg", given[0]
    if not call.order:
        raise refused(node, "without an order its result is left open; add ORDER BY")
    if value.kind is PostgresType.ARRAY:
        raise refused(node, "arrays of arrays are not on the list")
    if call.distinct and [each.this for each in call.order] != [call.arguments[0]]:
        raise refused(node, "with DISTINCT, order by the value itself")
    fields: list[exp.Expr] = [exp.Literal.string("v"), value.tree]
    for index, each in enumerate(call.order):
        key = settled(scope.value(each.this), node)
        ordered(key, each, by_code_point=scope.by_code_point)
        fields += [exp.Literal.string(f"k{index}"), key.tree]
    pair = spark("NAMED_STRUCT", TEXT, *fields).tree
    if joined:
        # string_agg leaves NULL out; collect_list does so with a NULL of the pair.
        pair = spark("CASE WHEN :a IS NULL THEN NULL ELSE :b END", TEXT, value.tree, pair).tree
    found = call.aggregate("COLLECT_LIST", TEXT, pair).tree
    lines = " ".join(_before(index, each) for index, each in enumerate(call.order))
    sorting = f"TRANSFORM(ARRAY_SORT(:a, (l, r) -> CASE {lines} ELSE 0 END), e -> e.v)"
    chosen = spark(sorting, TEXT, found).tree
    if joined:
        chosen = spark("ARRAY_JOIN", TEXT, chosen, given[1].tree).tree
    type_ = TEXT if joined else SqlType(PostgresType.ARRAY, item=value.kind)
    return spark("CASE WHEN SIZE(:a) = 0 THEN NULL ELSE :b END", type_, found, chosen)


def _before(index: int, key: exp.Expr) -> str:
    """The branches that compare two elements by one key."""
    left, right = f"l.k{index}", f"r.k{index}"
    nulls = -1 if key.args.get("nulls_first") else 1
    down = 1 if key.args.get("desc") else -1
    return (
        f"WHEN {left} IS NULL AND NOT ({right} IS NULL) THEN {nulls} "
        f"WHEN {right} IS NULL AND NOT ({left} IS NULL) THEN {-nulls} "
        f"WHEN {left} < {right} THEN {down} WHEN {left} > {right} THEN {-down}"
    )
