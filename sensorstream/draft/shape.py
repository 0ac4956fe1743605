"""The shape of a message: its kinds of elements, and what each holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from lxml import etree

from sensorstream.mapping.document import Element

Tag: TypeAlias = tuple[str, str]
"""A name in XML: its namespace ("" for none) and its local name."""

MOST_KINDS: Final = 300
"""The most kinds of elements that are drafted; a message of a standard has fewer than a hundred."""
_XSI: Final = "http://www.w3.org/2001/XMLSchema-instance"
_LEFT_OUT: Final = (f"{{{_XSI}}}schemaLocation", f"{{{_XSI}}}noNamespaceSchemaLocation")


@dataclass(slots=True)
class Values:
    """The values at one place: an attribute, or the text of a kind of element."""

    seen: list[str] = field(default_factory=list)
    always: bool = True
    """Whether each element of the kind has exactly one."""


@dataclass(slots=True, eq=False)
class Kind:
    """All elements with the same path of names."""

    tag: Tag
    parent: Kind | None
    count: int = 0
    most: int = 0
    """The most of them in one parent."""
    always: bool = True
    """Whether each parent has exactly one."""
    attributes: dict[Tag, Values] = field(default_factory=dict)
    text: Values = field(default_factory=Values)
    children: dict[Tag, Kind] = field(default_factory=dict)

    @property
    def is_value(self) -> bool:
        """Whether it holds a text and nothing else."""
        return not self.children and not self.attributes

    def walk(self) -> Iterator[Kind]:
        """This kind and all below it, in the order of the message."""
        waiting = [self]
        while waiting:
            kind = waiting.pop()
            yield kind
            waiting.extend(reversed(kind.children.values()))


@dataclass(slots=True)
class Shape:
    """The kinds of a message, from that of its root; ``left_out`` are paths that are not in it."""

    root: Kind
    left_out: dict[str, int] = field(default_factory=dict)


def shape_of(root: Element) -> Shape:
    """The shape of a document, in time linear in its size.

    At most :data:`MOST_KINDS` kinds are kept; elements of others are left out, with all below
    them.
    """
    shape = Shape(Kind(tag_of(root.tag), None))
    kinds = 1
    waiting: list[tuple[Element, Kind, int]] = [(root, shape.root, 1)]
    while waiting:
        element, kind, nth = waiting.pop()
        kind.count += 1
        kind.most = max(kind.most, nth)
        _note_attributes(element, kind, shape)
        _note_texts(element, kind)
        counts: dict[Kind, int] = {}
        below: list[tuple[Element, Kind, int]] = []
        for child in element:
            tag = tag_of(child.tag)
            found = kind.children.get(tag)
            if found is None:
                if kinds == MOST_KINDS:
                    path = element.getroottree().getpath(child)
                    shape.left_out[path] = sum(1 for _ in child.iter())
                    continue
                kinds += 1
                found = kind.children[tag] = Kind(tag, kind, always=kind.count == 1)
            counts[found] = counts.get(found, 0) + 1
            below.append((child, found, counts[found]))
        for each in kind.children.values():
            each.always = each.always and counts.get(each) == 1
        waiting.extend(reversed(below))
    return shape


def tag_of(name: object) -> Tag:
    """A name of lxml, ``{uri}local``, in two parts."""
    parts = etree.QName(str(name))
    return str(parts.namespace or ""), str(parts.localname)


def _note_attributes(element: Element, kind: Kind, shape: Shape) -> None:
    present = set()
    for name, value in element.attrib.items():
        if name in _LEFT_OUT:
            shape.left_out[f"{element.getroottree().getpath(element)}/@{tag_of(name)[1]}"] = 1
            continue
        tag = tag_of(name)
        values = kind.attributes.setdefault(tag, Values(always=kind.count == 1))
        if text := str(value).strip():
            values.seen.append(text)
            present.add(tag)
    for tag, values in kind.attributes.items():
        values.always = values.always and tag in present


def _note_texts(element: Element, kind: Kind) -> None:
    texts = [element.text, *(child.tail for child in element)]
    said = [text.strip() for text in texts if text and text.strip()]
    kind.text.seen += said
    kind.text.always = kind.text.always and len(said) == 1
