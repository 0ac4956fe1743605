"""A query's tree in the functions of DuckDB: exact numbers, patterns, texts.

The tree is written for PostgreSQL, whose ``numeric`` is any number. Here such an expression
becomes a list of doubles (:mod:`.numbers`), so the pass has to know which expressions are
numbers: columns have the kind of what they are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, auto
from typing import Final, TypeAlias

from sqlglot import exp

from sensorstream.archive.sparql import times
from sensorstream.archive.sparql.numbers import parts
from sensorstream.archive.sparql.regexes import group_of, re2_pattern, re2_replacement


class Kind(Enum):
    """What an expression is, where that matters."""

    NUMBER = auto()
    """A list of doubles."""
    DOUBLE = auto()
    WHOLE = auto()
    """A count, a length, or a constant number."""


_Kinds: TypeAlias = Mapping[str, Kind | None]
_Typed: TypeAlias = tuple[exp.Expr, Kind | None]

_TABLES: Final[Mapping[str, _Kinds]] = {
    "statements": {"number": Kind.DOUBLE},
    "terms": {"number": Kind.NUMBER},
}
_OPERATORS: Final[Mapping[type[exp.Expr], str]] = {
    exp.Add: "number_add",
    exp.Sub: "number_subtract",
    exp.Mul: "number_multiply",
    exp.Div: "number_divide",
    exp.Neg: "number_negate",
    exp.Abs: "number_abs",
    exp.Floor: "number_floor",
    exp.Ceil: "number_ceiling",
    exp.Trunc: "number_truncate",
    exp.Sign: "number_sign",
}
_ALIKE: Final = (
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Between,
    exp.Case,
    exp.Coalesce,
    exp.Greatest,
    exp.Least,
)
"""What has operands, or branches, of one kind."""
_CHOICES: Final = (exp.Case, exp.Coalesce, exp.Greatest, exp.Least)
_SAME: Final = (
    exp.Alias,
    exp.ArrayAgg,
    exp.Bracket,
    exp.Filter,
    exp.Max,
    exp.Min,
    exp.Order,
    exp.Paren,
)
"""What has the kind of its operand."""
_WHOLES: Final = (exp.Count, exp.Length, exp.StrPosition)
_NUMBER_TYPE: Final = "DOUBLE[]"


@dataclass(slots=True)
class _Scope:
    """The tables that an expression sees."""

    outer: _Scope | None = None
    tables: dict[str, _Kinds] = field(default_factory=dict)
    queries: dict[str, _Kinds] = field(default_factory=dict)

    def column(self, column: exp.Column) -> Kind | None:
        for table, columns in self.tables.items():
            if column.table in ("", table) and column.name in columns:
                return columns[column.name]
        return None if self.outer is None else self.outer.column(column)

    def query(self, name: str) -> _Kinds | None:
        if name in self.queries:
            return self.queries[name]
        return None if self.outer is None else self.outer.query(name)


def rewrite_types(tree: exp.Query) -> None:
    """Rewrite a tree in place."""
    _query(tree, _Scope())


def rewrite_expression(tree: exp.Expr) -> exp.Expr:
    """An expression without tables, rewritten; its columns are no numbers."""
    return _typed(tree, _Scope())[0]


# -- queries ----------------------------------------------------------------------------------


def _query(node: exp.Expr, outer: _Scope) -> _Kinds:
    """The kinds of the columns of a query, which is rewritten."""
    if isinstance(node, exp.Subquery):
        return _query(node.this, outer)
    scope = _Scope(outer)
    with_ = node.args.get("with_")
    for each in with_.expressions if with_ is not None else ():
        _named_query(each, scope)
    if isinstance(node, exp.SetOperation):
        return _merged(_query(node.this, scope), _query(node.expression, scope))
    assert isinstance(node, exp.Select)
    from_ = node.args.get("from_")
    if from_ is not None:
        _source(from_.this, scope)
    for join in node.args.get("joins") or ():
        _source(join.this, scope)
        _set_typed(join, "on", scope)
    for key in ("where", "group", "having", "order", "limit", "offset"):
        _set_typed(node, key, scope)
    found: dict[str, Kind | None] = {}
    columns = []
    for each in node.expressions:
        column, kind = _typed(each, scope)
        columns.append(column)
        found[each.alias_or_name] = kind
    node.set("expressions", columns)
    return found


def _named_query(each: exp.CTE, scope: _Scope) -> None:
    query = each.this
    names = [name.name for name in each.args["alias"].args.get("columns") or ()]

    def named(kinds: _Kinds) -> _Kinds:
        return dict(zip(names, kinds.values(), strict=True)) if names else kinds

    if isinstance(query, exp.SetOperation):
        # A recursive query reads itself in its second part.
        first = _query(query.this, scope)
        scope.queries[each.alias] = named(first)
        scope.queries[each.alias] = named(_merged(first, _query(query.expression, scope)))
    else:
        scope.queries[each.alias] = named(_query(query, scope))


def _merged(one: _Kinds, other: _Kinds) -> _Kinds:
    return {
        name: kind or second
        for (name, kind), second in zip(one.items(), other.values(), strict=True)
    }


def _source(node: exp.Expr, scope: _Scope) -> None:
    match node:
        case exp.Lateral():
            _source(node.this, scope)
        case exp.Subquery():
            scope.tables[node.alias] = _query(node.this, scope)
        case exp.Values():
            for row in node.expressions:
                _typed(row, scope)
            scope.tables[node.alias] = {}
        case exp.Table():
            named = None if node.db else scope.query(node.name)
            columns = _TABLES.get(node.name, {}) if named is None else named
            scope.tables[node.alias_or_name] = columns


# -- expressions ------------------------------------------------------------------------------


def _set_typed(node: exp.Expr, key: str, scope: _Scope) -> Kind | None:
    """Rewrite a part of a node; its kind."""
    part = node.args.get(key)
    if not isinstance(part, exp.Expr):
        return None
    new, kind = _typed(part, scope)
    if new is not part:
        node.set(key, new)
    return kind


def _typed(node: exp.Expr, scope: _Scope) -> _Typed:
    if isinstance(node, exp.Query):
        return node, next(iter(_query(node, scope).values()), None)
    if isinstance(node, exp.Identifier | exp.DataType):
        return node, None
    if (encoded := _encoded_for_uri(node)) is not None:
        return _typed(encoded, scope)
    if isinstance(node, exp.Filter) and isinstance(node.this, exp.Sum):
        condition, sum_ = node.expression, node.this
        _set_typed(condition, "this", scope)
        if _set_typed(sum_, "this", scope) is Kind.NUMBER:
            return _total(sum_.this, condition.this), Kind.NUMBER
        return node, Kind.WHOLE
    kinds: dict[str, Kind | None] = {}
    for key, part in list(node.args.items()):
        if isinstance(part, exp.Expr):
            kinds[key] = _set_typed(node, key, scope)
        elif isinstance(part, list) and part and isinstance(part[0], exp.Expr):
            typed = [_typed(each, scope) for each in part]
            node.set(key, [new for new, _ in typed])
            for place, (_, kind) in enumerate(typed):
                kinds[f"{key}.{place}"] = kind
    return _finished(node, kinds, scope)


def _finished(node: exp.Expr, kinds: _Kinds, scope: _Scope) -> _Typed:
    """A node whose parts are rewritten."""
    is_number = Kind.NUMBER in kinds.values()
    kind = kinds.get("this")
    match node:
        case exp.Column():
            return node, scope.column(node)
        case exp.Literal():
            return node, None if node.is_string else Kind.WHOLE
        case exp.If():
            return node, kinds.get("true")
        case exp.Cast():
            return _cast(node, kind)
        case exp.Sum() if is_number:
            return _total(node.this, None), Kind.NUMBER
        case exp.Round() if is_number:
            return _call("number_round", node.this, node.args["decimals"]), Kind.NUMBER
        case exp.Rand():
            return node, Kind.DOUBLE
        case exp.Dot(expression=exp.Anonymous() as call):
            # Of schema store in PostgreSQL.
            return call.copy(), Kind.NUMBER if call.name.upper() in times.NUMBERS else None
    if is_number and isinstance(node, _ALIKE):
        _align(node, kinds)
        return node, Kind.NUMBER if isinstance(node, _CHOICES) else None
    if is_number and type(node) in _OPERATORS:
        operands = [_number(node.this, kind)]
        if isinstance(node, exp.Binary):
            operands.append(_number(node.expression, kinds.get("expression")))
        return _call(_OPERATORS[type(node)], *operands), Kind.NUMBER
    if isinstance(node, _WHOLES):
        return node, Kind.WHOLE
    if isinstance(node, _SAME):
        return node, kind
    if isinstance(node, (*_OPERATORS, *_CHOICES)):
        return node, Kind.DOUBLE if Kind.DOUBLE in kinds.values() else Kind.WHOLE
    return _function(node, kinds)


def _align(node: exp.Expr, kinds: _Kinds) -> None:
    """Make numbers of all operands, or of all branches."""
    for key in ("this", "expression", "low", "high", "default"):
        part = node.args.get(key)
        # The operand of CASE is compared, no branch.
        if part is not None and not (isinstance(node, exp.Case) and key == "this"):
            node.set(key, _number(part, kinds.get(key)))
    if node.args.get("expressions"):
        node.set(
            "expressions",
            [
                _number(each, kinds.get(f"expressions.{place}"))
                for place, each in enumerate(node.expressions)
            ],
        )
    for place, each in enumerate(node.args.get("ifs") or ()):
        each.set("true", _number(each.args["true"], kinds.get(f"ifs.{place}")))


def _number(node: exp.Expr, kind: Kind | None) -> exp.Expr:
    """An expression as a number."""
    if isinstance(node, exp.Null) or kind is Kind.NUMBER:
        return node
    if isinstance(node, exp.Literal):
        return _constant(node.this)
    return _call("number_of_double", exp.cast(node, "DOUBLE"))


def _constant(text: str) -> exp.Expr:
    found = parts(Decimal(text))
    listed = exp.Array(expressions=[exp.Literal.string(repr(each)) for each in found])
    return exp.cast(listed, _NUMBER_TYPE)


def _total(summand: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    """The sum of numbers: of the short ones as integers, with a list of the others."""
    short = _call("millionths", summand.copy())
    is_long = exp.and_(
        exp.Not(this=exp.Is(this=summand.copy(), expression=exp.null())),
        exp.Is(this=short.copy(), expression=exp.null()),
        *(() if condition is None else (condition.copy(),)),
    )
    some: exp.Expr = exp.Sum(this=short)
    if condition is not None:
        some = exp.Filter(this=some, expression=exp.Where(this=condition.copy()))
    others = exp.Filter(this=_call("LIST", summand.copy()), expression=exp.Where(this=is_long))
    return _call("number_total", some, others)


def _cast(node: exp.Cast, kind: Kind | None) -> _Typed:
    to, value = node.to, node.this
    if to.is_type("DECIMAL"):
        return _as_number(value, kind), Kind.NUMBER
    if to.is_type("BIGINT"):
        # An id: here a text.
        return exp.cast(value, "TEXT"), None
    if to.is_type("TIMESTAMPTZ"):
        return exp.TryCast(this=value, to=to), None
    if kind is Kind.NUMBER:
        first = exp.Bracket(this=value, expressions=[exp.Literal.number(1)], offset=1)
        if to.is_type("TEXT"):
            return _call("number_plain", value), None
        if to.is_type("DOUBLE"):
            return first, Kind.DOUBLE
        # A float is only written, as what it is the shortest decimal of.
        return exp.cast(first, to), None if to.is_type("FLOAT") else Kind.WHOLE
    if to.is_type("DOUBLE"):
        return node, Kind.DOUBLE
    if to.is_type("TEXT"):
        # As the text of a double: see _as_number.
        return node, kind if kind is Kind.DOUBLE else None
    return node, None


def _as_number(value: exp.Expr, kind: Kind | None) -> exp.Expr:
    match value:
        case exp.Null():
            return exp.cast(value, _NUMBER_TYPE)
        case exp.Literal():
            return _constant(value.this)
        case exp.Cast() if kind is Kind.DOUBLE and value.to.is_type("TEXT"):
            return _call("number_of_double", value.this)
        case exp.Paren():
            return _as_number(value.this, kind)
    if kind in (Kind.NUMBER, Kind.WHOLE, Kind.DOUBLE):
        return _number(value, kind)
    return _call("number_of_text", value)


# -- functions --------------------------------------------------------------------------------


def _function(node: exp.Expr, kinds: _Kinds) -> _Typed:
    rewritten = _REWRITTEN.get(type(node))
    if rewritten is not None:
        return rewritten(node, kinds)
    return node, None


def _anonymous(node: exp.Expr, kinds: _Kinds) -> _Typed:
    match node.name.upper(), node.expressions:
        case "TRIM_SCALE", [value]:
            return value, kinds["expressions.0"]
        case "PG_INPUT_IS_VALID", [value, what]:
            return _call("is_date" if what.name == "date" else "is_moment", value), None
    return node, None


def _text_of_time(node: exp.Expr, kinds: _Kinds) -> _Typed:
    """TO_CHAR: of a number, or of the current time."""
    if kinds.get("this") is Kind.NUMBER:
        return _call("number_scientific", node.this), None
    return _call("STRFTIME", node.this, exp.Literal.string("%Y-%m-%dT%H:%M:%S.%fZ")), None


def _substring(node: exp.Expr, kinds: _Kinds) -> _Typed:
    start = node.args.get("start")
    if not isinstance(start, exp.Literal) or not start.is_string:
        return node, None
    group = exp.Literal.number(group_of(start.this))
    return _call("matched", node.this, start, group), None


def _regexp_like(node: exp.Expr, kinds: _Kinds) -> _Typed:
    _to_re2(node)
    return node, None


def _regexp_replace(node: exp.Expr, kinds: _Kinds) -> _Typed:
    _to_re2(node)
    replacement = node.args["replacement"]
    node.set("replacement", exp.Literal.string(re2_replacement(replacement.this)))
    return node, None


def _to_re2(node: exp.Expr) -> None:
    pattern = node.expression
    if isinstance(pattern, exp.Literal):
        node.set("expression", exp.Literal.string(re2_pattern(pattern.this)))


def _digest(node: exp.Expr, kinds: _Kinds) -> _Typed:
    """ENCODE(SHA256(CONVERT_TO(text, 'UTF8')), 'hex')."""
    digest = node.this
    assert isinstance(digest, exp.SHA2Digest)
    length = digest.args.get("length")
    bits = "256" if length is None else length.name
    name = "SHA256" if bits == "256" else f"sha{bits}_text"
    return _call(name, digest.this.expressions[0]), None


def _encoded_for_uri(node: exp.Expr) -> exp.Expr | None:
    """What PostgreSQL needs a query for: the loop over the characters of a text."""
    if not isinstance(node, exp.Coalesce) or not isinstance(node.this, exp.Subquery):
        return None
    series = node.this.find(exp.ExplodingGenerateSeries)
    return None if series is None else _call("URL_ENCODE", series.args["end"].this)


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


_REWRITTEN: Final[Mapping[type[exp.Expr], Callable[[exp.Expr, _Kinds], _Typed]]] = {
    exp.Anonymous: _anonymous,
    exp.TimeToStr: _text_of_time,
    exp.Substring: _substring,
    exp.RegexpLike: _regexp_like,
    exp.RegexpReplace: _regexp_replace,
    exp.Encode: _digest,
    # Texts are compared by their code points already.
    exp.Collate: lambda node, _: (node.this, None),
    exp.Upper: lambda node, _: (_call("unicode_upper", node.this), None),
    exp.Lower: lambda node, _: (_call("unicode_lower", node.this), None),
}
