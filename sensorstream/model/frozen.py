"""Data classes: the parts of trees, and the objects made for each message.

They are structs of msgspec, which makes, compares, prints and pickles them without code of their
own in Python. ``dataclasses.fields``, ``replace`` and ``asdict`` work for them.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Final, TypeVar, dataclass_transform

from msgspec import NODEFAULT, Struct, StructMeta
from msgspec import field as struct_field
from msgspec.structs import force_setattr

__all__ = ["asdict", "field", "fields", "is_dataclass", "replace"]

_T = TypeVar("_T")
_WRITTEN: Final = "__written_fields__"

settle: Callable[[Any, str, Any], None] = force_setattr
"""Set a field in ``__post_init__``."""


class _FrozenMeta(StructMeta):
    """Make structs of classes that are written as data classes. A ``field()`` may have a default, a
    factory, ``compare=False`` and ``repr=False``; ``kw_only`` holds for all fields of its class.

    Raises:
        TypeError: a class has a constructor of its own, which no struct would call.
    """

    def __new__(mcls, name: str, bases: Any, body: dict[str, Any], **options: Any) -> Any:
        if "__init__" in body:
            raise TypeError(f"{name}: a frozen class has no __init__; compute in __post_init__")
        written = {key: each for key, each in body.items() if isinstance(each, Field)}
        body |= {key: _default(each) for key, each in written.items()}
        if any(each.kw_only is True for each in written.values()):
            options["kw_only"] = True
        made: Any = super().__new__(mcls, name, bases, body, **{"frozen": True, **options})
        written = {**getattr(made, _WRITTEN, {}), **written}
        setattr(made, _WRITTEN, written)
        compared = [key for key in made.__struct_fields__ if _has(written, key, "compare")]
        shown = [key for key in made.__struct_fields__ if _has(written, key, "repr")]
        if len(compared) < len(made.__struct_fields__) and "__eq__" not in body:
            value: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda _: ()
            made.__eq__ = lambda one, two: (
                one.__class__ is two.__class__ and value(one) == value(two)
            )
            if made.__struct_config__.frozen:
                made.__hash__ = lambda one: hash(value(one))
        if len(shown) < len(made.__struct_fields__) and "__repr__" not in body:
            made.__repr__ = lambda one: _text(one, shown)
        return made


def _has(written: dict[str, Field[Any]], name: str, option: str) -> bool:
    return name not in written or getattr(written[name], option)


def _text(one: object, names: list[str]) -> str:
    values = ", ".join(f"{name}={getattr(one, name)!r}" for name in names)
    return f"{type(one).__name__}({values})"


def _default(written: Field[Any]) -> Any:
    if written.default_factory is not MISSING:
        return struct_field(default_factory=written.default_factory)
    return NODEFAULT if written.default is MISSING else written.default


class _AbstractMeta(ABCMeta, _FrozenMeta):
    """The class of those with an abstract base."""


class _DataClassFields:
    """The fields of a struct as those of a data class, made when they are first asked for."""

    def __get__(self, _: object, owner: Any) -> dict[str, Field[Any]]:
        return _data_class_fields(owner)


@cache
def _data_class_fields(kind: Any) -> dict[str, Field[Any]]:
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    hints: dict[str, Any] = {}
    for each in reversed(kind.__mro__):
        hints |= vars(each).get("__annotations__", {})
    # With a docstring, or dataclass() would make one of its signature.
    body: dict[str, Any] = {"__doc__": "-", "__annotations__": {e: hints[e] for e in names}}
    for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        factory = getattr(default, "factory", None)
        body[name] = field(default_factory=factory) if factory else field(default=default)
    body |= getattr(kind, _WRITTEN)
    made: Any = dataclass(init=False, repr=False, eq=False)(type(kind.__name__, (), body))
    return {each.name: each for each in fields(made)}


class _Frozen(Struct, metaclass=_FrozenMeta):
    __dataclass_fields__: ClassVar[Any] = _DataClassFields()


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_T]) -> type[_T]:
    """Make a data class with slots, whose objects nobody changes; all below it are, too."""
    return cls if isinstance(cls, _FrozenMeta) else _struct(cls)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[_T]) -> type[_T]:
    """Make such a class whose objects may be changed."""
    return _struct(cls, frozen=False)


def _struct(cls: type[_T], **options: bool) -> type[_T]:
    body = {key: each for key, each in vars(cls).items() if key not in {"__dict__", "__weakref__"}}
    bases = tuple(each for each in cls.__bases__ if each is not object)
    kind = _AbstractMeta if isinstance(cls, ABCMeta) else _FrozenMeta
    body["__qualname__"] = cls.__qualname__
    return kind(cls.__name__, (*bases, _Frozen), body, **options)  # type: ignore[no-any-return]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
@frozen
class Frozen:
    """A base that makes each class below it a frozen data class: the kinds of nodes of a tree."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
