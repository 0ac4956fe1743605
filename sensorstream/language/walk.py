"""Traversal of a syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

_Node = TypeVar("_Node")


def nodes(tree: object, kind: type[_Node]) -> Iterator[_Node]:
    """Every node of one kind at or under ``tree``, parents first, in the order of the fields.

    Positions are not nodes.
    """
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, kind):
            yield node
        if isinstance(node, tuple):
            left += node[::-1]
        else:
            for name in _parts(type(node)):
                left.append(getattr(node, name))


@cache
def _parts(kind: type[Any]) -> tuple[str, ...]:
    """The fields that hold nodes, the last one first; what is not compared is a position."""
    if not is_dataclass(kind):
        return ()
    return tuple(each.name for each in fields(kind) if each.compare)[::-1]
