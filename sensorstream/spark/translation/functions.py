"""Functions of texts, bytes and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from sensorstream.spark.translation import constants
from sensorstream.spark.translation.casts import as_text, rounded
from sensorstream.spark.translation.coercion import widened
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.scope import Scope
from sensorstream.spark.translation.types import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    NUMBERS,
    TEXT,
    Kind,
    SqlType,
    Typed,
    call,
    spark,
)

Rule = Callable[[exp.Expr, Scope], Typed]

# Characters that Java changes to several, and PostgreSQL to one or to none.
_UPPER_DIFFERS: Final = (
    r"[\\u00DF\\u0149\\u01F0\\u0345\\u0390\\u03B0\\u0587"
    r"\\u1E96-\\u1E9A\\u1F50-\\u1FFF\\uFB00-\\uFB17]"
)
_FEW_DIGITS: Final = 18
_LOWER_DIFFERS: Final = r"[\\u0130\\u03A3]"


def literal_integer(node: exp.Expr | None, least: int, whole: exp.Expr, what: str) -> int:
    """The value of a number as written; raises :class:`QueryError` if it is another expression."""
    if isinstance(node, exp.Literal) and node.name.isdigit() and int(node.name) >= least:
        return int(node.name)
    raise refused(whole, f"{what} must be a whole number from {least} on, as a literal")


def text_of(node: exp.Expr, scope: Scope) -> Typed:
    """An argument that is a text."""
    value = constants.settled(scope.value(node), node)
    if value.kind is not Kind.TEXT:
        raise refused(node, f"expected a text, not {value.kind.value}")
    return value


def _literal_text(node: exp.Expr | None, whole: exp.Expr, what: str) -> exp.Literal:
    if isinstance(node, exp.Literal) and node.is_string and node.name:
        return exp.Literal.string(node.name)
    raise refused(whole, f"{what} must be a literal with at least one character")


def _number(node: exp.Expr, scope: Scope) -> Typed:
    value = constants.settle(scope.value(node), Kind.DOUBLE, node)
    if value.kind not in NUMBERS:
        raise refused(node, f"expected a number, not {value.kind.value}")
    return value


def _plain(name: str, type_: SqlType) -> Rule:
    """A function of texts only, which means the same under ``name`` on Spark."""

    def rule(node: exp.Expr, scope: Scope) -> Typed:
        only(node, "this", "expression", "expressions", "replacement", "from_", "to")
        keys = ("this", "expression", "replacement", "from_", "to")
        given = [node.args[key] for key in keys if node.args.get(key)] + node.expressions
        return call(name, type_, *(text_of(each, scope).tree for each in given))

    return rule


def _length(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expressions", "binary", "encoding")
    value = constants.settled(scope.value(node.this), node)
    if value.kind not in (Kind.TEXT, Kind.BYTES):
        raise refused(node, "expected a text or bytes")
    return call("LENGTH", INTEGER, value.tree)


def lowered(text: Typed) -> Typed:
    """A text in lower case."""
    return spark(
        f"CASE WHEN :x RLIKE '{_LOWER_DIFFERS}' "
        "THEN RAISE_ERROR('Spark changes the case of a letter here otherwise than PostgreSQL') "
        "ELSE LOWER(:x) END",
        TEXT,
        x=text.tree,
    )


def _lower(node: exp.Expr, scope: Scope) -> Typed:
    return lowered(_cased(node, scope))


def _upper(node: exp.Expr, scope: Scope) -> Typed:
    return spark(
        f"CASE WHEN :x RLIKE '{_UPPER_DIFFERS}' "
        "THEN RAISE_ERROR('Spark changes the case of a letter here otherwise than PostgreSQL') "
        "ELSE UPPER(:x) END",
        TEXT,
        x=_cased(node, scope).tree,
    )


def _cased(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    if not scope.by_code_point:
        raise refused(node, "case depends on the database's language here")
    return text_of(node.this, scope)


def _substring(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "start", "length")
    text = text_of(node.this, scope)
    start = literal_integer(node.args.get("start"), 1, node, "the start")
    parts = [text.tree, exp.Literal.number(start)]
    if node.args.get("length"):
        parts.append(
            exp.Literal.number(literal_integer(node.args["length"], 0, node, "the length"))
        )
    return call("SUBSTRING", TEXT, *parts)


def _end(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expression")
    count = literal_integer(node.expression, 0, node, "the number of characters")
    name = "LEFT" if isinstance(node, exp.Left) else "RIGHT"
    return call(name, TEXT, text_of(node.this, scope).tree, exp.Literal.number(count))


def _trim(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expression", "position")
    text = text_of(node.this, scope).tree
    characters: exp.Expr = exp.Literal.string(" ")
    if node.args.get("expression"):
        characters = _literal_text(node.expression, node, "the characters to trim")
    side = str(node.args.get("position") or "BOTH").upper()
    names = {"BOTH": "BTRIM", "LEADING": "LTRIM", "TRAILING": "RTRIM"}
    if side == "BOTH":
        return call(names[side], TEXT, text, characters)
    # Spark's LTRIM and RTRIM have the characters first.
    return call(names[side], TEXT, characters, text)


def _position(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "substr")
    text, part = text_of(node.this, scope), text_of(node.args["substr"], scope)
    return call("INSTR", INTEGER, text.tree, part.tree)


def _pad(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expression", "fill_pattern", "is_left")
    fill: exp.Expr = exp.Literal.string(" ")
    if node.args.get("fill_pattern"):
        fill = _literal_text(node.args["fill_pattern"], node, "the filling")
    count = literal_integer(node.expression, 0, node, "the length")
    name = "LPAD" if node.args.get("is_left") else "RPAD"
    return call(name, TEXT, text_of(node.this, scope).tree, exp.Literal.number(count), fill)


def _split(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "delimiter", "part_index")
    delimiter = _literal_text(node.args.get("delimiter"), node, "the delimiter")
    index = literal_integer(node.args.get("part_index"), 1, node, "the number of the part")
    text = text_of(node.this, scope).tree
    return call("SPLIT_PART", TEXT, text, delimiter, exp.Literal.number(index))


def _repeat(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "times")
    times = literal_integer(node.args.get("times"), 0, node, "the number of times")
    return call("REPEAT", TEXT, text_of(node.this, scope).tree, exp.Literal.number(times))


def _translate(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "from_", "to")
    before = _literal_text(node.args.get("from_"), node, "what is replaced")
    if len(set(before.name)) < len(before.name):
        raise refused(node, "a character stands twice in what is replaced")
    after = node.args.get("to")
    if not (isinstance(after, exp.Literal) and after.is_string):
        raise refused(node, "the replacement must be a literal")
    return call("TRANSLATE", TEXT, text_of(node.this, scope).tree, before, after)


def _concat(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "expressions", "safe", "coalesce")
    parts = list(node.expressions)
    # PostgreSQL's concat leaves NULL out, Spark's is NULL then.
    separator: exp.Expr = exp.Literal.string("")
    if isinstance(node, exp.ConcatWs):
        separator = text_of(parts.pop(0), scope).tree
    texts = []
    for each in parts:
        value = constants.settled(scope.value(each), each)
        if value.kind is Kind.BOOLEAN:
            # Here PostgreSQL writes t and f, in a cast true and false.
            value = spark("CASE WHEN :x THEN 't' WHEN NOT :x THEN 'f' END", TEXT, x=value.tree)
        texts.append(as_text(value, each).tree)
    return call("CONCAT_WS", TEXT, separator, *texts)


def _md5(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    value = constants.settled(scope.value(node.this), node)
    if value.kind not in (Kind.TEXT, Kind.BYTES):
        raise refused(node, "expected a text or bytes")
    return spark("MD5(CAST(:x AS BINARY))", TEXT, x=value.tree)


def _encode(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "charset")
    value = scope.value(node.this)
    if value.kind is not Kind.BYTES or node.args["charset"].name.lower() != "hex":
        raise refused(node, "encode takes bytes and 'hex'")
    return spark("LOWER(HEX(:x))", TEXT, x=value.tree)


def _octets(node: exp.Expr, scope: Scope) -> Typed:
    (given,) = node.expressions or [node.this]
    value = constants.settled(scope.value(given), node)
    if value.kind not in (Kind.TEXT, Kind.BYTES):
        raise refused(node, "expected a text or bytes")
    return call("OCTET_LENGTH", INTEGER, value.tree)


def _convert_from(node: exp.Expr, scope: Scope) -> Typed:
    given, encoding = node.expressions
    value = scope.value(given)
    named = encoding.name.upper().replace("-", "")
    if value.kind is not Kind.BYTES or named != "UTF8":
        raise refused(node, "convert_from takes bytes and 'UTF8'")
    return call("DECODE", TEXT, value.tree, exp.Literal.string("UTF-8"))


def _absolute(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    value = _number(node.this, scope)
    return call("ABS", value.type, value.tree)


def _rounded(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "decimals")
    value = _number(node.this, scope)
    if not node.args.get("decimals"):
        if value.kind is Kind.NUMERIC:
            return spark("ROUND(:x, 0)", SqlType(Kind.NUMERIC, 0), x=value.tree)
        # A half goes to the even neighbour.
        return call("RINT", DOUBLE, widened(value, Kind.DOUBLE).tree)
    digits = literal_integer(node.args["decimals"], 0, node, "the number of digits")
    if value.kind is Kind.DOUBLE:
        raise refused(node, "round to digits takes a numeric; write round(x::numeric, 2)")
    inner = node.this.unnest()
    if isinstance(inner, exp.Cast) and not inner.args["to"].expressions:
        given = scope.value(inner.this)
        if given.kind is Kind.DOUBLE and value.kind is Kind.NUMERIC and digits <= _FEW_DIGITS:
            # At once, since a small double has more digits than Spark's numerics.
            return spark(
                f"CAST(:x AS DECIMAL(38, {digits}))",
                SqlType(Kind.NUMERIC, digits),
                x=rounded(given, digits).tree,
            )
    numeric = widened(value, Kind.NUMERIC)
    # PostgreSQL adds zeros up to the digits, Spark leaves a shorter one as it is: the same value.
    return spark(
        f"ROUND(:x, {digits})",
        SqlType(Kind.NUMERIC, min(digits, numeric.type.scale)),
        x=numeric.tree,
    )


def _towards(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    value = _number(node.this, scope)
    name = "FLOOR" if isinstance(node, exp.Floor) else "CEIL"
    if value.kind is Kind.NUMERIC:
        return call(name, SqlType(Kind.NUMERIC, 0), value.tree)
    # Spark gives a bigint; doubles from 2^53 on are whole, and NaN is not less.
    return spark(
        f"CASE WHEN ABS(:x) < 9007199254740992 THEN CAST({name}(:x) AS DOUBLE) ELSE :x END",
        DOUBLE,
        x=widened(value, Kind.DOUBLE).tree,
    )


def _root(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    value = _number(node.this, scope)
    if value.kind is Kind.NUMERIC:
        raise refused(node, "of a numeric it has other digits; cast to double precision")
    return spark(
        "CASE WHEN :x < 0 THEN RAISE_ERROR('cannot take square root of a negative number') "
        "ELSE SQRT(:x) END",
        DOUBLE,
        x=widened(value, Kind.DOUBLE).tree,
    )


def _sign(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this")
    value = _number(node.this, scope)
    if value.kind is Kind.NUMERIC:
        return spark("CAST(SIGN(:x) AS DECIMAL(1, 0))", SqlType(Kind.NUMERIC, 0), x=value.tree)
    return call("SIGN", DOUBLE, widened(value, Kind.DOUBLE).tree)


RULES: Final[Mapping[type[exp.Expr], Rule]] = {
    exp.Length: _length,
    exp.Lower: _lower,
    exp.Upper: _upper,
    exp.Substring: _substring,
    exp.Left: _end,
    exp.Right: _end,
    exp.Trim: _trim,
    exp.StrPosition: _position,
    exp.Pad: _pad,
    exp.SplitPart: _split,
    exp.Repeat: _repeat,
    exp.Translate: _translate,
    exp.Concat: _concat,
    exp.ConcatWs: _concat,
    exp.Replace: _plain("REPLACE", TEXT),
    exp.Reverse: _plain("REVERSE", TEXT),
    exp.StartsWith: _plain("STARTSWITH", BOOLEAN),
    exp.MD5: _md5,
    exp.Encode: _encode,
    exp.Abs: _absolute,
    exp.Round: _rounded,
    exp.Floor: _towards,
    exp.Ceil: _towards,
    exp.Sqrt: _root,
    exp.Sign: _sign,
}
# What sqlglot has no class for.
NAMED: Final[Mapping[str, Rule]] = {
    "octet_length": _octets,
    "convert_from": _convert_from,
}
