"""The shape of messages: their kinds of elements, and what each holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from lxml import etree

from sensorstream.mapping.xml_document import Element

Tag: TypeAlias = tuple[str, str]
"""A name in XML: its namespace ("" for none) and its local name."""

MOST_KINDS: Final = 300
"""The most kinds of elements that are drafted; a message of a standard has fewer than a hundred."""
_XSI: Final = "http://www.w3.org/2001/XMLSchema-instance"
_LEFT_OUT: Final = (f"{{{_XSI}}}schemaLocation", f"{{{_XSI}}}noNamespaceSchemaLocation")


@dataclass(slots=True)
class ValuesAtPlace:
    """The values at one place: an attribute, or the text of a kind of element."""

    seen: list[str] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    """The number of each value's message."""
    always: bool = True
    """Whether each element of the kind has exactly one."""

    def note(self, text: str, message: int) -> None:
        """Note a value."""
        self.seen.append(text)
        self.messages.append(message)


@dataclass(slots=True, eq=False)
class ElementKind:
    """The elements that have the same path of names."""

    tag: Tag
    parent: ElementKind | None
    count: int = 0
    most: int = 0
    """The most of them in one parent."""
    always: bool = True
    """Whether each parent has exactly one."""
    attributes: dict[Tag, ValuesAtPlace] = field(default_factory=dict)
    text: ValuesAtPlace = field(default_factory=ValuesAtPlace)
    children: dict[Tag, ElementKind] = field(default_factory=dict)

    @property
    def is_value(self) -> bool:
        """Whether it holds a text and nothing else."""
        return not self.children and not self.attributes

    def walk(self) -> Iterator[ElementKind]:
        """Yield this kind and all below it, in the order of the message."""
        yield self
        for child in self.children.values():
            yield from child.walk()


@dataclass(slots=True)
class MessageShape:
    """The kinds of messages, by those of their roots; ``left_out`` are paths not in it."""

    roots: dict[Tag, ElementKind] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)


def shape_of(roots: Iterable[Element]) -> MessageShape:
    """The shape of documents, in time linear in their size; it has :data:`MOST_KINDS` kinds at
    most. Elements of further kinds are left out, with all below them.
    """
    shape, kinds = MessageShape(), 0
    for number, root in enumerate(roots):
        tag = tag_of(root.tag)
        kinds += tag not in shape.roots
        kinds = _note(
            root, shape.roots.setdefault(tag, ElementKind(tag, None)), number, shape, kinds
        )
    return shape


def _note(root: Element, start: ElementKind, number: int, shape: MessageShape, kinds: int) -> int:
    """Note a message; return how many kinds there are then."""
    waiting: list[tuple[Element, ElementKind, int]] = [(root, start, 1)]
    while waiting:
        element, kind, nth = waiting.pop()
        kind.count += 1
        kind.most = max(kind.most, nth)
        _note_attributes(element, kind, shape, number)
        _note_texts(element, kind, number)
        counts: dict[ElementKind, int] = {}
        below: list[tuple[Element, ElementKind, int]] = []
        for child in element:
            tag = tag_of(child.tag)
            found = kind.children.get(tag)
            if found is None:
                if kinds == MOST_KINDS:
                    path = element.getroottree().getpath(child)
                    shape.left_out[path] = sum(1 for _ in child.iter())
                    continue
                kinds += 1
                found = kind.children[tag] = ElementKind(tag, kind, always=kind.count == 1)
            counts[found] = counts.get(found, 0) + 1
            below.append((child, found, counts[found]))
        for each in kind.children.values():
            each.always = each.always and counts.get(each) == 1
        waiting.extend(reversed(below))
    return kinds


def tag_of(name: object) -> Tag:
    """A name of lxml, ``{uri}local``, in two parts."""
    parts = etree.QName(str(name))
    return str(parts.namespace or ""), str(parts.localname)


def _note_attributes(element: Element, kind: ElementKind, shape: MessageShape, number: int) -> None:
    present = set()
    for name, value in element.attrib.items():
        if name in _LEFT_OUT:
            shape.left_out[f"{element.getroottree().getpath(element)}/@{tag_of(name)[1]}"] = 1
            continue
        tag = tag_of(name)
        values = kind.attributes.setdefault(tag, ValuesAtPlace(always=kind.count == 1))
        if text := str(value).strip():
            values.note(text, number)
            present.add(tag)
    for tag, values in kind.attributes.items():
        values.always = values.always and tag in present


def _note_texts(element: Element, kind: ElementKind, number: int) -> None:
    texts = [element.text, *(child.tail for child in element)]
    said = [text.strip() for text in texts if text and text.strip()]
    for each in said:
        kind.text.note(each, number)
    kind.text.always = kind.text.always and len(said) == 1
