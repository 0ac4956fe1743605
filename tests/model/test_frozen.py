"""Data classes for what is made many times for every message."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from copy import copy, deepcopy
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

import pytest

from sensorstream.model.frozen import Frozen, frozen
from sensorstream.rules.rule_memory import RuleMemoryChange

T = TypeVar("T")


@frozen
class _Place:
    x: int
    y: int = 0
    told: str = field(default="", compare=False)


@frozen
class _Named:
    name: str


class _Marked(ABC):
    @abstractmethod
    def mark(self) -> str: ...


@frozen
class _Sign(_Marked):
    secret: str = field(repr=False)
    parts: list[int] = field(default_factory=list, metadata={"unit": "m"})

    def mark(self) -> str:
        return "!"


@frozen
class _Loud(_Sign):
    times: int = 2


@frozen
class _Box(Generic[T]):
    item: T


class _Node(Frozen):
    place: int = field(default=0, compare=False, kw_only=True)


class _Leaf(_Node):
    text: str


def as_data_class(kind: Any) -> Any:
    """The data class of Python that has the same fields."""
    body: dict[str, Any] = {"__annotations__": {}}
    for each in fields(kind):
        body["__annotations__"][each.name] = each.type
        options: dict[str, Any] = {
            "compare": each.compare,
            "repr": each.repr,
            "kw_only": each.kw_only,
        }
        if each.default_factory is not MISSING:
            options["default_factory"] = each.default_factory
        elif each.default is not MISSING:
            options["default"] = each.default
        body[each.name] = field(**options)
    return dataclass(frozen=True)(type(kind.__name__, (), body))


KINDS: dict[Any, list[Any]] = {
    _Place: [((1,), {}), ((1, 0), {"told": "once"}), ((1, 2, "again"), {})],
    _Named: [(("four",), {}), ((), {"name": "four"})],
    _Sign: [(("s",), {}), (("s", [1]), {}), ((), {"secret": "t"})],
    _Loud: [(("s", [], 3), {}), ((), {"secret": "s", "times": 3})],
    _Box: [((1,), {}), (("1",), {})],
    _Leaf: [(("a",), {}), (("a",), {"place": 7}), (("b",), {"place": 7})],
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_is_shown_and_compared_as_one_of_pythons_data_classes(kind: Any) -> None:
    other = as_data_class(kind)
    ours, theirs = (
        [each(*given, **named) for given, named in KINDS[kind]] for each in (kind, other)
    )
    # A qualified name that pytest does not know: its own, without the function around it.
    assert [repr(each).rpartition(">.")[2] for each in theirs] == list(map(repr, ours))
    assert [asdict(each) for each in ours] == [asdict(each) for each in theirs]
    equal = [[one == two for two in ours] for one in ours]
    assert equal == [[one == two for two in theirs] for one in theirs]
    if kind not in (_Sign, _Loud):
        hashes = [[hash(one) == hash(two) for two in ours] for one in ours]
        assert hashes == equal


def test_equal_values_are_one_key() -> None:
    assert {_Place(1, told="once"): 7}[_Place(1, 0, "again")] == 7
    assert _Place(1) != _Place(2)
    assert replace(_Place(1), y=2) == _Place(1, 2)
    assert len({_Box("a"), _Named("a")}) == 2
    with pytest.raises(TypeError):
        hash(RuleMemoryChange(is_kept=True))


def test_an_object_has_its_fields_and_no_others() -> None:
    for name in ("z", "x"):
        with pytest.raises(AttributeError):
            setattr(_Place(1), name, 3)


def test_what_a_field_says_of_itself_is_kept() -> None:
    assert fields(_Loud)[1].metadata == {"unit": "m"}


@pytest.mark.parametrize(
    "value", [_Place(1, 2, "three"), _Named("four"), _Loud("s", [1], 3), _Box((1,))]
)
def test_a_copy_has_all_its_values(value: Any) -> None:
    for found in (pickle.loads(pickle.dumps(value)), copy(value), deepcopy(value)):
        assert asdict(found) == asdict(value)


def test_a_constructor_that_nobody_would_call_is_refused() -> None:
    with pytest.raises(TypeError, match="_Made: a frozen class has no __init__"):

        class _Made(_Named):
            def __init__(self) -> None: ...
