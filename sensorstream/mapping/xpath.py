"""XPath 1.0 expressions of mapping rules: checked when a rule is read, fast when it is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from lxml import etree

from sensorstream.errors import LanguageError, Position
from sensorstream.language.syntax import XML_SCHEMA_INSTANCE, Hole
from sensorstream.mapping.xml_document import FEW, Element
from sensorstream.mapping.xpath_tree import NC_NAME, NODE_TYPES, OPERATORS, tokens_of

Bound: TypeAlias = Element | str | float | bool | list[Element]
"""The value of a variable: a node or the text of an attribute; by ``let``, any value."""

Nodes: TypeAlias = Mapping[str, Bound]
"""The variables of ``for each`` and ``let``."""

Evaluation: TypeAlias = Callable[[Element, Nodes], object]
"""From context node and variables to lxml's result: list of nodes, str, float or bool."""

FUNCTIONS: Final = frozenset(
    (
        *("last", "position", "count", "id", "local-name", "namespace-uri", "name", "string"),
        *("concat", "starts-with", "contains", "substring-before", "substring-after"),
        *("substring", "string-length", "normalize-space", "translate", "boolean", "not"),
        *("true", "false", "lang", "number", "sum", "floor", "ceiling", "round"),
    )
)
"""XPath 1.0, section 4."""

_NIL: Final = f"{{{XML_SCHEMA_INSTANCE}}}nil"
_TRUE: Final = frozenset(("true", "1"))

# Paths of names need no XPath engine.
_QUALIFIED: Final = rf"{NC_NAME}(?::{NC_NAME})?"
_NAMES: Final = re.compile(
    rf"(?:\$(?P<variable>{NC_NAME})/)?(?P<steps>(?:{_QUALIFIED}/)*)"
    rf"(?:@(?P<attribute>{_QUALIFIED})|(?P<element>{_QUALIFIED}))\Z"
)


def faults(
    hole: Hole,
    namespaces: Mapping[str, str],
    variables: Collection[str],
    *,
    nodes: bool = False,
    samples: Mapping[str, object] = MappingProxyType({}),
) -> Iterator[LanguageError]:
    """The faults of an expression; ``nodes``: it must find nodes. ``variables`` are those in scope;
    they are bound to nodes, or to their ``samples``. Positions point into the rule file.
    """
    names = _NAMES.match(hole.text)
    plain = names is not None and names["variable"] is None
    if plain and ":" not in hole.text:
        return
    found = list(_name_faults(hole, namespaces, variables))
    yield from found
    if found or plain:
        return
    try:
        compiled = etree.XPath(hole.text, namespaces=dict(namespaces) or None)
    except etree.XPathSyntaxError as error:
        reason, offset = _reason(error)
        yield LanguageError(f"not XPath 1.0: {reason}", position=_place(hole, offset))
        return
    # A wrong number or kind of arguments is only found when an expression runs.
    element = etree.Element("any")
    bound = cast(dict[str, Any], dict.fromkeys(variables, element) | dict(samples))
    try:
        result = compiled(element, **bound)
    except etree.XPathEvalError as error:
        yield LanguageError(f"not XPath 1.0: {error}", position=hole.position)
        return
    if nodes and not isinstance(result, list):
        yield LanguageError(
            f"'{hole.text}' finds no nodes but a value: expected a path", position=hole.position
        )


def sample(
    hole: Hole,
    namespaces: Mapping[str, str],
    variables: Collection[str],
    samples: Mapping[str, object],
) -> object:
    """A value of the kind that an expression without :func:`faults` has: a node, text, …"""
    element = etree.Element("any")
    if hole.calls:
        return element
    bound = cast(dict[str, Any], dict.fromkeys(variables, element) | dict(samples))
    result = etree.XPath(hole.text, namespaces=dict(namespaces) or None)(element, **bound)
    return element if isinstance(result, list) else result


def _name_faults(
    hole: Hole, namespaces: Mapping[str, str], variables: Collection[str]
) -> Iterator[LanguageError]:
    tokens = list(tokens_of(hole.text))
    for token, following in zip_longest(tokens, tokens[1:]):
        here, name = _place(hole, token.start), token.text
        if not token.kind:
            yield LanguageError(f"not XPath 1.0: unexpected '{name}'", position=here)
        if token.kind == "variable" and (variable := name[1:]) not in variables:
            bound = ", ".join(f"${name}" for name in variables) or "none is bound here"
            yield LanguageError(f"unknown variable ${variable}: expected {bound}", position=here)
        if token.kind != "name":
            continue
        prefix, colon, _ = name.partition(":")
        is_call = following is not None and following.kind == "("
        # An operator may stand before a bracket: `a and (b)`.
        if is_call and name not in NODE_TYPES | FUNCTIONS | OPERATORS:
            close = get_close_matches(name, sorted(FUNCTIONS), n=1, cutoff=0.7)
            hint = f"did you mean {close[0]}()?" if close else "expected one of XPath 1.0"
            yield LanguageError(f"unknown function {name}(): {hint}", position=here)
        elif colon and prefix not in namespaces and prefix != "xml":
            yield LanguageError(
                f"undeclared XML namespace prefix '{prefix}': "
                f"expected 'xmlns {prefix} = \"uri\"' at the head of the file",
                position=here,
            )


