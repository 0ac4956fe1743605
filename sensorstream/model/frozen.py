"""Data classes that nobody changes: the parts of trees, and what each message is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_T]) -> type[_T]:
    """A data class with slots, whose objects nobody changes.

    mypy sees to that, as it does for ``dataclass(frozen=True)``. At run time nobody does: with
    Python's check it takes several times as long to make an object.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen:
    """Makes a frozen data class of each class below it: the kinds of nodes of a tree."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)
