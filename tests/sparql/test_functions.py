from __future__ import annotations

import inspect

import pytest

from sensorstream.sparql.functions import FUNCTIONS, Builtin, Trait

# Their value is not one of their arguments' values alone.
OF_THE_COMPILER = {"BOUND", "COALESCE", "IF"}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_function_has_a_body_for_each_number_of_its_arguments(function: Builtin) -> None:
    if function.value is None:
        apart = function.traits & {Trait.UNREPEATABLE, Trait.OF_EVENT}
        assert apart or function.name in OF_THE_COMPILER
        return
    most = function.least + 3 if function.most is None else function.most
    for count in range(function.least, most + 1):
        inspect.signature(function.value).bind(*[None] * count)
