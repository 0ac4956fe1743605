"""The likely cause why a path finds nothing in a message, as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain, islice
from typing import Final

from lxml import etree

from sensorstream.mapping.xml_document import Element, written_name
from sensorstream.model.frozen import frozen

# The steps of a path: slashes outside brackets and strings part them.
_STEP: Final = re.compile(r"""(?:"[^"]*"|'[^']*'|\[(?:"[^"]*"|'[^']*'|[^\]"'])*\]|[^/\["'])+""")
_MOST: Final = 100
"""Nodes and names that are looked at of each step, and letters of a name: a hint is not worth more
where a message has thousands that no rule knows."""
_LONGEST: Final = 2000
_NAME: Final = re.compile(r"@?(?:[\w.-]+:(?!:))?[^\W\d][\w.-]*\Z")


@frozen
class Landmarks:
    """The parts of a rule that a hint needs: its path and the namespaces of its file."""

    name: str
    path: str
    namespaces: Mapping[str, str]


def why_unmatched(root: Element, rules: Sequence[Landmarks]) -> str:
    """The likely cause why none of the rules matched, with what to change."""
    if not rules:
        return "there are no mapping rules"
    found = _namespace(root, rules) or _nearest(root, rules)
    return found if len(found) <= _LONGEST else f"{found[:_LONGEST]}…"


def why_nothing(path: str, start: Sequence[Element], namespaces: Mapping[str, str]) -> str:
    """The likely cause why a path finds nothing from any of the nodes; empty if unknown. A
    ``$variable`` at its beginning is one of the nodes.
    """
    miss = _miss(path, start, namespaces)
    return "" if miss is None else miss.text


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
    """A text on how far the best rule gets in the message, and what is there instead."""
    misses = [
        (rule, miss)
        for rule in rules
        if rule.path.startswith("/") and (miss := _miss(rule.path, [root], rule.namespaces))
    ]
    # The first of several equally good rules.
    nearest = max(misses, key=lambda each: (each[1].step, each[1].likeness), default=None)
    if nearest is None:
        return f"the message's root element is {root.tag}, which no rule expects"
    rule, miss = nearest
    return f"rule {rule.name} is the nearest: it expects {rule.path}, but {miss.text}"


@frozen
class _Miss:
    """The place where a path leaves a message; ``likeness`` 2: only a predicate, 1: a near name."""

    step: int
    likeness: int
    text: str


def _miss(path: str, start: Sequence[Element], namespaces: Mapping[str, str]) -> _Miss | None:
    steps = _STEP.findall(path)
    if "//" in path or "|" in path or not steps or not start:
        return None
    head = "/" if path.startswith("/") else ""
    if steps[0].startswith("$"):
        head, steps = f"{steps[0]}/", steps[1:]
    absolute = head == "/"
    nodes = list(start)
    for index, step in enumerate(steps):
        before = head + "".join(f"{each}/" for each in steps[:index])
        # The first step of an absolute path is the root itself.
        first = f"/{step}" if absolute and index == 0 else step
        found = _find(nodes, first, namespaces)
        if found is None:
            return None
        if not found:
            there = nodes if absolute and index == 0 else list(islice(chain(*nodes), _MOST))
            around = [] if absolute and index == 0 else nodes
            return _told(index, before, step, there, around, namespaces)
        nodes = [node for node in found[:_MOST] if isinstance(node, Element)]
    return None


def _told(
    index: int,
    before: str,
    step: str,
    there: Sequence[Element],
    around: Sequence[Element],
    namespaces: Mapping[str, str],
) -> _Miss | None:
    """Describe what a step misses, among elements ``there`` and attributes of ``around``."""
    wanted = step.partition("[")[0]
    if not _NAME.match(wanted):
        return None
    elements = _distinct(written_name(node.tag, namespaces) for node in there)
    attributes = _distinct(
        f"@{written_name(name, namespaces)}" for node in around for name in node.keys()[:_MOST]
    )
    if wanted in elements or wanted in attributes:
        return _Miss(index, 2, f"{before}{wanted} does not match {step}")
    missing = f"there is no {before}{wanted}"
    other = wanted.removeprefix("@") if wanted.startswith("@") else f"@{wanted}"
    if other in elements:
        return _Miss(index, 1, f"{missing}: {other} is an element, not an attribute")
    if other in attributes:
        return _Miss(index, 1, f"{missing}: {wanted} is an attribute, write {other}")
    near = attributes if wanted.startswith("@") else elements
    local = wanted.removeprefix("@").rpartition(":")[2]
    for node in there if not wanted.startswith("@") else ():
        if etree.QName(node).localname == local:
            return _Miss(index, 1, f"{missing}: {_of_namespace(wanted, node, namespaces)}")
    if close := _close(wanted, near):
        return _Miss(index, 1, f"{missing}: did you mean {close}?")
    return _Miss(index, 0, f"{missing}: found {', '.join(near) or 'nothing'}")


def _close(wanted: str, names: Sequence[str]) -> str:
    """The name that was probably meant: equal except for case, one edit away, or else similar."""
    for name in names:
        if name.casefold() == wanted.casefold():
            return name
    # Short names are left out, since almost every other name is one edit away.
    edited = [name for name in names if len(name.removeprefix("@")) > 2 and _one_edit(wanted, name)]
    return next(iter(edited or get_close_matches(wanted, names, n=1)), "")


def _one_edit(one: str, other: str) -> bool:
    """Whether the difference is one letter added, removed or replaced, or two letters swapped."""
    if len(one) > len(other):
        one, other = other, one
    start = next((i for i, letter in enumerate(one) if letter != other[i]), len(one))
    if len(one) < len(other):
        return one[start:] == other[start + 1 :]
    swapped = one[start : start + 2] == other[start : start + 2][::-1]
    return one[start + 1 :] == other[start + 1 :] or (
        swapped and one[start + 2 :] == other[start + 2 :]
    )


def _of_namespace(wanted: str, node: Element, namespaces: Mapping[str, str]) -> str:
    """The advice how to write an element whose local name is right, but not its namespace."""
    name = etree.QName(node)
    uri = name.namespace
    if uri is not None and uri not in namespaces.values():
        return f'it is in namespace {uri}: add xmlns m = "{uri}" and write m:{name.localname}'
    prefix, colon, local = wanted.partition(":")
    if uri is None and colon:
        return (
            f"{local} is here, but in no namespace: the sender has left out "
            f'xmlns="{namespaces.get(prefix, "")}", or the rule should say {local}'
        )
    # A near name: with or without a prefix that is declared.
    return f"did you mean {written_name(node.tag, namespaces)}?"


def _find(
    nodes: Iterable[Element], step: str, namespaces: Mapping[str, str]
) -> list[object] | None:
    """The nodes that a step finds; None if the path cannot be split into simple steps."""
    found: list[object] = []
    for node in nodes:
        try:
            few = f"({step})[position() <= {_MOST}]"
            result = node.xpath(few, namespaces=dict(namespaces) or None)
        except etree.XPathError:
            return None
        if not isinstance(result, list):
            return None
        found += result
    return found


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name if len(name) <= _MOST else f"{name[:_MOST]}…" for name in names))
