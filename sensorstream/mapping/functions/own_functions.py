"""Functions of the user's own: plain typed Python functions that rules may call.

A function takes the value (``str``) and perhaps arguments, and returns the new value::

    def plate(text: str, country: str = "DK") -> str | None:
        ...

It is called for every value that an XPath finds. ``None``, an empty text and an empty list mean
that there is no value; an exception means that the value is invalid. It must depend on its
arguments only, because messages are mapped again when the journal is replayed.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal

from sensorstream.errors import LanguageError, Position, TermError
from sensorstream.language.syntax import Argument, ValueCall
from sensorstream.language.value_holes import is_function_name
from sensorstream.mapping.functions.function_definition import (
    VALUE,
    Definition,
    Function,
    Library,
    Parameter,
)

_RESULTS: Final = (str, str | None, list[str], list[str] | None)
_SHAPES: Final[Mapping[object, tuple[Literal["text", "number", "word"], str, str]]] = {
    str: ("text", '"', '"TEXT"'),
    int: ("number", "0", "NUMBER"),
    float: ("number", "0", "NUMBER"),
    Decimal: ("number", "0", "NUMBER"),
    bool: ("word", "(?:true|false)", "true or false"),
}
_ARGUMENT_TYPES: Final = "str, int, float, Decimal or bool"


def own_function(name: str, function: Callable[..., object], position: Position) -> Definition:
    """A Python function as a value function.

    Raises:
        LanguageError: rules cannot call it: its name, its parameters or its types are others than
            those of the contract.
    """

    def fault(what: str) -> LanguageError:
        return LanguageError(f"function {name}: {what}", position=position)

    if not is_function_name(name):
        raise fault("rules cannot write this name: expected a first letter of a to z")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise fault("it is async or a generator: expected a plain function")
    try:
        hints = typing.get_type_hints(function)
    except Exception as error:
        raise fault(f"its types cannot be read: {error}") from None
    value, *others = inspect.signature(function).parameters.values() or (None,)
    if value is None or value.kind not in _POSITIONAL or hints.get(value.name) is not str:
        raise fault(
            "its first parameter must be the value, of type str: expected e.g. "
            f"def {name}(text: str) -> str. Begin the name with _ if no rule calls it"
        )
    if hints.get("return") not in _RESULTS:
        raise fault(f"expected that it returns {', '.join(map(_shown, _RESULTS))}")
    for each in others:
        if each.kind not in _POSITIONAL:
            raise fault(
                f"parameter {each.name}: rules give no arguments by name: expected a plain one"
            )
        if hints.get(each.name) not in _SHAPES:
            raise fault(f"parameter {each.name}: expected the type {_ARGUMENT_TYPES}")
        if each.name == VALUE:
            raise fault(
                f"parameter {VALUE}: that is the name of the first one: expected another name"
            )
    types = [hints[each.name] for each in others]
    required = [each.default is inspect.Parameter.empty for each in others]
    parameters = tuple(
        Parameter(each.name, _SHAPES[kind][0], required=must)
        for each, kind, must in zip(others, types, required, strict=True)
    )
    return Definition(
        name,
        _usage(name, types, required),
        (inspect.getdoc(function) or "").partition("\n")[0],
        _form(types, required),
        parameters,
        _compiled(function, types),
        position,
    )


_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def _shown(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) and kind is str else str(kind)


def _form(types: Sequence[object], required: Sequence[bool]) -> str:
    """The shapes of the arguments; those with a default may be missing from the end on."""
    form = ""
    for index in reversed(range(len(types))):
        here = f"{' ' if index else ''}{_SHAPES[types[index]][1]}{form}"
        form = here if required[index] else f"(?:{here})?"
    return form


def _usage(name: str, types: Sequence[object], required: Sequence[bool]) -> str:
    shown = (
        _SHAPES[kind][2] if must else f"[{_SHAPES[kind][2]}]"
        for kind, must in zip(types, required, strict=True)
    )
    return " ".join((name, *shown))


def _compiled(
    function: Callable[..., object], types: Sequence[object]
) -> Callable[[ValueCall, Library], Function]:
    def compiled(call: ValueCall, _: Library) -> Function:
        arguments = [
            _argument(call, given, kind) for given, kind in zip(call.arguments, types, strict=False)
        ]
        return Function.on_texts(call, lambda text: _result(function, text, arguments))

    return compiled


def _argument(call: ValueCall, given: Argument, kind: object) -> Any:
    if kind is bool:
        return given.text == "true"
    try:
        return given.text if kind is str else typing.cast(Any, kind)(given.text)
    except (ValueError, InvalidOperation):
        raise LanguageError(
            f"{call.function}: '{given.text}': expected a whole number", position=given.position
        ) from None


def _result(
    function: Callable[..., object], text: str, arguments: Sequence[Any]
) -> tuple[str, ...]:
    try:
        made = function(text, *arguments)
    except (Exception, SystemExit) as error:
        reason = str(error) or "it gives no reason"
        # A ValueError is how a function says that a value is invalid.
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
        raise TermError(f"'{text}' is refused: {kind}{reason}") from None
    results = [] if made is None else [made] if isinstance(made, str) else made
    if not isinstance(results, list) or not all(isinstance(each, str) for each in results):
        raise TermError(
            f"'{text}' became a {type(made).__name__}: expected a str, a list of str, or None"
        )
    for each in results:
        # Python's strings may hold what no text of a message or a triple can.
        if not each.isascii() and not _is_unicode(each):
            raise TermError(f"'{text}' became a text with a lone surrogate")
    return tuple(results)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
