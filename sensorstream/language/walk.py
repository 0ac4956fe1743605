"""Traversal of a syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, TypeVar

_Node = TypeVar("_Node")
_LEAVES: Final = frozenset((str, bool, int, type(None)))


def nodes(tree: object, kind: type[_Node]) -> Iterator[_Node]:
    """Every node of one kind at or under ``tree``, parents first, in the order of the fields.

    Texts, flags and positions are not nodes.
    """
    left: list[Any] = [tree]
    while left:
        node = left.pop()
        if type(node) in _LEAVES:
            continue
        if isinstance(node, kind):
            yield node
        if isinstance(node, tuple):
            left += node[::-1]
        else:
            left += [getattr(node, name) for name in _parts(type(node))]  # type: ignore[arg-type]


@cache
def _parts(kind: type[Any]) -> tuple[str, ...]:
    """The fields that hold nodes, the last one first; what is not compared is a position."""
    if not is_dataclass(kind):
        return ()
    return tuple(
        each.name for each in fields(kind) if each.compare and each.type not in ("str", "bool")
    )[::-1]
