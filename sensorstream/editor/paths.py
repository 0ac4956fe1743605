"""The XPath before a place: where its last path starts, and what it has found so far."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lxml import etree

from sensorstream.editor.samples import Scope
from sensorstream.mapping.document import Element
from sensorstream.mapping.xpath_tree import TOKEN

_MOST_VALUES: Final = 3
_LONGEST: Final = 40


@dataclass(frozen=True, slots=True)
class LastPath:
    """The path at the end of an expression.

    ``filtered`` are the paths before the brackets that are open around it, from outside to inside.
    ``base`` is the path up to its last slash, ``step`` what stands behind it.
    """

    filtered: tuple[str, ...]
    base: str
    step: str

    def scope(self, outside: Scope) -> Scope:
        """The context nodes of the path: those that the filtered paths find."""
        scope = outside
        for path in self.filtered:
            scope = replace(scope, nodes=scope.find(path))
        return scope


_STEP: Final = re.compile(r"[@$]?[\w.:-]*\Z")


def last_path(expression: str) -> LastPath | None:
    """The path at the end of an expression; None where no path can go on, as inside a text."""
    step = _STEP.search(expression)
    assert step is not None
    before = expression[: step.start()]
    start = offset = 0
    is_operand = False
    open_at: list[tuple[str, int]] = []
    while offset < len(before):
        match = TOKEN.match(before, offset)
        if match is None:
            return None
        end, text = match.end(), match.group()
        if match["space"] is not None:
            pass
        elif text in ("/", "//", "::", "@"):
            is_operand = False
        elif text in ("[", "("):
            open_at.append((before[start:offset].strip() if text == "[" else "", start))
            start, is_operand = end, False
        elif text in ("]", ")"):
            if not open_at:
                return None
            start, is_operand = open_at.pop()[1], True
        elif (
            text in (".", "..")
            or match["literal"]
            or match["number"]
            or ((match["name"] or match["variable"] or text == "*") and not is_operand)
        ):
            is_operand = True
        else:  # an operator, maybe a word
            start, is_operand = end, False
        offset = end
    base = before[start:].strip()
    if is_operand and base:
        return None
    return LastPath(tuple(path for path, _ in open_at if path), base, step.group())


@dataclass(frozen=True, slots=True)
class Step:
    """An element or attribute that the next step of a path may find.

    ``name`` is as XPath writes it; ``count`` and ``values`` are those of the sample messages.
    """

    name: str
    count: int
    values: tuple[str, ...]


def next_steps(path: LastPath, outside: Scope) -> Iterator[Step]:
    """What may be written behind the last slash, with the prefixes that the file declares."""
    scope = path.scope(outside)
    elements, attributes = f"{path.base}*", f"{path.base}@*"
    found: dict[str, list[str]] = {}
    prefixes = {uri: prefix for prefix, uri in scope.namespaces.items()}
    for node in scope.find(elements):
        if isinstance(node, Element):
            name = _written(node.tag, prefixes)
            found.setdefault(name, []).append((node.text or "").strip())
    for node in scope.find(attributes):
        if attribute := getattr(node, "attrname", None):
            found.setdefault(f"@{_written(attribute, prefixes)}", []).append(str(node))
    for name, values in found.items():
        if not name.endswith(":"):
            yield Step(name, len(values), shown_values(values))


def _written(tag: object, prefixes: dict[str, str]) -> str:
    """A name as XPath writes it; it ends with a colon if its namespace has no prefix."""
    name = etree.QName(str(tag))
    if not name.namespace:
        return name.localname
    prefix = prefixes.get(name.namespace)
    return ":" if prefix is None else f"{prefix}:{name.localname}"


def shown_values(values: Sequence[object]) -> tuple[str, ...]:
    """A few different values, shortened."""
    texts = dict.fromkeys(text for value in values if (text := _text(value)))
    return tuple(texts)[:_MOST_VALUES]


def _text(value: object) -> str:
    if isinstance(value, Element):
        text = (value.text or "").strip() or f"<{etree.QName(value).localname}>"
    else:
        text = str(value).strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
