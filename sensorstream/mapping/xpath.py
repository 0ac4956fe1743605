"""XPath 1.0 expressions of mapping rules: checked when a rule is read, fast when it is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final, TypeAlias, cast

from lxml import etree

from sensorstream.errors import LanguageError, Position
from sensorstream.language.syntax import Hole
from sensorstream.mapping.document import Element

Nodes: TypeAlias = Mapping[str, Element | str]
"""What the variables of ``for each`` are bound to: elements, or the text of attributes."""

Evaluation: TypeAlias = Callable[[Element, Nodes], object]
"""From context node and variables to lxml's result: list of nodes, str, float or bool."""

_NC: Final = r"[^\W\d][\w.-]*"
TOKEN: Final = re.compile(
    rf"""(?P<space>\s+)
    |(?P<literal>"[^"]*"|'[^']*')
    |(?P<number>\d+(?:\.\d*)?|\.\d+)
    |\$(?P<variable>{_NC}(?::{_NC})?)
    |(?P<name>{_NC}(?::(?!:)(?:{_NC}|\*))?)(?P<use>\s*(?:\(|::))?
    |(?P<operator>::|//|\.\.|!=|<=|>=|[()\[\].@,/|+\-=<>*])""",
    re.X,
)
NODE_TYPES: Final = frozenset(("comment", "text", "processing-instruction", "node"))
# XPath 1.0, section 4.
_FUNCTIONS: Final = frozenset(
    (
        *("last", "position", "count", "id", "local-name", "namespace-uri", "name", "string"),
        *("concat", "starts-with", "contains", "substring-before", "substring-after"),
        *("substring", "string-length", "normalize-space", "translate", "boolean", "not"),
        *("true", "false", "lang", "number", "sum", "floor", "ceiling", "round"),
    )
)

# Forms that need no XPath engine, or less of it.
_ATTRIBUTE: Final = re.compile(rf"(?:\$(?P<variable>{_NC})/)?@(?P<name>{_NC}(?::{_NC})?)\Z")
_FROM_VARIABLE: Final = re.compile(
    rf"\$(?P<variable>{_NC})/(?P<rest>(?:{_NC}(?::{_NC})?/)*@?{_NC}(?::{_NC})?)\Z"
)


def faults(
    hole: Hole, namespaces: Mapping[str, str], variables: Collection[str], *, nodes: bool = False
) -> Iterator[LanguageError]:
    """The faults of an expression; ``nodes``: it must find nodes.

    ``variables`` are those in scope. Positions point into the rule file.
    """
    found = list(_name_faults(hole, namespaces, variables))
    yield from found
    if found:
        return
    try:
        compiled = etree.XPath(hole.text, namespaces=dict(namespaces) or None)
    except etree.XPathSyntaxError as error:
        reason, offset = _reason(error)
        yield LanguageError(f"not XPath 1.0: {reason}", position=_place(hole, offset))
        return
    # A wrong number or kind of arguments is only found when an expression runs.
    element = etree.Element("any")
    try:
        result = compiled(element, **cast(dict[str, Any], dict.fromkeys(variables, element)))
    except etree.XPathEvalError as error:
        yield LanguageError(f"not XPath 1.0: {error}", position=hole.position)
        return
    if nodes and not isinstance(result, list):
        yield LanguageError(
            f"'{hole.text}' finds no nodes but a value: expected a path", position=hole.position
        )


def _name_faults(
    hole: Hole, namespaces: Mapping[str, str], variables: Collection[str]
) -> Iterator[LanguageError]:
    offset = 0
    while offset < len(hole.text):
        match = TOKEN.match(hole.text, offset)
        here = _place(hole, offset)
        if match is None:
            character = hole.text[offset]
            yield LanguageError(f"not XPath 1.0: unexpected '{character}'", position=here)
            return
        offset = match.end()
        if (variable := match["variable"]) and variable not in variables:
            bound = ", ".join(f"${name}" for name in variables) or "none is bound here"
            yield LanguageError(f"unknown variable ${variable}: expected {bound}", position=here)
        if not (name := match["name"]):
            continue
        use = (match["use"] or "").strip()
        prefix, colon, _ = name.partition(":")
        if use == "(" and name not in NODE_TYPES and name not in _FUNCTIONS:
            # An operator may stand before a bracket: `a and (b)`.
            if name in ("and", "or", "div", "mod"):
                continue
            close = get_close_matches(name, sorted(_FUNCTIONS), n=1, cutoff=0.7)
            hint = f"did you mean {close[0]}()?" if close else "expected one of XPath 1.0"
            yield LanguageError(f"unknown function {name}(): {hint}", position=here)
        elif colon and prefix not in namespaces and prefix != "xml":
            yield LanguageError(
                f"undeclared XML namespace prefix '{prefix}': "
                f"expected 'xmlns {prefix} = \"uri\"' at the head of the file",
                position=here,
            )


