"""Why no rule matched a message: the likely cause, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from lxml import etree

from sensorstream.mapping.document import Element

# The steps of a path: slashes outside brackets and strings part them.
_STEP: Final = re.compile(r"""(?:"[^"]*"|'[^']*'|\[(?:"[^"]*"|'[^']*'|[^\]"'])*\]|[^/\["'])+""")


@dataclass(frozen=True, slots=True)
class Landmarks:
    """What a rule expects of a message: its path and the namespaces of its file."""

    rule: str
    path: str
    namespaces: Mapping[str, str]


def why_unmatched(root: Element, rules: Sequence[Landmarks]) -> str:
    """The likely cause why none of the rules matched, with what to change."""
    if not rules:
        return "there are no mapping rules"
    return _namespace(root, rules) or _nearest(root, rules)


def _namespace(root: Element, rules: Sequence[Landmarks]) -> str:
    name = etree.QName(root)
    if name.namespace is None:
        return ""
    if any(name.namespace in rule.namespaces.values() for rule in rules):
        return ""
    return (
        f"the message's elements are in namespace {name.namespace}, which no rule file declares: "
        f'add xmlns m = "{name.namespace}" and write /m:{name.localname}'
    )


def _nearest(root: Element, rules: Sequence[Landmarks]) -> str:
    """How far the rule that comes farthest gets, and what stands there instead."""
    misses = [miss for rule in rules if (miss := _miss(root, rule))]
    # Of equally near rules the first.
    if best := max(misses, key=lambda miss: (miss.step, miss.likeness), default=None):
        return best.text
    return f"the message's root element is {_shown(root)}, which no rule asks for"


@dataclass(frozen=True, slots=True)
class _Miss:
    """Where a rule's path leaves a message; ``likeness`` 2: only a predicate, 1: a near name."""

    step: int
    likeness: int
    text: str


def _miss(root: Element, rule: Landmarks) -> _Miss | None:
    if "//" in rule.path or "|" in rule.path or not rule.path.startswith("/"):
        return None
    steps = _STEP.findall(rule.path)
    nodes = [root]
    for index, step in enumerate(steps):
        before = "".join(f"/{each}" for each in steps[:index])
        found = _find(root, f"{before}/{step}", rule.namespaces)
        if not found:
            there = list(dict.fromkeys(_written(node, rule.namespaces) for node in nodes))
            wanted = step.partition("[")[0]
            close = get_close_matches(wanted, there, n=1)
            if wanted in there:
                likeness, end = 2, f"{before}/{wanted} is not as in {step}"
            elif close:
                likeness, end = 1, f"there is no {before}/{wanted}: did you mean {close[0]}?"
            else:
                others = ", ".join(there) or "nothing"
                likeness, end = 0, f"there is no {before}/{wanted}: found {others}"
            head = f"rule {rule.rule} is the nearest: it asks for {rule.path}, but "
            return _Miss(index, likeness, head + end)
        nodes = [child for parent in found for child in parent]
    return None


def _find(root: Element, path: str, namespaces: Mapping[str, str]) -> list[Element]:
    try:
        found = root.xpath(path, namespaces=dict(namespaces) or None)
    except etree.XPathError:
        # The path does not part into steps the simple way.
        return []
    return [node for node in found if isinstance(node, Element)] if isinstance(found, list) else []


def _written(element: Element, namespaces: Mapping[str, str]) -> str:
    """An element's name as the rule's XPath would have to write it."""
    name = etree.QName(element)
    for prefix, uri in namespaces.items():
        if uri == name.namespace:
            return f"{prefix}:{name.localname}"
    return name.localname if name.namespace is None else _shown(element)


def _shown(element: Element) -> str:
    name = etree.QName(element)
    return name.localname if name.namespace is None else f"{{{name.namespace}}}{name.localname}"
