"""The conditions of paths on an element, looked up by place and value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Generic, TypeVar, cast

from sensorstream.mapping.document import Element
from sensorstream.mapping.location_path import ANY, TEXT, Condition

FEW: Final = 4
"""So many names lxml compares faster than a dictionary finds them."""

S = TypeVar("S")
"""What stands behind a condition."""


class _Place(Generic[S]):
    """The conditions on the values of one place."""

    __slots__ = ("by_value", "longest", "present")

    def __init__(self) -> None:
        self.present: S | None = None
        self.by_value: dict[str, S] = {}
        self.longest = 0

    def behind(self) -> Iterator[S]:
        yield from self.by_value.values()
        if self.present is not None:
            yield self.present

    def collect(self, value: str, fulfilled: dict[S, None]) -> None:
        if (state := self.by_value.get(value)) is not None:
            fulfilled[state] = None
        if self.present is not None:
            fulfilled[self.present] = None


class Conditions(Generic[S]):
    """The conditions on an element; ``make`` makes what stands behind a new one."""

    __slots__ = ("_attributes", "_children", "_make", "_names", "_own", "_texts")

    def __init__(self, make: Callable[[], S]) -> None:
        self._make = make
        self._attributes: dict[str, _Place[S]] = {}
        self._own: _Place[S] | None = None
        self._texts: _Place[S] | None = None
        self._children: dict[str, Conditions[S]] = {}
        self._names: tuple[str, ...] = ()

    def after(self, condition: Condition) -> S:
        """What stands behind a condition."""
        return self._after(condition.place.steps, condition.place.there, condition.value)

    def _after(self, steps: Sequence[str], there: str, value: str | None) -> S:
        if steps:
            child = self._children.setdefault(steps[0], Conditions(self._make))
            return child._after(steps[1:], there, value)  # noqa: SLF001
        if there == TEXT:
            place = self._texts = self._texts or _Place()
        elif there:
            place = self._attributes.setdefault(there.removeprefix("@"), _Place())
        else:
            place = self._own = self._own or _Place()
        if value is not None:
            place.longest = max(place.longest, len(value))
            return place.by_value.setdefault(value, self._make())
        if place.present is None:
            place.present = self._make()
        return place.present

    def behind(self) -> Iterator[S]:
        """All that stands behind conditions."""
        for place in (*self._attributes.values(), self._own, self._texts):
            if place is not None:
                yield from place.behind()
        for child in self._children.values():
            yield from child.behind()

    def close(self) -> None:
        """After the last condition: note what there is."""
        self._names = tuple(self._children) if len(self._children) <= FEW else (ANY,)
        for child in self._children.values():
            child.close()

    def fulfilled(self, element: Element) -> dict[S, None]:
        """What stands behind the conditions that an element fulfils, each once."""
        found: dict[S, None] = {}
        self._collect(element, found)
        return found

    def _collect(self, element: Element, found: dict[S, None]) -> None:
        attributes = self._attributes
        if len(attributes) <= FEW:
            for name, place in attributes.items():
                if (value := element.get(name)) is not None:
                    place.collect(value, found)
        else:
            for name, value in cast(list[tuple[str, str]], element.items()):
                if (known := attributes.get(name)) is not None:
                    known.collect(value, found)
        if (own := self._own) is not None:
            own.collect(_string_value(element, own.longest), found)
        if (texts := self._texts) is not None:
            for text in values_at(element, TEXT):
                texts.collect(text, found)
        if self._children:
            for child in element.iterchildren(*self._names):
                if (conditions := self._children.get(child.tag)) is not None:
                    conditions._collect(child, found)  # noqa: SLF001


def values_at(element: Element, there: str) -> Sequence[str]:
    """The attribute ``@name``, or for ``text()`` the texts of an element."""
    if there != TEXT:
        value = element.get(there.removeprefix("@"))
        return () if value is None else (value,)
    texts = [element.text, *(child.tail for child in element)]
    return [text for text in texts if text]


def _string_value(element: Element, longest: int) -> str:
    """The string value (XPath 1.0, section 5.2), or the beginning if it is longer than that."""
    if len(element) == 0:
        return element.text or ""
    parts: list[str] = []
    left = longest
    for text in cast(Iterator[str], element.itertext()):
        parts.append(text)
        left -= len(text)
        if left < 0:
            break
    return "".join(parts)
