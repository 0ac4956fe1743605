"""Finds the rules that can match a message: most deployments have many rules, few for each kind.

The root element and, for paths like ``/Message/Event/Tracker[@type='FaceTracker']``, the value of
that attribute distinguish most rules. Both are looked up, so a rule for another kind of message
costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from sensorstream.mapping.document import Element

_NAME: Final = r"(?:[^\W\d][\w.-]*:(?!:))?[^\W\d][\w.-]*"
_ROOT: Final = re.compile(rf"\s*/\s*({_NAME})(?=\s*[/\[]|\s*\Z)(?!.*\|)", re.S)
_STEPS: Final = re.compile(
    rf"""\s*((?:/\s*{_NAME}\s*)+)\[\s*@({_NAME})\s*=\s*('[^']*'|"[^"]*")\s*\]\s*\Z"""
)

_FEW: Final = 3
"""With fewer rules, trying them is as fast as the lookup."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a message must have for a rule to match; names are lxml's (``{namespace}local``).

    ``root`` is the tag of its root element. ``value`` is that of ``attribute`` in an element at
    the end of ``steps`` below the root; without attribute there is no such condition.
    """

    root: str
    steps: tuple[str, ...] = ()
    attribute: str = ""
    value: str = ""

    @classmethod
    def of(cls, path: str, namespaces: Mapping[str, str]) -> Mark | None:
        """The mark of a path; None if it may match any message."""
        at_root = _ROOT.match(path)
        if at_root is None:
            return None
        parts = _STEPS.match(path)
        if parts is None:
            return cls(_expanded(at_root[1], namespaces))
        root, *steps = (_expanded(step.strip(), namespaces) for step in parts[1].split("/")[1:])
        return cls(root, tuple(steps), _expanded(parts[2], namespaces), parts[3][1:-1])


class Marked(Protocol):
    """A rule with its mark; a rule without mark may match any message."""

    @property
    def mark(self) -> Mark | None: ...


R = TypeVar("R", bound=Marked)
_Numbered: TypeAlias = tuple[int, R]
_Place: TypeAlias = tuple[tuple[str, ...], str]
"""Steps below the root, and an attribute there."""


class Sieve(Generic[R]):
    """Rules by their marks."""

    __slots__ = ("_any", "_by_root", "_by_value")

    def __init__(self, rules: Iterable[R]) -> None:
        self._any: list[_Numbered[R]] = []
        self._by_root: dict[str, list[_Numbered[R]]] = {}
        self._by_value: dict[str, dict[_Place, dict[str, list[_Numbered[R]]]]] = {}
        at_place: dict[tuple[str, _Place], list[tuple[str, _Numbered[R]]]] = {}
        for number, rule in enumerate(rules):
            mark = rule.mark
            if mark is None:
                self._any.append((number, rule))
            elif not mark.attribute:
                self._by_root.setdefault(mark.root, []).append((number, rule))
            else:
                place = (mark.steps, mark.attribute)
                at_place.setdefault((mark.root, place), []).append((mark.value, (number, rule)))
        for (root, place), marked in at_place.items():
            if len(marked) <= _FEW:
                self._by_root.setdefault(root, []).extend(rule for _, rule in marked)
                continue
            by_value = self._by_value.setdefault(root, {}).setdefault(place, {})
            for value, numbered in marked:
                by_value.setdefault(value, []).append(numbered)

    def may_match(self, root: Element) -> Sequence[R]:
        """The rules that can match a message, in order."""
        tag = str(root.tag)
        found = [*self._any, *self._by_root.get(tag, ())]
        for (steps, attribute), by_value in self._by_value.get(tag, {}).items():
            for value in {node.get(attribute) for node in _below(root, steps)}:
                if value is not None:
                    found += by_value.get(value, ())
        found.sort(key=itemgetter(0))
        return [rule for _, rule in found]


def _below(root: Element, steps: Sequence[str]) -> Sequence[Element]:
    nodes = [root]
    for step in steps:
        nodes = [child for node in nodes for child in node.iterchildren(step)]
    return nodes


def _expanded(name: str, namespaces: Mapping[str, str]) -> str:
    prefix, colon, local = name.rpartition(":")
    return f"{{{namespaces[prefix]}}}{local}" if colon else name
