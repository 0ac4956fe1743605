"""The value functions by name, with the kinds of values that they take and return."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from functools import cache
from typing import Final, TypeAlias

from sensorstream.errors import LanguageError, TermError
from sensorstream.language.syntax import Argument, Call
from sensorstream.mapping.functions import dates, numbers, texts

Tables: TypeAlias = Mapping[str, Mapping[str, str]]
"""The lookup tables of a rule file, by name."""

Values: TypeAlias = Callable[[list[str]], list[str]]
"""From the values before to the values after; ``TermError`` for one that is invalid."""


class ValueKind(Enum):
    """The kind of a value, known when the rules are compiled."""

    ANY = "a text"
    NUMBER = "a number"
    TIME = "a time"
    DAY = "a date"


_READS_NUMBERS: Final = frozenset((ValueKind.ANY, ValueKind.NUMBER))


@dataclass(frozen=True, slots=True)
class Function:
    """A compiled call: the kinds it takes, the kind it returns, and the function."""

    takes: frozenset[ValueKind]
    gives: ValueKind
    run: Values


@dataclass(frozen=True, slots=True)
class _Entry:
    """``form`` is the regular expression of the arguments' shapes: T, N, and words as written."""

    usage: str
    form: str
    compiled: Callable[[Call, Tables], Function]


def compile_call(call: Call, tables: Tables) -> Function:
    """The function that a call means.

    Raises:
        LanguageError: an unknown function or table, or arguments that it does not take.
    """
    entries = _entries()
    entry = entries.get(call.function)
    if entry is None:
        close = get_close_matches(call.function, entries, n=1)
        hint = f"did you mean {close[0]}?" if close else f"expected one of {', '.join(entries)}"
        raise LanguageError(f"unknown function {call.function}: {hint}", position=call.position)
    shape = " ".join(_SHAPES.get(each.kind, each.text) for each in call.arguments)
    if not re.fullmatch(entry.form, shape):
        raise LanguageError(
            f"{call.function} is not used so: expected {entry.usage}", position=call.position
        )
    return entry.compiled(call, tables)


def usages() -> dict[str, str]:
    """How each function is called, by its name."""
    return {name: entry.usage for name, entry in _entries().items()}


_SHAPES: Final = {"text": "T", "number": "N"}


@cache
def _entries() -> dict[str, _Entry]:
    entries = {
        "trim": _Entry("trim", "", _plain(texts.trim)),
        "collapse": _Entry("collapse", "", _plain(texts.collapse)),
        "lower": _Entry("lower", "", _plain(texts.lower)),
        "upper": _Entry("upper", "", _plain(texts.upper)),
        "title": _Entry("title", "", _plain(texts.title)),
        "replace": _Entry('replace "EXPRESSION" by "TEXT"', "T by T", _replace),
        "extract": _Entry('extract "EXPRESSION"', "T", _extract),
        "match": _Entry('match "EXPRESSION"', "T", _match),
        "split": _Entry('split "SEPARATOR"', "T", _split),
        "part": _Entry('part NUMBER of "SEPARATOR"', "N of T", _part),
        "substring": _Entry(
            "substring FIRST or substring FIRST to LAST", "N(?: to N)?", _substring
        ),
        "lookup": _Entry("lookup TABLE", r"[^TN\s]\S*|[TN]\S+", _lookup),
        "default": _Entry('default "TEXT" or default NUMBER', "T|N", _default),
        "number": _Entry(
            'number, number decimal "," or number decimal "," thousands "."',
            "(?:decimal T(?: thousands T)?|thousands T)?",
            _number,
        ),
        "round": _Entry("round or round DIGITS", "N?", _round),
        "unit": _Entry('unit "FROM" to "TO"', "T to T", _unit),
        "date": _Entry(
            'date FORMAT or FORMAT … in "ZONE", where FORMAT is "%d.%m.%Y", iso, seconds or '
            "milliseconds",
            rf"{_FORMATS}(?: in T)?",
            _date,
        ),
        "day": _Entry('day "%d.%m.%Y" or FORMAT …', _FORMATS, _day),
    }
    for operator in "+-*/":
        entries[operator] = _Entry(f"{operator} NUMBER", "N", _arithmetic)
    return entries


_FORMAT: Final = "(?:T|iso|seconds|milliseconds)"
_FORMATS: Final = rf"{_FORMAT}(?: or {_FORMAT})*"


# Every function over one value, lifted to all values of an XPath


def _each(
    call: Call, takes: Iterable[ValueKind], gives: ValueKind, one: Callable[[str], str]
) -> Function:
    return _function(call, takes, gives, lambda text: (one(text),))


