"""Functions of texts of a query's tree for Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from sensorstream.spark.sparql.regexes import java_pattern, java_replacement
from sensorstream.spark.sparql.typed import Handler, Kind, Typed, Within, call, refused, text

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
    exp.SplitPart: ("split_part", Kind.TEXT, ("this", "delimiter", "part_index")),
}


def _collated(within: Within, node: exp.Collate) -> Typed:
    # Spark compares by code points, and knows the cases of all letters.
    return within.typed(node.this)


def _simple(within: Within, node: exp.Expr) -> Typed:
    name, kind, parts = _SIMPLE[type(node)]
    found = [node.args[part] for part in parts if node.args.get(part) is not None]
    return call(name, kind, *(within.typed(each) for each in found))


def _trimmed(within: Within, node: exp.Trim) -> Typed:
    blanks = node.args.get("expression")
    given = [within.typed(node.this), *([] if blanks is None else [within.typed(blanks)])]
    return call("btrim" if blanks is not None else "ltrim", Kind.TEXT, *given)


def _substring(within: Within, node: exp.Substring) -> Typed:
    start = node.args["start"]
    if not (isinstance(start, exp.Literal) and start.is_string):
        return _simple(within, node)
    group = 1 if re.compile(start.this).groups else 0
    found = call(
        "regexp_extract",
        Kind.TEXT,
        within.typed(node.this),
        text(java_pattern(start.this)),
        exp.Literal.number(group),
    )
    if re.search(start.this, ""):
        return found
    # Spark gives an empty text where nothing is found; this pattern finds none.
    return call("nullif", Kind.TEXT, found, text(""))


def _matches(within: Within, node: exp.RegexpLike) -> Typed:
    pattern = within.typed(_in_java(node.expression.copy()))
    return call("rlike", Kind.BOOLEAN, within.typed(node.this), pattern)


def _replaced(within: Within, node: exp.RegexpReplace) -> Typed:
    pattern, new = node.expression, node.args["replacement"]
    modifiers = node.args.get("modifiers")
    is_global = modifiers is not None and modifiers.this == "g"
    if not (is_global or pattern.this.endswith("$")):
        raise refused(node)
    return call(
        "regexp_replace",
        Kind.TEXT,
        within.typed(node.this),
        text(java_pattern(pattern.this)),
        text(java_replacement(new.this)),
    )


def _hashed(within: Within, node: exp.Encode) -> Typed:
    digest = node.this
    if not isinstance(digest, exp.SHA2Digest | exp.SHA2):
        raise refused(node)
    (converted,) = digest.find_all(exp.Anonymous)
    given = exp.cast(within.tree(converted.expressions[0]), "BINARY")
    length = digest.args.get("length") or exp.Literal.number(256)
    return call("sha2", Kind.TEXT, given, length.copy())


def _md5(within: Within, node: exp.MD5) -> Typed:
    return call("md5", Kind.TEXT, exp.cast(within.tree(node.this), "BINARY"))


def _random(within: Within, node: exp.Expr) -> Typed:
    if isinstance(node, exp.Rand):
        return call("rand", Kind.DOUBLE)
    return call("uuid", Kind.TEXT)


def encoded(within: Within, series: exp.GenerateSeries) -> Typed:
    """ENCODE_FOR_URI: a form's encoding but for three characters."""
    length = series.args["end"]
    made = call("url_encode", Kind.TEXT, within.tree(length.this))
    for old, new in (("+", "%20"), ("*", "%2A"), ("%7E", "~")):
        made = call("replace", Kind.TEXT, made, text(old), text(new))
    return made


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


HANDLERS: Final[Mapping[type[exp.Expr], Handler]] = {
    exp.Collate: _collated,
    **dict.fromkeys(set(_SIMPLE) - {exp.Substring}, _simple),
    exp.Trim: _trimmed,
    exp.Substring: _substring,
    exp.RegexpLike: _matches,
    exp.RegexpReplace: _replaced,
    exp.Encode: _hashed,
    exp.MD5: _md5,
    **dict.fromkeys((exp.Rand, exp.Uuid), _random),
}
