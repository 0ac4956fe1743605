"""The parts of a message that no rule read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from lxml import etree

from sensorstream.language.syntax import XML_SCHEMA_INSTANCE
from sensorstream.mapping.document import Element

_ABOUT_SCHEMAS: Final = f"{{{XML_SCHEMA_INSTANCE}}}"
_SHOWN: Final = 60


@dataclass(slots=True)
class Seen:
    """The nodes that expressions found.

    ``passed`` are elements that were the context of a rule, ``whole`` those whose text it read.
    """

    passed: set[Element] = field(default_factory=set)
    elements: set[Element] = field(default_factory=set)
    attributes: set[tuple[Element, str]] = field(default_factory=set)
    whole: set[Element] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Unmapped:
    """Equal places that no rule read: how many, and text and line of the first."""

    path: str
    count: int
    text: str
    line: int


def unmapped(root: Element, seen: Seen, namespaces: Mapping[str, str]) -> tuple[Unmapped, ...]:
    """Attributes and elements with content that no path found, in document order. If nothing inside
    an element was read either, only the element is listed.
    """
    prefixes = {uri: name for name, uri in namespaces.items()}
    found: dict[str, Unmapped] = {}

    def tell(path: str, text: str, element: Element) -> None:
        line = element.sourceline
        first = found.get(path)
        if first is None:
            shown = " ".join(text.split())
            shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
            found[path] = Unmapped(path, 1, shown, line if isinstance(line, int) else 1)
        else:
            found[path] = Unmapped(path, first.count + 1, first.text, first.line)

    # Elements that were found, and those above them or above an attribute that was.
    touched = seen.passed | seen.elements | seen.whole | {element for element, _ in seen.attributes}
    on_the_way = {above for element in touched for above in element.iterancestors()} | touched

    def visit(element: Element, path: str, *, taken: bool) -> None:
        # If an element's text was read, so was the text of all elements in it, but no attribute.
        taken = taken or element in seen.whole
        if taken:
            texts: list[str] = []
        elif element not in on_the_way:
            tell(path, "".join(str(text) for text in element.itertext()), element)
            return
        else:
            texts = [element.text or "", *(child.tail or "" for child in element)]
        for name, value in element.attrib.items():
            written = str(name)
            if (element, written) not in seen.attributes and not written.startswith(_ABOUT_SCHEMAS):
                tell(f"{path}/@{_written(written, prefixes)}", str(value), element)
        if element not in seen.elements and any(text.strip() for text in texts):
            tell(f"{path}/text()", "".join(texts), element)
        for child in element:
            visit(child, f"{path}/{_written(str(child.tag), prefixes)}", taken=taken)

    visit(root, f"/{_written(str(root.tag), prefixes)}", taken=False)
    return tuple(found.values())


def _written(name: str, prefixes: Mapping[str, str]) -> str:
    qualified = etree.QName(name)
    prefix = prefixes.get(qualified.namespace or "")
    return f"{prefix}:{qualified.localname}" if prefix else name
