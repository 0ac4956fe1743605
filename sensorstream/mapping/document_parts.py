"""The messages of a document: each is mapped at its place, as if the document had no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from typing import TypeAlias, cast

from lxml import etree

from sensorstream.language.syntax import RuleFile
from sensorstream.mapping.xml_document import Element

Split: TypeAlias = Callable[[Element], Sequence[Element]]
"""The roots of the messages in a document, at their places; none if it is one message itself."""


def compile_split(files: Iterable[RuleFile]) -> Split | None:
    """The declarations ``message each``; None if there are none. The first declaration that finds
    elements defines the messages of a document.
    """
    paths = tuple(
        etree.XPath(part.xpath.text, namespaces=file.namespace_map or None)
        for file in files
        for part in file.parts
    )
    if not paths:
        return None

    def split(root: Element) -> Sequence[Element]:
        for path in paths:
            # The check has verified that the path finds nodes.
            found = cast(list[object], path(root))
            if elements := [node for node in found if isinstance(node, Element)]:
                return elements
        return ()

    return split


def in_turn(parts: Sequence[Element]) -> Iterator[Element]:
    """Yield each message at its place in the document, while the others are taken out of it.

    So a path that goes up passes the surroundings of the messages, not all messages, and the time
    for a document is linear in their number. A message inside another one stays in it. In the end
    the document is as before.
    """
    places = _places(parts)
    for part, (parent, _) in places.items():
        parent.remove(part)
    try:
        for part in parts:
            outer = next((each for each in (part, *part.iterancestors()) if each in places), None)
            if outer is None:
                yield part
                continue
            parent, following = places[outer]
            _put(outer, parent, following)
            try:
                yield part
            finally:
                parent.remove(outer)
    finally:
        for part, (parent, following) in places.items():
            _put(part, parent, following)


def alone(part: Element) -> Element:
    """The root of a document with one message only, with its namespaces and lines."""
    return part if part.getparent() is None else deepcopy(part)


def _places(parts: Sequence[Element]) -> dict[Element, tuple[Element, Element | None]]:
    """The outermost messages with their parents and the next sibling that is no message."""
    members = set(parts)
    outermost = {
        part: parent
        for part in parts
        if (parent := part.getparent()) is not None and members.isdisjoint(part.iterancestors())
    }
    places: dict[Element, tuple[Element, Element | None]] = {}
    for parent in dict.fromkeys(outermost.values()):
        following: Element | None = None
        for child in parent.iterchildren(reversed=True):
            if child in outermost:
                places[child] = parent, following
            else:
                following = child
    return {part: places[part] for part in outermost}


def _put(part: Element, parent: Element, following: Element | None) -> None:
    if following is None:
        parent.append(part)
    else:
        following.addprevious(part)
