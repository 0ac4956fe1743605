"""One line for each node of the algebra, for people: operator trees and messages.

The lines are short, not exact: for text that can be read back see ``printing``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from sensorstream.model.datatypes import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from sensorstream.sparql.algebra import (
    BGP,
    Aggregate,
    Distinct,
    Equals,
    EqualsOptional,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    GroupKey,
    Join,
    LeftJoin,
    Minus,
    OptionalSeq,
    OrderBy,
    Pattern,
    Project,
    Reduced,
    Seq,
    Service,
    Slice,
    TriplePattern,
    Union,
    Values,
    Window,
    WindowDefinition,
)
from sensorstream.sparql.printing.patterns import expression_text
from sensorstream.sparql.printing.queries import window_text
from sensorstream.sparql.printing.terms import node_text, triple_text

_WRITTEN: Final = re.compile(
    r'"(?P<lexical>(?:[^"\\]|\\.)*)"(?:\^\^<(?P<datatype>[^>]*)>|(?P<language>@[\w-]+))?'
    r"|<(?P<iri>[^<>\"{}|^`\\\x00-\x20]*)>",
    re.S,
)
_PLAIN: Final = frozenset((XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE, XSD_BOOLEAN))
_LOCAL: Final = re.compile(r"[\w.-]+\Z")
_NO_PREFIXES: Final[Mapping[str, str]] = {}


def summary(
    node: Pattern | TriplePattern | WindowDefinition,
    prefixes: Mapping[str, str] = _NO_PREFIXES,
) -> str:
    """One line about a node, without the patterns below it.

    ``prefixes`` are names (``ex``) and the IRIs they stand for; an IRI that begins with none of
    them is shown by its last part: ``:name``.
    """
    return _short(_summary(node), prefixes)


def expression_summary(
    expression: Expression | Aggregate, prefixes: Mapping[str, str] = _NO_PREFIXES
) -> str:
    """One line about an expression."""
    return _short(expression_text(expression), prefixes)


def _summary(node: Pattern | TriplePattern | WindowDefinition) -> str:
    match node:
        case TriplePattern():
            return triple_text(node)
        case WindowDefinition():
            return window_text(node).removeprefix("FROM NAMED WINDOW ")
        case BGP(patterns):
            return _line("BGP", " . ".join(map(triple_text, patterns)))
        case Join() | Union() | Minus() | Seq() | Equals() | Distinct() | Reduced():
            return type(node).__name__
        case LeftJoin(_, _, condition) | OptionalSeq(_, _, condition):
            return _line(type(node).__name__, _condition(condition))
        case EqualsOptional(_, _, condition):
            return _line("EqualsOptional", _condition(condition))
        case Filter(condition, _):
            return _line("Filter", expression_text(condition))
        case Extend(_, variable, expression):
            return f"Extend {variable} = {expression_text(expression)}"
        case Graph(name, _) | Window(name, _):
            return f"{type(node).__name__} {node_text(name)}"
        case Service(endpoint, _, silent):
            return _line("Service", "SILENT" if silent else "", node_text(endpoint))
        case Values(variables, rows):
            return _line("Values", *map(str, variables), f"({len(rows)} rows)")
        case Group(_, keys, aggregates):
            computed = (f"{name} = {expression_text(of)}" for name, of in aggregates)
            return _line("Group", "by" if keys else "", _list(map(_key, keys)), _list(computed))
        case OrderBy(_, conditions):
            return (
                f"OrderBy {_list(_order(each.expression, each.descending) for each in conditions)}"
            )
        case Project(_, variables):
            return _line("Project", *map(str, variables))
        case Slice(_, offset, limit):
            most = "" if limit is None else f"limit {limit}"
            return _line("Slice", f"offset {offset}" if offset else "", most)


def _line(*words: str) -> str:
    return " ".join(filter(None, words))


def _list(texts: Iterable[str]) -> str:
    return ", ".join(texts)


def _condition(condition: Expression | None) -> str:
    return "" if condition is None else f"if {expression_text(condition)}"


def _key(key: GroupKey) -> str:
    written = expression_text(key.expression)
    if key.variable is None or key.variable == key.expression:
        return written
    return f"{key.variable} = {written}"


def _order(expression: Expression, descending: bool) -> str:
    written = expression_text(expression)
    return f"{written} descending" if descending else written


def _short(text: str, prefixes: Mapping[str, str]) -> str:
    def shown(match: re.Match[str]) -> str:
        if match["iri"] is not None:
            return _short_iri(match["iri"], prefixes)
        if match["datatype"] in _PLAIN:
            return match["lexical"]
        if match["datatype"]:
            return f'"{match["lexical"]}"^^{_short_iri(match["datatype"], prefixes)}'
        return match.group()

    return _WRITTEN.sub(shown, text)


def _short_iri(iri: str, prefixes: Mapping[str, str]) -> str:
    for name, start in prefixes.items():
        if iri.startswith(start) and _LOCAL.match(iri[len(start) :]):
            return f"{name}:{iri[len(start) :]}"
    local = re.split(r"[#/]", iri)[-1]
    return f":{local}" if _LOCAL.match(local) else f"<{iri}>"
