"""Data classes for what is made many times for every message."""

from __future__ import annotations

import pickle
from copy import copy, deepcopy
from dataclasses import field, replace

import pytest

from sensorstream.model.frozen import frozen


@frozen
class _Place:
    x: int
    y: int = 0
    told: str = field(default="", compare=False)


def test_equal_values_are_one_key() -> None:
    assert {_Place(1, told="once"): 7}[_Place(1, 0, "again")] == 7
    assert _Place(1) != _Place(2)
    assert replace(_Place(1), y=2) == _Place(1, 2)


def test_an_object_has_its_fields_and_no_others() -> None:
    with pytest.raises(AttributeError):
        object.__setattr__(_Place(1), "z", 3)


@frozen
class _Named:
    name: str


@pytest.mark.parametrize("value", [_Place(1, 2, "three"), _Named("four")])
def test_a_copy_has_all_its_values(value: _Place | _Named) -> None:
    for found in (pickle.loads(pickle.dumps(value)), copy(value), deepcopy(value)):
        assert repr(found) == repr(value)
