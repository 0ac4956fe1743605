"""Composes and checks the value functions of a hole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from sensorstream.errors import LanguageError, TermError
from sensorstream.language.syntax import Call
from sensorstream.mapping.functions import Function, Library, ValueKind, compile_call
from sensorstream.model.terms import Literal
from sensorstream.model.xsd import (
    DATE_TIMES,
    DURATIONS,
    GEO_WKT,
    NUMERIC_TYPES,
    XSD,
    XSD_BOOLEAN,
    XSD_DATE,
)

_SUITABLE: Final = {
    ValueKind.NUMBER: NUMERIC_TYPES,
    ValueKind.TIME: DATE_TIMES,
    ValueKind.DAY: frozenset((XSD_DATE,)),
    ValueKind.DURATION: DURATIONS,
    ValueKind.BOOLEAN: frozenset((XSD_BOOLEAN,)),
    ValueKind.WKT: frozenset((GEO_WKT,)),
}
_TAKEN: Final = frozenset().union(*_SUITABLE.values())


def compile_calls(
    calls: Sequence[Call], library: Library, *, valid: bool = False
) -> Callable[[list[str]], list[str]]:
    """All values through all functions, in order; ``TermError`` for an invalid one.

    With ``valid`` an invalid one is left out.

    Raises:
        LanguageError: one of the faults that ``call_faults`` lists.
    """
    functions = [compile_call(call, library) for call in calls]
    steps = tuple(each.run_valid if valid else each.run for each in functions)
    if len(steps) == 1:
        return steps[0]

    def run(values: list[str]) -> list[str]:
        for step in steps:
            values = step(values)
        return values

    return run


def call_faults(
    calls: Sequence[Call],
    library: Library,
    datatype: str | None = None,
    make: Callable[[str], Literal] | None = None,
) -> Iterator[LanguageError]:
    """The faults of the functions of a hole.

    Each must accept the result of the one before; the last result and the constants of ``default``
    must be valid for ``datatype``. ``make`` makes the literal, if the value consists of this hole
    only.
    """
    compiled: list[tuple[Call, Function]] = []
    for call in calls:
        try:
            compiled.append((call, compile_call(call, library)))
        except LanguageError as error:
            yield error
    if len(compiled) < len(calls) or not compiled:
        return
    given = ValueKind.ANY
    for call, function in compiled:
        if given not in function.takes:
            taken = " or ".join(kind.value for kind in ValueKind if kind in function.takes)
            yield LanguageError(
                f"{call.function} takes {taken}, not {given.value}", position=call.position
            )
            return
        given = function.gives
    if datatype in _TAKEN and datatype not in _SUITABLE.get(given, _TAKEN):
        last = compiled[-1][0]
        yield LanguageError(
            f"{last.function} gives {given.value}, which is not {_shown(datatype)}",
            position=last.position,
        )
        return
    for index, (call, _) in enumerate(compiled):
        if call.function == "default":
            yield from _constant(call, [each for _, each in compiled[index:]], make)


def _shown(datatype: str) -> str:
    return "a geo:wktLiteral" if datatype == GEO_WKT else f"an xsd:{datatype.removeprefix(XSD)}"


def _constant(
    call: Call, functions: Sequence[Function], make: Callable[[str], Literal] | None
) -> Iterator[LanguageError]:
    values: list[str] = []
    try:
        for function in functions:
            values = function.run(values)
        if make is not None:
            for value in values:
                make(value)
    except TermError as error:
        yield LanguageError(f"the default is invalid: {error.message}", position=call.position)
