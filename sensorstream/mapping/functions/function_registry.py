"""The value functions by name, built-in ones and a library's own, and the calls of a hole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Final

from sensorstream.errors import LanguageError, Position, TermError
from sensorstream.language.syntax import NOWHERE, Argument, ValueCall
from sensorstream.mapping.functions.function_definition import (
    FUNCTION,
    Definition,
    Function,
    Library,
    Parameter,
    ValueKind,
)
from sensorstream.mapping.functions.geometry_functions import GEOMETRY_CALLS
from sensorstream.mapping.functions.number_functions import NUMBER_CALLS
from sensorstream.mapping.functions.text_functions import TEXT_CALLS
from sensorstream.mapping.functions.time_functions import TIME_CALLS
from sensorstream.model import xsd
from sensorstream.model.terms import Literal
from sensorstream.model.xsd import DATE_TIMES, DURATIONS, GEO_WKT, NUMERIC_TYPES, XSD

_SHAPES: Final = {"text": '"', "number": "0"}
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")


@cache
def builtins() -> Mapping[str, Definition]:
    """The functions that every rule may call, by name, in the order of the documents."""
    calls = (*TEXT_CALLS, *NUMBER_CALLS, *TIME_CALLS, *GEOMETRY_CALLS)
    return {each.name: each for each in calls}


def definitions(library: Library) -> Mapping[str, Definition]:
    """The functions that a rule with this library may call, by name."""
    return {**builtins(), **library.own}


def definition_of(iri: str, library: Library, position: Position = NOWHERE) -> Definition:
    """The function that FnO names by an IRI.

    Raises:
        LanguageError: no function has this IRI.
    """
    known = {each.iri: each for each in definitions(library).values()}
    if iri not in known:
        raise LanguageError(f"unknown function {iri}: {_near(iri, known)}", position=position)
    return known[iri]


def call_of(
    definition: Definition, given: Mapping[str, Sequence[str]], position: Position = NOWHERE
) -> ValueCall:
    """A call with arguments by their parameters' names, as FnO has them; without the value. A
    parameter of words takes several in one text, such as ``lat lon``.

    Raises:
        LanguageError: an unknown or missing parameter, several arguments for a parameter that takes
            one, or no number where one is expected.
    """
    for name in given:
        names = [each.name for each in definition.parameters]
        if name not in names:
            expected = f"expected one of {', '.join(names)}" if names else "it has none"
            raise LanguageError(
                f"{definition.name} has no parameter '{name}': {expected}", position=position
            )
    arguments: list[Argument] = []
    for parameter in definition.parameters:
        values = given.get(parameter.name, ())
        if not values and parameter.required:
            raise LanguageError(
                f"{definition.name} needs the parameter '{parameter.name}'", position=position
            )
        if len(values) > 1 and not parameter.between:
            raise LanguageError(
                f"{definition.name} takes one '{parameter.name}', not {len(values)}",
                position=position,
            )
        for number, value in enumerate(values):
            word = parameter.between if number else parameter.before
            if word:
                arguments.append(Argument("word", word, position=position))
            arguments += _arguments(definition, parameter, value, position)
    return ValueCall(definition.name, tuple(arguments), position=position)


def _arguments(
    definition: Definition, parameter: Parameter, value: str, position: Position
) -> list[Argument]:
    if parameter.kind == "word" or value in parameter.words:
        return [Argument("word", word, position=position) for word in value.split()]
    if parameter.kind == "number" and not _NUMBER.fullmatch(value):
        raise LanguageError(
            f"{definition.name}: '{value}' is not a number: expected one for '{parameter.name}'",
            position=position,
        )
    return [Argument(parameter.kind, value, position=position)]


def compile_call(call: ValueCall, library: Library) -> Function:
    """The function that a call means.

    Raises:
        LanguageError: an unknown function or table, or arguments that it does not take.
    """
    definition = builtins().get(call.function) or library.own.get(call.function)
    if definition is None:
        raise LanguageError(
            f"unknown function {call.function}: {_near(call.function, definitions(library))}",
            position=call.position,
        )
    shape = " ".join(_SHAPES.get(each.kind, each.text) for each in call.arguments)
    if not re.fullmatch(definition.form, shape):
        raise LanguageError(
            f"{call.function} is not used so: expected {definition.usage}", position=call.position
        )
    return definition.compiled(call, library)


def _near(name: str, known: Mapping[str, Definition]) -> str:
    close = get_close_matches(
        name.removeprefix(FUNCTION), [n.removeprefix(FUNCTION) for n in known]
    )
    start = FUNCTION if name.startswith(FUNCTION) else ""
    return f"did you mean {start}{close[0]}?" if close else f"expected one of {', '.join(known)}"


# The calls of a hole, one after the other


_SUITABLE: Final = {
    ValueKind.NUMBER: NUMERIC_TYPES,
    ValueKind.TIME: DATE_TIMES,
    ValueKind.DAY: frozenset((xsd.DATE,)),
    ValueKind.DURATION: DURATIONS,
    ValueKind.BOOLEAN: frozenset((xsd.BOOLEAN,)),
    ValueKind.WKT: frozenset((GEO_WKT,)),
}
_TAKEN: Final = frozenset().union(*_SUITABLE.values())


def compile_calls(
    calls: Sequence[ValueCall], library: Library, *, valid: bool = False
) -> Callable[[list[str]], list[str]]:
    """A function that applies all calls to values, in order; it raises ``TermError`` for an invalid
    one, or leaves it out if ``valid``.

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
    calls: Sequence[ValueCall],
    library: Library,
    datatype: str | None = None,
    make: Callable[[str], Literal] | None = None,
) -> Iterator[LanguageError]:
    """The faults of the functions of a hole. Each must accept the result of the one before; the
    last result and the constants of ``default`` must be valid for ``datatype``. ``make`` makes the
    literal, if the value consists of this hole only.
    """
    compiled: list[tuple[ValueCall, Function]] = []
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
    call: ValueCall, functions: Sequence[Function], make: Callable[[str], Literal] | None
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