def _reason(error: etree.XPathSyntaxError) -> tuple[str, int]:
    """The message of libxml2, and its offset."""
    entries = list(error.error_log)
    if not entries:
        return str(error), 0
    return entries[-1].message.lower(), entries[-1].column


def _place(hole: Hole, offset: int) -> Position:
    start, before = hole.position, hole.text[:offset]
    lines = before.count("\n")
    column = len(before) - before.rfind("\n") if lines else start.column + offset
    return Position(start.file, start.line + lines, column)


def compile_xpath(text: str, namespaces: Mapping[str, str]) -> Evaluation:
    """The evaluation of an expression without :func:`faults`; it may raise lxml's ``XPathError``.

    Attributes come as plain strings. The commonest forms, ``@a`` and ``$v/@a``, take a tenth of
    the time of an XPath evaluation, which is most of the time of mapping a message.
    """
    if match := _ATTRIBUTE.match(text):
        general = _general(text, namespaces)
        return _attribute(match["variable"], clark(match["name"], namespaces), general)
    if match := _FROM_VARIABLE.match(text):
        general = _general(text, namespaces)
        return _relative(match["variable"], _engine(match["rest"], namespaces), general)
    return _general(text, namespaces)


def _engine(text: str, namespaces: Mapping[str, str]) -> etree.XPath:
    return etree.XPath(text, namespaces=dict(namespaces) or None, smart_strings=False)


def _general(text: str, namespaces: Mapping[str, str]) -> Evaluation:
    engine = _engine(text, namespaces)
    used = tuple(
        dict.fromkeys(m["variable"] for m in TOKEN.finditer(text) if m["variable"] is not None)
    )
    if not used:
        return lambda context, variables: engine(context)

    def evaluate(context: Element, variables: Nodes) -> object:
        bound: dict[str, Any] = {name: variables[name] for name in used}
        return engine(context, **bound)

    return evaluate


def _attribute(variable: str | None, name: str, general: Evaluation) -> Evaluation:
    def of_context(context: Element, variables: Nodes) -> object:
        value = context.get(name)
        return () if value is None else (value,)

    def of_variable(context: Element, variables: Nodes) -> object:
        node = variables[variable or ""]
        if isinstance(node, str):
            return general(context, variables)
        value = node.get(name)
        return () if value is None else (value,)

    return of_context if variable is None else of_variable


def _relative(variable: str, engine: etree.XPath, general: Evaluation) -> Evaluation:
    def evaluate(context: Element, variables: Nodes) -> object:
        node = variables[variable]
        return general(context, variables) if isinstance(node, str) else engine(node)

    return evaluate


def clark(name: str, namespaces: Mapping[str, str]) -> str:
    """An XPath name in lxml's notation, ``{namespace}local``."""
    prefix, colon, local = name.partition(":")
    if not colon:
        return name
    uri = "http://www.w3.org/XML/1998/namespace" if prefix == "xml" else namespaces[prefix]
    return f"{{{uri}}}{local}"


def line_of(
    hole: Hole, namespaces: Mapping[str, str], context: Element, variables: Nodes, text: str
) -> int | None:
    """The line of the document where an expression finds ``text`` (any text, if it is empty).

    For error messages: it evaluates again, with strings that have a parent element.
    """
    engine = etree.XPath(hole.text, namespaces=dict(namespaces) or None)
    used = {match["variable"] for match in TOKEN.finditer(hole.text)}
    bound: dict[str, Any] = {name: node for name, node in variables.items() if name in used}
    try:
        result = engine(context, **bound)
    except etree.XPathError:
        return None
    for node in result if isinstance(result, list) else ():
        if text in ("", _text(node).strip()):
            element = node if isinstance(node, Element) else getattr(node, "getparent", _nothing)()
            line = getattr(element, "sourceline", None)
            return line if isinstance(line, int) else None
    return None


def _nothing() -> None:
    """The parent of a string without parent."""


def texts(result: object) -> list[str]:
    """The string of every node found, or of the one value; outer white space is cut.

    An empty text then counts as missing and is left out; so is NaN, the result of arithmetic over a
    missing value. Numbers come as in XPath's ``string()``: ``72``, not ``72.0``.
    """
    if isinstance(result, list | tuple):
        return [text for node in result if (text := _text(node).strip())]
    text = _text(result).strip()
    return [text] if text else []


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    assert isinstance(value, Element)
    return (value.text or "") if len(value) == 0 else "".join(cast(Iterator[str], value.itertext()))


def _number(value: float) -> str:
    if value != value:
        return ""
    if value in (float("inf"), float("-inf")):
        return "INF" if value > 0 else "-INF"
    return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")
