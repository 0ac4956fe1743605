"""Values of dataclasses come back from JSON as they were, whatever fields their class has now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, Generic, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.engine import codec
from sensorstream.engine.codec import decode, encode, texts
from sensorstream.engine.engine import EngineState
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, BlankNode, Literal, Term

Item = TypeVar("Item")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Inner:
    number: int | None
    term: Term


@dataclass(frozen=True, slots=True)
class Other:
    text: str = ""


@dataclass(slots=True)
class Box(Generic[Item]):
    items: list[Item] = field(default_factory=list)
    by_name: dict[str, Item] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Everything:
    flag: bool
    ratio: float
    share: Fraction
    content: bytes
    colour: Colour
    maybe: Inner | None
    either: Inner | Other
    rows: tuple[tuple[Term | None, ...], ...]
    pairs: Mapping[tuple[IRI | BlankNode, IRI], Inner]
    counted: Mapping[int, str]
    box: Box[Inner]
    names: frozenset[IRI]
    triple: tuple[int, str, Colour | None]


iris = st.text("abcdé/#", max_size=5).map(lambda text: IRI(f"http://e/{text}"))
nodes = st.text("abc1", min_size=1, max_size=3).map(lambda text: BlankNode(f"_:{text}"))
literals = st.one_of(
    st.text(max_size=6).map(Literal),
    st.integers().map(lambda number: Literal(str(number), xsd.INTEGER)),
    st.builds(lambda text: Literal(text, language="en"), st.text('"\\\n\r\té', max_size=4)),
)
terms = st.one_of(iris, nodes, literals)
inners = st.builds(Inner, st.none() | st.integers(), terms)
boxes = st.builds(
    Box[Inner], st.lists(inners, max_size=3), st.dictionaries(st.text(max_size=3), inners)
)
everything = st.builds(
    Everything,
    st.booleans(),
    st.floats(allow_nan=False),
    st.fractions(),
    st.binary(max_size=9),
    st.sampled_from(Colour),
    st.none() | inners,
    inners | st.builds(Other, st.text(max_size=3)),
    st.lists(st.lists(st.none() | terms, max_size=3).map(tuple), max_size=3).map(tuple),
    st.dictionaries(st.tuples(iris | nodes, iris), inners, max_size=3),
    st.dictionaries(st.integers(), st.text(max_size=3), max_size=3),
    boxes,
    st.frozensets(iris, max_size=3),
    st.tuples(st.integers(), st.text(max_size=3), st.none() | st.sampled_from(Colour)),
)


def through_json(value: Any, kind: Any) -> Any:
    return decode(json.loads(json.dumps(encode(value, kind))), kind)


@settings(max_examples=200)
@given(everything)
def test_a_value_comes_back_with_every_type_it_had(value: Everything) -> None:
    again = through_json(value, Everything)
    assert again == value
    assert repr(again) == repr(value) or again.names == value.names


@settings(max_examples=100)
@given(st.lists(everything, max_size=5))
def test_pieces_of_text_are_together_the_text_of_all(values: list[Everything]) -> None:
    whole = json.dumps(encode(Box(values), Box[Everything]), separators=(",", ":"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_AT_ONCE", 2)
        pieces = list(texts(Box(values), Box[Everything]))
    assert "".join(pieces) == whole
    assert len(pieces) > len(values)


@given(terms)
def test_terms_keep_their_kind(term: Term) -> None:
    again = through_json(Inner(1, term), Inner).term
    assert (type(again), again) == (type(term), term)


def test_equal_sets_have_equal_data() -> None:
    names = [IRI(f"http://e/{number}") for number in range(50)]
    kind = make_dataclass("Names", [("names", frozenset[IRI])])
    assert encode(kind(frozenset(names)), kind) == encode(kind(frozenset(reversed(names))), kind)


def test_a_field_that_data_lack_gets_its_default_and_one_too_many_is_passed_over() -> None:
    @dataclass(frozen=True)
    class Old:
        gone: str
        kept: int

    @dataclass(frozen=True)
    class New:
        kept: int
        added: tuple[int, ...] = (7,)

    old = Box([Old("x", 1), Old("y", 2)], {"a": Old("z", 3)})
    data = json.loads(json.dumps(encode(old, _box_of(Old))))
    assert decode(data, _box_of(New)) == Box([New(1), New(2)], {"a": New(3)})


def _box_of(kind: Any) -> Any:
    return Box[kind]


def test_data_that_lack_a_field_without_a_default_are_refused() -> None:
    with pytest.raises(ValueError, match=r"not those of Inner.*term"):
        decode({"number": 1}, Inner)


@pytest.mark.parametrize("kind", [Any, object, int | tuple[int, ...], complex, list])
def test_a_type_without_data_is_refused_before_any_value_is_seen(kind: Any) -> None:
    made = make_dataclass("Bad", [("value", kind)])
    with pytest.raises(TypeError, match="no data are known"):
        encode(made(None), made)


def test_the_whole_state_of_an_engine_has_data() -> None:
    with pytest.raises(ValueError, match="not those of EngineState"):
        decode({}, EngineState)
