"""Traversal of a syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import TypeVar

_Node = TypeVar("_Node")


def nodes(tree: object, kind: type[_Node]) -> Iterator[_Node]:
    """Every node of one kind at or under ``tree``, parents first, in the order of the fields."""
    if isinstance(tree, kind):
        yield tree
    if isinstance(tree, tuple):
        for item in tree:
            yield from nodes(item, kind)
    elif is_dataclass(tree):
        for part in fields(tree):
            yield from nodes(getattr(tree, part.name), kind)
