"""From functions over one value to functions over all values of an XPath."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Final, Literal

from sensorstream.errors import LanguageError, TermError
from sensorstream.language.syntax import Argument, Call
from sensorstream.mapping.functions.definition import Function, Parameter, ValueKind, Values
from sensorstream.mapping.functions.numbers import EachNumber, read_number, write_number
from sensorstream.mapping.functions.texts import EachText

READS_NUMBERS: Final = frozenset((ValueKind.ANY, ValueKind.NUMBER))
_LONGEST: Final = 400


def needs(name: str, kind: Literal["text", "number", "word"], before: str = "") -> Parameter:
    """A parameter that every call must give."""
    return Parameter(name, kind, before)


def may(name: str, kind: Literal["text", "number", "word"], before: str = "") -> Parameter:
    """A parameter that a call may leave out."""
    return Parameter(name, kind, before, required=False)


def any_of(words: Iterable[str]) -> str:
    """The shape of one of some arguments."""
    return f"(?:{'|'.join(words)})"


def on_all(
    call: Call,
    takes: Iterable[ValueKind],
    gives: ValueKind,
    run: Values,
    *,
    separate: bool = False,
) -> Function:
    """A function over all values at a time; an error names it."""

    def named(values: list[str]) -> list[str]:
        try:
            # An empty text counts as missing, as in the result of an XPath.
            return [made for made in run(values) if made.strip()]
        except TermError as error:
            raise TermError(f"{call.function}: {_shortened(error.message)}") from None

    return Function(frozenset(takes), gives, named, separate)


def _shortened(message: str) -> str:
    """A message names its value, which may be as long as a document: its end says what is wrong."""
    return message if len(message) <= _LONGEST else f"{message[:100]} … {message[-200:]}"


def on_each(
    call: Call, takes: Iterable[ValueKind], gives: ValueKind, one: Callable[[str], str]
) -> Function:
    """A function from one value to one value."""
    return on_all(
        call, takes, gives, lambda values: [one(value) for value in values], separate=True
    )


def on_texts(call: Call, one: EachText) -> Function:
    """A function from one text to any number of texts."""
    return on_all(
        call,
        ValueKind,
        ValueKind.ANY,
        lambda values: [m for value in values for m in one(value)],
        separate=True,
    )


def on_numbers(call: Call, one: EachNumber) -> Function:
    """A function from one number to one number."""

    def written(text: str) -> str:
        return write_number(one(read_number(text)))

    return on_each(call, READS_NUMBERS, ValueKind.NUMBER, written)


def exact(argument: Argument) -> Decimal:
    """The number of an argument."""
    return Decimal(argument.text)


def whole(argument: Argument, *, zero: bool) -> int:
    """The whole number of an argument.

    Raises:
        LanguageError: not a whole number, or a 0 that is not allowed.
    """
    if "." in argument.text or (int(argument.text) == 0 and not zero):
        kind = "a whole number" if zero else "a whole number that is not 0"
        raise LanguageError(f"'{argument.text}': expected {kind}", position=argument.position)
    return int(argument.text)
