"""Functions by their IRIs, with arguments by name: what RML's functions (FnO) are run by."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest

from sensorstream.errors import LanguageError
from sensorstream.mapping.functions.function_definition import Library
from sensorstream.mapping.functions.function_registry import (
    builtins,
    call_of,
    compile_call,
    definition_of,
)

LIBRARY = Library({"rooms": {"A1": "hall"}})
BASE = "urn:sensorstream:function#"


def run(name: str, given: Mapping[str, Sequence[str]], *values: str) -> list[str]:
    call = call_of(definition_of(f"{BASE}{name}", LIBRARY), given)
    return compile_call(call, LIBRARY).run(list(values))


@pytest.mark.parametrize(
    ("name", "given", "value", "made"),
    [
        ("upper", {}, "a", "A"),
        ("replace", {"expression": ["a+"], "replacement": ["b"]}, "caat", "cbt"),
        ("part", {"separator": [","], "number": ["-1"]}, "a,b", "b"),
        ("substring", {"first": ["2"]}, "abc", "bc"),
        ("substring", {"first": ["2"], "last": ["2"]}, "abc", "b"),
        ("lookup", {"table": ["rooms"]}, "A1", "hall"),
        ("add", {"operand": ["-1.5"]}, "2", "0.5"),
        ("divide", {"operand": ["4"]}, "2", "0.5"),
        ("number", {"thousands": ["."], "decimal": [","]}, "1.234,5", "1234.5"),
        ("unit", {"from": ["km"], "to": ["m"]}, "2", "2000"),
        ("boolean", {"true": ["Y", "J"], "false": ["N"]}, "J", "true"),
        ("date", {"format": ["%d.%m.%Y", "iso"]}, "2014-08-01", "2014-08-01T00:00:00Z"),
        ("date", {"format": ["iso"], "zone": ["Asia/Tokyo"]}, "2014-08-01T09:00",
         "2014-08-01T00:00:00Z"),
        ("duration", {"format": ["iso", "seconds"]}, "90", "PT1M30S"),
        ("wkt", {"axes": ["lat lon"]}, "1 2", "POINT(2 1)"),
        ("wkt", {"shape": ["line"], "axes": ["x y"], "crs": ["http://e/c"]}, "1 2 3 4",
         "<http://e/c> LINESTRING(1 2, 3 4)"),
    ],
)  # fmt: skip
def test_a_function_is_called_by_its_iri_with_named_arguments(
    name: str, given: Mapping[str, Sequence[str]], value: str, made: str
) -> None:
    assert run(name, given, value) == [made]


@pytest.mark.parametrize(
    ("name", "given", "fault"),
    [
        ("uper", {}, f"unknown function {BASE}uper: did you mean {BASE}upper?"),
        ("upper", {"by": ["x"]}, "upper has no parameter 'by': it has none"),
        ("part", {"nr": ["1"]}, "part has no parameter 'nr': expected one of number, separator"),
        ("part", {"number": ["1"]}, "part needs the parameter 'separator'"),
        ("split", {"separator": [",", ";"]}, "split takes one 'separator', not 2"),
        ("round", {"digits": ["two"]}, "round: 'two' is not a number: expected one for 'digits'"),
        ("duration", {"format": ["soon"]}, "duration is not used so: expected duration FORMAT"),
    ],
)
def test_a_call_that_is_not_right_is_refused(
    name: str, given: Mapping[str, Sequence[str]], fault: str
) -> None:
    with pytest.raises(LanguageError) as caught:
        run(name, given, "x")
    assert caught.value.message.startswith(fault)


def test_no_two_functions_have_the_same_iri() -> None:
    iris = [each.iri for each in builtins().values()]
    assert len(set(iris)) == len(iris)
    assert all(re.fullmatch(rf"{BASE}[a-z]+", each) for each in iris)


def test_every_parameter_is_shown_by_the_usage_of_its_function() -> None:
    for each in builtins().values():
        words = [parameter.before for parameter in each.parameters if parameter.before]
        assert all(word in each.usage for word in words), each.name
        assert each.meaning
