"""The value functions over numbers and truth values, as rules call them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sensorstream.errors import LanguageError, TermError
from sensorstream.language.syntax import Call
from sensorstream.mapping.functions import numbers
from sensorstream.mapping.functions.definition import (
    Definition,
    Function,
    Library,
    Parameter,
    ValueKind,
)
from sensorstream.mapping.functions.lift import (
    READS_NUMBERS,
    exact,
    may,
    needs,
    on_each,
    on_numbers,
    whole,
)

_TRUE: Final = ("true", "1", "yes", "y", "on")
_FALSE: Final = ("false", "0", "no", "n", "off")
_TEXTS: Final = '"(?: or ")*'


def _arithmetic(call: Call, _: Library) -> Function:
    (operand,) = call.arguments
    return on_numbers(call, numbers.arithmetic(call.function, exact(operand), operand.position))


def _round(call: Call, _: Library) -> Function:
    digits = whole(call.arguments[0], zero=True) if call.arguments else 0
    if not 0 <= digits <= 20:
        raise LanguageError(
            f"cannot round to {digits} digits: expected 0 to 20", position=call.position
        )
    return on_numbers(call, numbers.rounded(digits))


def _number(call: Call, _: Library) -> Function:
    given = {
        name.text: value.text
        for name, value in zip(call.arguments[::2], call.arguments[1::2], strict=True)
    }
    decimal, thousands = given.get("decimal", "."), given.get("thousands", "")
    for argument in call.arguments[1::2]:
        if len(argument.text) != 1 or argument.text.isalnum() or argument.text in "+-":
            raise LanguageError(
                f"'{argument.text}' parts no digits: expected one character such as ','",
                position=argument.position,
            )
    if decimal == thousands:
        raise LanguageError(
            f"'{decimal}' cannot be both: expected two different characters",
            position=call.arguments[-1].position,
        )
    if not given:
        return on_numbers(call, lambda number: number)
    return on_each(call, READS_NUMBERS, ValueKind.NUMBER, numbers.formatted(decimal, thousands))


def _unit(call: Call, _: Library) -> Function:
    if len(call.arguments) == 2:
        target = call.arguments[1]
        own = numbers.conversion_of_its_own(target.text, target.position)
        return on_each(call, (ValueKind.ANY,), ValueKind.NUMBER, own)
    source, _to, target = call.arguments
    return on_numbers(call, numbers.conversion(source.text, target.text, source.position))


def _boolean(call: Call, _: Library) -> Function:
    if not call.arguments:
        read = _truth(_TRUE, _FALSE, str.lower)
    else:
        words = [each.text for each in call.arguments]
        parting = next(i for i, each in enumerate(call.arguments) if each.text == "not" and i % 2)
        read = _truth(words[:parting:2], words[parting + 1 :: 2], str)
        if both := set(words[:parting:2]) & set(words[parting + 1 :: 2]):
            raise LanguageError(
                f"'{min(both)}' cannot be both true and false", position=call.position
            )
    return on_each(call, ValueKind, ValueKind.BOOLEAN, read)


def _truth(
    true: Sequence[str], false: Sequence[str], change: Callable[[str], str]
) -> Callable[[str], str]:
    written = {**dict.fromkeys(false, "false"), **dict.fromkeys(true, "true")}
    expected = ", ".join(written)

    def read(text: str) -> str:
        found = written.get(change(text))
        if found is None:
            raise TermError(f"'{text}' is not a boolean: expected one of {expected}")
        return found

    return read


NUMBER_CALLS: Final = (
    *(
        Definition(
            operator,
            f"{operator} NUMBER",
            "arithmetic on exact decimals",
            "0",
            (needs("operand", "number"),),
            _arithmetic,
        )
        for operator in "+-*/"
    ),
    Definition(
        "round",
        "round or round DIGITS",
        "rounded to digits behind the point; halves away from zero",
        "0?",
        (may("digits", "number"),),
        _round,
    ),
    Definition(
        "number",
        'number, number decimal "," or number decimal "," thousands "."',
        "a number in a local format as 1234.5",
        '(?:decimal "(?: thousands ")?|thousands ")?',
        (may("decimal", "text", "decimal"), may("thousands", "text", "thousands")),
        _number,
    ),
    Definition(
        "unit",
        'unit "FROM" to "TO", or unit to "TO" of a number with its unit behind it',
        "a number in another unit",
        '(?:" )?to "',
        (may("from", "text"), needs("to", "text", "to")),
        _unit,
    ),
    Definition(
        "boolean",
        'boolean, or boolean "YES" or "TEXT" … not "NO" or "TEXT" …',
        "true or false",
        f"(?:{_TEXTS} not {_TEXTS})?",
        (
            Parameter("true", "text", between="or", required=False),
            Parameter("false", "text", before="not", between="or", required=False),
        ),
        _boolean,
    ),
)