def _function(
    call: Call, takes: Iterable[ValueKind], gives: ValueKind, one: texts.EachText
) -> Function:
    def run(values: list[str]) -> list[str]:
        try:
            # An empty text counts as missing, as in the result of an XPath.
            return [made for value in values for made in one(value) if made.strip()]
        except TermError as error:
            raise TermError(f"{call.function}: {error.message}") from None

    return Function(frozenset(takes), gives, run)


def _text(call: Call, one: texts.EachText) -> Function:
    return _function(call, ValueKind, ValueKind.ANY, one)


def _on_numbers(call: Call, one: numbers.EachNumber) -> Function:
    def written(text: str) -> str:
        return numbers.write_number(one(numbers.read_number(text)))

    return _each(call, _READS_NUMBERS, ValueKind.NUMBER, written)


# One function each


def _plain(one: texts.EachText) -> Callable[[Call, Tables], Function]:
    return lambda call, tables: _text(call, one)


def _replace(call: Call, _: Tables) -> Function:
    expression, _by, by = call.arguments
    return _text(call, texts.replace(expression.text, by.text, expression.position))


def _extract(call: Call, _: Tables) -> Function:
    (expression,) = call.arguments
    return _text(call, texts.extract(expression.text, expression.position))


def _match(call: Call, _: Tables) -> Function:
    (expression,) = call.arguments
    return _text(call, texts.match(expression.text, expression.position))


def _split(call: Call, _: Tables) -> Function:
    return _text(call, texts.split(_separator(call.arguments[0])))


def _part(call: Call, _: Tables) -> Function:
    number, _of, separator = call.arguments
    return _text(call, texts.part(_whole(number, zero=False), _separator(separator)))


def _substring(call: Call, _: Tables) -> Function:
    first, *rest = call.arguments
    last = _whole(rest[1], zero=False) if rest else None
    start = _whole(first, zero=False)
    if start < 1 or (last is not None and last < start):
        raise LanguageError(
            "the characters are counted from 1: expected FIRST to LAST in that order",
            position=first.position,
        )
    return _text(call, texts.substring(start, last))


def _lookup(call: Call, tables: Tables) -> Function:
    (name,) = call.arguments
    table = tables.get(name.text)
    if table is None:
        close = get_close_matches(name.text, tables, n=1)
        hint = (
            f"did you mean {close[0]}?"
            if close
            else f"expected 'table {name.text} from \"file.csv\" …' at the head of the file"
        )
        raise LanguageError(f"unknown table '{name.text}': {hint}", position=name.position)
    return _text(call, texts.lookup(table))


def _default(call: Call, _: Tables) -> Function:
    (given,) = call.arguments
    return Function(frozenset(ValueKind), ValueKind.ANY, lambda values: values or [given.text])


def _number(call: Call, _: Tables) -> Function:
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
        return _on_numbers(call, lambda number: number)
    return _each(call, _READS_NUMBERS, ValueKind.NUMBER, numbers.formatted(decimal, thousands))


def _round(call: Call, _: Tables) -> Function:
    digits = _whole(call.arguments[0], zero=True) if call.arguments else 0
    if not 0 <= digits <= 20:
        raise LanguageError(
            f"cannot round to {digits} digits: expected 0 to 20", position=call.position
        )
    return _on_numbers(call, numbers.rounded(digits))


def _unit(call: Call, _: Tables) -> Function:
    source, _to, target = call.arguments
    return _on_numbers(call, numbers.conversion(source.text, target.text, source.position))


def _arithmetic(call: Call, _: Tables) -> Function:
    (operand,) = call.arguments
    number = Decimal(operand.text)
    return _on_numbers(call, numbers.arithmetic(call.function, number, operand.position))


def _date(call: Call, _: Tables) -> Function:
    given = list(call.arguments)
    zone = given.pop() if len(given) > 1 and given[-2].text == "in" else None
    if zone is not None:
        given.pop()
    return _each(call, _READS_NUMBERS, ValueKind.TIME, dates.moment(_formats(given), zone))


def _day(call: Call, _: Tables) -> Function:
    return _each(call, _READS_NUMBERS, ValueKind.DAY, dates.day(_formats(call.arguments)))


def _formats(given: Sequence[Argument]) -> Sequence[Argument]:
    return given[::2]


def _separator(argument: Argument) -> str:
    if not argument.text:
        raise LanguageError("the separator is empty", position=argument.position)
    return argument.text


def _whole(argument: Argument, *, zero: bool) -> int:
    if "." in argument.text or (int(argument.text) == 0 and not zero):
        kind = "a whole number" if zero else "a whole number that is not 0"
        raise LanguageError(f"'{argument.text}': expected {kind}", position=argument.position)
    return int(argument.text)
