"""Texts that match a pattern: LIKE, ILIKE and ~."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from sensorstream.spark.translation import constants
from sensorstream.spark.translation.functions import lowered
from sensorstream.spark.translation.refusal import only, refused
from sensorstream.spark.translation.regexes import regular_expression
from sensorstream.spark.translation.scope import Scope
from sensorstream.spark.translation.types import BOOLEAN, Kind, Typed, spark


def _like(node: exp.Expr, scope: Scope) -> Typed:
    escape = "\\"
    if isinstance(node, exp.Escape):
        only(node, "this", "expression")
        escape, node = node.expression.name, node.this
    only(node, "this", "expression", "negate")
    pattern = _quoted(node)
    text = constants.settled(scope.value(node.this), node)
    if text.kind is not Kind.TEXT:
        raise refused(node, "LIKE takes a text")
    given = exp.Literal.string(_pattern(pattern.name, escape, node))
    if isinstance(node, exp.ILike):
        if not scope.by_code_point:
            raise refused(node, "case depends on the database's language here; use LIKE")
        text = lowered(text)
        given = exp.Literal.string(given.name.lower())
        if not given.name.isascii():
            raise refused(node, "the pattern of ILIKE must be ASCII")
    found = spark(":x LIKE :p", BOOLEAN, x=text.tree, p=given)
    return spark("NOT :x", BOOLEAN, x=found.tree) if node.args.get("negate") else found


def _quoted(node: exp.Expr) -> exp.Expr:
    """The pattern on the right, which is a literal."""
    pattern: exp.Expr = node.expression
    if isinstance(pattern, exp.ByteString) or (
        isinstance(pattern, exp.Literal) and pattern.is_string
    ):
        return pattern
    raise refused(node, "the pattern must be a literal")


def _pattern(given: str, escape: str, node: exp.Expr) -> str:
    """The pattern of LIKE with a backslash before what it means as it is, and nowhere else."""
    if len(escape) > 1:
        raise refused(node, "the escape must be one character")
    told: list[str] = []
    rest = iter(given)
    for each in rest:
        if escape and each == escape:
            plain = next(rest, None)
            if plain is None:
                raise refused(node, "the pattern ends with its escape character")
            told.append(f"\\{plain}" if plain in "%_\\" else plain)
        else:
            told.append("\\\\" if each == "\\" else each)
    return "".join(told)


def _matches(node: exp.Expr, scope: Scope) -> Typed:
    only(node, "this", "expression")
    pattern = _quoted(node)
    text = constants.settled(scope.value(node.args["this"]), node)
    if text.kind is not Kind.TEXT:
        raise refused(node, "~ takes a text")
    given = exp.Literal.string(regular_expression(pattern.name, node))
    return spark(":x RLIKE :p", BOOLEAN, x=text.tree, p=given)


RULES: Final[Mapping[type[exp.Expr], Callable[[exp.Expr, Scope], Typed]]] = {
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _like,
    exp.RegexpLike: _matches,
}
