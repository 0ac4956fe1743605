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
    best, farthest = "", -1
    for rule in rules:
        if "//" in rule.path or "|" in rule.path or not rule.path.startswith("/"):
            continue
        steps = _STEP.findall(rule.path)
        reached: list[Element] = []
        for index in range(len(steps)):
            found = _find(root, "/" + "/".join(steps[: index + 1]), rule.namespaces)
            if not found:
                if index > farthest:
                    farthest, best = index, _missing(rule, steps, index, reached or [root])
                break
            reached = found
    return best or f"the message's root element is {_shown(root)}, which no rule asks for"


def _find(root: Element, path: str, namespaces: Mapping[str, str]) -> list[Element]:
    try:
        found = root.xpath(path, namespaces=dict(namespaces) or None)
    except etree.XPathError:
        # The path does not part into steps the simple way.
        return []
    return [node for node in found if isinstance(node, Element)] if isinstance(found, list) else []


def _missing(rule: Landmarks, steps: list[str], index: int, reached: list[Element]) -> str:
    """What a rule misses at a step, ``reached`` by the steps before (the root for the first)."""
    nodes = reached if index == 0 else [child for parent in reached for child in parent]
    there = list(dict.fromkeys(_written(node, rule.namespaces) for node in nodes))
    wanted = steps[index].partition("[")[0]
    before = "".join(f"/{step}" for step in steps[:index])
    head = f"rule {rule.rule} is the nearest: it asks for {rule.path}, but "
    if wanted in there:
        return f"{head}{before}/{wanted} is not as in {steps[index]}"
    close = get_close_matches(wanted, there, n=1)
    instead = f"did you mean {close[0]}?" if close else f"found {', '.join(there) or 'nothing'}"
    return f"{head}there is no {before}/{wanted}: {instead}"


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
