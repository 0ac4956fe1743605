"""Trees of SQL from small texts with placeholders, or cells of a table of dialects (:data:`Cell`).

So constants are never spliced as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, reduce
from typing import Final, TypeAlias, TypeVar

from sqlglot import exp, parse_one

from sensorstream.errors import UnsupportedQuery
from sensorstream.model.xsd import RDF_LANG_STRING, XSD

_Tree = TypeVar("_Tree", bound=exp.Expr)
_KNOWN: Final = {
    **{
        name: f"{XSD}{name}"
        for name in (
            *("string", "boolean", "integer", "decimal", "float", "double"),
            *("date", "time", "duration"),
        )
    },
    "tagged": RDF_LANG_STRING,
    "datetime": f"{XSD}dateTime",
    "stamp": f"{XSD}dateTimeStamp",
    "daytime": f"{XSD}dayTimeDuration",
    "yearmonth": f"{XSD}yearMonthDuration",
    "blanks": " \t\n\r",
}
"""Placeholders that every text may use."""
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_CLOSED: Final = (
    exp.Column,
    exp.Literal,
    exp.Func,
    exp.Case,
    exp.Paren,
    exp.Subquery,
    exp.Null,
    exp.Boolean,
    exp.Tuple,
)
"""Expressions that need no parentheses around them."""


def sql(template: str, dialect: str = "postgres", /, **parts: exp.Expr | str | int) -> exp.Expr:
    """The tree of a text of a dialect in which ``:name`` stands for a part; a text or integer as a
    part is a constant.
    """
    tree = _parsed(template, dialect).copy()
    for place in list(tree.find_all(exp.Placeholder)):
        new = _part(place.name, parts)
        if place is tree:
            return new
        place.replace(new)
    return tree


def constant(value: str | int) -> exp.Expr:
    """A text or integer; raises UnsupportedQuery for a character that PostgreSQL cannot hold."""
    if isinstance(value, int):
        return exp.Literal.number(value) if value >= 0 else exp.Neg(this=constant(-value))
    if not is_storable(value):
        raise UnsupportedQuery(
            "a constant with the character NUL, or half of a surrogate pair: PostgreSQL holds no "
            "such text"
        )
    return exp.Literal.string(value)


def is_storable(text: str) -> bool:
    """Whether PostgreSQL can hold a text."""
    return _UNSTORABLE.search(text) is None


def null(kind: str) -> exp.Expr:
    """NULL of a type."""
    return exp.cast(exp.null(), kind)


def all_of(*conditions: exp.Expr) -> exp.Expr:
    """The conjunction; of nothing, true."""
    return _chained(exp.And, conditions) or exp.true()


def any_of(*conditions: exp.Expr) -> exp.Expr:
    """The disjunction; of nothing, false."""
    return _chained(exp.Or, conditions) or exp.false()


def free(tree: _Tree) -> _Tree:
    """The tree itself if it stands nowhere yet, else a copy of it."""
    return tree if tree.parent is None else tree.copy()


def named(tree: exp.Expr, name: str) -> exp.Alias:
    """A column of a select: an expression under a name."""
    return exp.Alias(this=free(tree), alias=exp.to_identifier(name))


def table(tree: exp.Expr, alias: str) -> exp.Subquery:
    """A query as a table of FROM."""
    return exp.Subquery(this=free(tree), alias=titled(alias))


def titled(name: str, columns: Iterable[str] = ()) -> exp.TableAlias:
    """The name of a table, and of its columns."""
    named_columns = [exp.to_identifier(each) for each in columns]
    return exp.TableAlias(this=exp.to_identifier(name), columns=named_columns or None)


def united(parts: Iterable[exp.Expr], *, distinct: bool = False) -> exp.Expr:
    """The rows of all parts."""
    return reduce(lambda a, b: exp.Union(this=a, expression=b, distinct=distinct), parts)


def is_light(tree: exp.Expr) -> bool:
    """Whether a tree may stand in several places: a column or a constant."""
    if isinstance(tree, exp.Cast | exp.Neg | exp.Paren):
        return is_light(tree.this)
    return isinstance(tree, exp.Column | exp.Literal | exp.Null | exp.Boolean)


def closed(tree: exp.Expr) -> exp.Expr:
    """The tree in parentheses where it needs them as an operand."""
    if isinstance(tree, exp.Query) and not isinstance(tree, exp.Subquery):
        return exp.Subquery(this=tree)
    # AND, OR and ~ count as functions, too.
    is_closed = isinstance(tree, _CLOSED) and not isinstance(tree, exp.Binary)
    return tree if is_closed else exp.Paren(this=tree)


@cache
def _parsed(text: str, dialect: str) -> exp.Expr:
    return parse_one(text, dialect=dialect)


def _part(name: str, parts: dict[str, exp.Expr | str | int]) -> exp.Expr:
    given = parts[name] if name in parts else _KNOWN[name]
    return constant(given) if isinstance(given, str | int) else closed(free(given))


def _chained(kind: type[exp.Connector], conditions: tuple[exp.Expr, ...]) -> exp.Expr | None:
    made: exp.Expr | None = None
    for each in conditions:
        operand = closed(free(each))
        made = operand if made is None else kind(this=made, expression=operand)
    return made


Cell: TypeAlias = str | Callable[..., exp.Expr] | None
"""How a dialect says something.

``""``: as the node stands; ``"name"``: a function of the node's operands in their order;
``"f(:a, :b)"``: a text of the dialect in which letters stand for the operands; a function: makes
it of the node, whose operands are of the dialect; None: the dialect has no equal.
"""
_LETTERS: Final = "abcdefghijkl"


def operands(node: exp.Expr) -> list[exp.Expr]:
    """The operands of a node, in the order of a function's arguments."""
    found: list[exp.Expr] = []
    for value in node.args.values():
        if isinstance(value, exp.Expr):
            found.append(value)
        elif isinstance(value, list):
            found += value
    return found


def made(cell: str, dialect: str, *given: exp.Expr) -> exp.Expr:
    """The tree of a name or a text of a table, with operands that are of the dialect already."""
    if cell.isidentifier():
        return exp.Anonymous(this=cell, expressions=list(given))
    for each in given:
        # The tree is moved, not copied, unless it comes more than once.
        each.parent = None
    return sql(cell, dialect, **dict(zip(_LETTERS, given, strict=False)))


def names(cell: str, place: int) -> bool:
    """Whether a name or a text of a table says something of the operand in a place."""
    return cell.isidentifier() or f":{_LETTERS[place]}" in cell
