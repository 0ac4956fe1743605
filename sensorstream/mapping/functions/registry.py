"""All value functions by name: the built-in ones, and a library's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Final

from sensorstream.errors import LanguageError, Position
from sensorstream.language.syntax import NOWHERE, Argument, Call
from sensorstream.mapping.functions.dates import DATE_CALLS
from sensorstream.mapping.functions.definition import (
    FUNCTION,
    Definition,
    Function,
    Library,
    Parameter,
)
from sensorstream.mapping.functions.durations import DURATION_CALLS
from sensorstream.mapping.functions.geometries import GEOMETRY_CALLS
from sensorstream.mapping.functions.numbers import NUMBER_CALLS
from sensorstream.mapping.functions.texts import TEXT_CALLS

_SHAPES: Final = {"text": '"', "number": "0"}
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")


@cache
def builtins() -> Mapping[str, Definition]:
    """The functions that every rule may call, by name, in the order of the documents."""
    calls = (*TEXT_CALLS, *NUMBER_CALLS, *DATE_CALLS, *DURATION_CALLS, *GEOMETRY_CALLS)
    return {each.name: each for each in calls}


def definitions(library: Library) -> Mapping[str, Definition]:
    """All functions that a rule with this library may call, by name."""
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
) -> Call:
    """A call with arguments by their parameters' names, as FnO has them; without the value.

    A parameter of words takes several in one text, such as ``lat lon``.

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
                arguments.append(Argument("word", word, position))
            arguments += _arguments(definition, parameter, value, position)
    return Call(definition.name, tuple(arguments), position)


def _arguments(
    definition: Definition, parameter: Parameter, value: str, position: Position
) -> list[Argument]:
    if parameter.kind == "word" or value in parameter.words:
        return [Argument("word", word, position) for word in value.split()]
    if parameter.kind == "number" and not _NUMBER.fullmatch(value):
        raise LanguageError(
            f"{definition.name}: '{value}' is not a number: expected one for '{parameter.name}'",
            position=position,
        )
    return [Argument(parameter.kind, value, position)]


def compile_call(call: Call, library: Library) -> Function:
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