def _variables(text: str) -> set[str]:
    return {token.text[1:] for token in tokens_of(text) if token.kind == "variable"}


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

    Attributes come as plain strings. Paths of names, such as ``@a`` and ``$v/b/@a``, take a tenth
    to a half of the time of an XPath evaluation, which is most of the time of mapping a message.
    """
    general = _general(text, namespaces)
    names = _NAMES.match(text)
    if names is None:
        return general
    steps = tuple(clark(name, namespaces) for name in names["steps"].split("/") if name)
    find: Callable[[Element], Sequence[Element | str]]
    if names["attribute"] is None:
        find = _elements((*steps, clark(names["element"], namespaces)))
    else:
        find = _attributes(steps, clark(names["attribute"], namespaces))
    variable = names["variable"]
    if variable is None:
        return lambda context, variables: find(context)

    def evaluate(context: Element, variables: Nodes) -> object:
        node = variables[variable]
        return find(node) if isinstance(node, Element) else general(context, variables)

    return evaluate


def attribute_texts(
    text: str, namespaces: Mapping[str, str]
) -> tuple[str | None, Callable[[Element], list[str]] | None]:
    """A short way to the :func:`texts` of attributes: the variable that a path of names starts at
    (None: the context), and the texts from there (None: it is another expression).
    """
    names = _NAMES.match(text)
    if names is None or names["attribute"] is None:
        return None, None
    name, steps = clark(names["attribute"], namespaces), names["steps"].split("/")[:-1]
    elements = _elements([clark(step, namespaces) for step in steps])

    def find(element: Element) -> list[str]:
        nodes = elements(element) if steps else (element,)
        return [value for node in nodes if (value := (node.get(name) or "").strip())]

    return names["variable"], find


def _elements(steps: Sequence[str]) -> Callable[[Element], Sequence[Element]]:
    def find(context: Element) -> Sequence[Element]:
        nodes = [context]
        for step in steps:
            nodes = [
                child
                for node in nodes
                for child in (node if len(node) <= FEW else node.iterchildren(step))
                if child.tag == step
            ]
        return nodes

    return find


def _attributes(steps: Sequence[str], name: str) -> Callable[[Element], Sequence[str]]:
    elements = _elements(steps)

    def find(context: Element) -> Sequence[str]:
        return [value for node in elements(context) if (value := node.get(name)) is not None]

    return find


def _general(text: str, namespaces: Mapping[str, str]) -> Evaluation:
    """An evaluation by lxml, compiled at its first use: most rules wait for rare messages."""
    engine: etree.XPath | None = None
    used: tuple[str, ...] = ()

    def evaluate(context: Element, variables: Nodes) -> object:
        nonlocal engine, used
        if engine is None:
            used = tuple(_variables(text))
            # lxml registers them at every evaluation, so it gets only those that are used.
            spaces = {prefix: uri for prefix, uri in namespaces.items() if f"{prefix}:" in text}
            engine = etree.XPath(text, namespaces=spaces or None, smart_strings=False)
        if not used:
            return engine(context)
        bound: dict[str, Any] = {name: variables[name] for name in used}
        return engine(context, **bound)

    return evaluate


def clark(name: str, namespaces: Mapping[str, str]) -> str:
    """An XPath name in lxml's notation, ``{namespace}local``."""
    prefix, colon, local = name.partition(":")
    if not colon:
        return name
    uri = "http://www.w3.org/XML/1998/namespace" if prefix == "xml" else namespaces[prefix]
    return f"{{{uri}}}{local}"


def evaluated(
    expression: str, namespaces: Mapping[str, str], context: Element, variables: Nodes
) -> object:
    """The result of a valid expression, with strings that have a parent element; None: it has none.
    It is for reports; the mapping of the message itself reports errors of the expression.
    """
    used = _variables(expression)
    bound: dict[str, Any] = {name: node for name, node in variables.items() if name in used}
    try:
        return etree.XPath(expression, namespaces=dict(namespaces) or None)(context, **bound)
    except etree.XPathError:
        return None


def line_of(
    expression: str, namespaces: Mapping[str, str], context: Element, variables: Nodes, text: str
) -> int | None:
    """The line of the document where an expression finds ``text`` (any text, if it is empty)."""
    result = evaluated(expression, namespaces, context, variables)
    for node in result if isinstance(result, list) else ():
        if text in ("", _text(node).strip()):
            element = (
                node if isinstance(node, Element) else getattr(node, "getparent", lambda: None)()
            )
            line = getattr(element, "sourceline", None)
            return line if isinstance(line, int) else None
    return None


def texts(result: object) -> list[str]:
    """The string of every node found, or of the one value; outer white space is cut.

    An empty text then counts as missing and is left out; so is an element with ``xsi:nil``, and
    NaN, the result of arithmetic over a missing value. Numbers are as in XPath's ``string()``:
    ``72``, not ``72.0``.
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
    if value.get(_NIL) in _TRUE:
        return ""
    return (value.text or "") if len(value) == 0 else "".join(cast(Iterator[str], value.itertext()))


def _number(value: float) -> str:
    if value != value:
        return ""
    if value in (float("inf"), float("-inf")):
        return "INF" if value > 0 else "-INF"
    return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")
