"""Data classes for what is made many times for every message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_T]) -> type[_T]:
    """A data class with slots, whose objects nobody changes.

    mypy sees to that, as it does for ``dataclass(frozen=True)``. At run time nobody does: with
    Python's check it takes several times as long to make an object.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
