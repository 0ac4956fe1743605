"""Value functions over numbers and truth values.

Numbers are exact decimals; a division without a finite result has 28 digits.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal, DecimalException
from difflib import get_close_matches
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from sensorstream.errors import LanguageError, Position, TermError
from sensorstream.language.syntax import ValueCall
from sensorstream.mapping.functions.function_definition import (
    NUMBER,
    READS_NUMBERS,
    Definition,
    EachNumber,
    Function,
    Library,
    Parameter,
    ValueKind,
    may,
    needs,
    read_number,
    whole,
    write_number,
)

if TYPE_CHECKING:
    from pint import UnitRegistry

_TRUE: Final = ("true", "1", "yes", "y", "on")
_FALSE: Final = ("false", "0", "no", "n", "off")
_TEXTS: Final = '"(?: or ")*'
_OPERATORS: Final = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_USUAL: Final = (
    *("m", "km", "cm", "mm", "ft", "mi", "m/s", "km/h", "mph", "knot", "degC", "degF", "K"),
    *("Pa", "hPa", "bar", "psi", "g", "kg", "lb", "l", "m**3", "s", "min", "h", "V", "A", "W"),
    *("kW", "J", "kWh", "lx", "Hz", "%", "ppm"),
)
_UNITS: Final = 256
"""Units of messages that are remembered."""
_NAME: Final = r"(?:°?[^\W\d_]\w{0,30}|%)(?:(?:\*\*|\^)-?[0-9])?"
_UNIT: Final = re.compile(rf"{_NAME}(?:[/*]{_NAME}){{0,4}}")

_WITH_UNIT: Final = re.compile(rf"\s*(?P<number>{NUMBER.pattern})\s*(?P<unit>\S+)\s*")


def _arithmetic(call: ValueCall, _: Library) -> Function:
    (argument,) = call.arguments
    operand = Decimal(argument.text)
    if call.function == "/" and not operand:
        raise LanguageError("a division by zero", position=argument.position)
    calculate = _OPERATORS[call.function]
    return Function.on_numbers(call, lambda number: calculate(number, operand))


def _round(call: ValueCall, _: Library) -> Function:
    digits = whole(call.arguments[0], zero=True) if call.arguments else 0
    if not 0 <= digits <= 20:
        raise LanguageError(
            f"cannot round to {digits} digits: expected 0 to 20", position=call.position
        )
    place = Decimal(1).scaleb(-digits)

    def rounded(number: Decimal) -> Decimal:
        try:
            return number.quantize(place, ROUND_HALF_UP)
        except DecimalException:
            raise TermError(f"{number} has too many digits to round") from None

    return Function.on_numbers(call, rounded)


def _number(call: ValueCall, _: Library) -> Function:
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
        return Function.on_numbers(call, lambda number: number)
    return Function.on_each(call, READS_NUMBERS, ValueKind.NUMBER, _formatted(decimal, thousands))


def _formatted(decimal: str, thousands: str) -> Callable[[str], str]:
    """A number from a local format to XSD's format: ``1.234,5`` becomes ``1234.5``.

    ``thousands`` must separate groups of three, if it occurs; a space means any white space.
    """
    group = r"[\s\u00a0\u202f]" if thousands == " " else re.escape(thousands)
    whole = rf"[0-9]{{1,3}}(?:{group}[0-9]{{3}})+|[0-9]+" if thousands else "[0-9]+"
    form = re.compile(rf"([+-]?)({whole})(?:{re.escape(decimal)}([0-9]+))?")

    def read(text: str) -> str:
        match = form.fullmatch(text)
        if match is None:
            example = f"1{thousands}234{decimal}5"
            raise TermError(f"'{text}' is not a number: expected e.g. {example}")
        sign, digits, fraction = match.groups()
        return write_number(Decimal(f"{sign}{re.sub(r'[^0-9]', '', digits)}.{fraction or 0}"))

    return read


def _unit(call: ValueCall, _: Library) -> Function:
    if len(call.arguments) == 2:
        target = call.arguments[1]
        own = _conversion_of_its_own(target.text, target.position)
        return Function.on_each(call, (ValueKind.ANY,), ValueKind.NUMBER, own)
    source, _to, target = call.arguments
    return Function.on_numbers(call, _conversion(source.text, target.text, source.position))


def _conversion(source: str, target: str, position: Position) -> EachNumber:
    """An exact conversion from one unit to another.

    Raises:
        LanguageError: pint does not have the unit, or the two have different dimensions.
    """
    import pint

    registry = _registry()
    for unit in (source, target):
        try:
            registry.parse_units(unit)
        except pint.UndefinedUnitError:
            close = get_close_matches(unit, list(registry), n=1, cutoff=0.7)
            hint = f"did you mean {close[0]}?" if close else "expected one of pint's"
            raise LanguageError(f"unknown unit '{unit}': {hint}", position=position) from None
        except Exception:
            # Its parser raises many kinds of exceptions.
            raise LanguageError(
                f"'{unit}' is not a unit: expected e.g. km/h", position=position
            ) from None
    try:
        at = [registry.Quantity(Fraction(x), source).to(target).magnitude for x in (0, 1)]
    except pint.DimensionalityError as error:
        raise LanguageError(
            f"'{source}' cannot become '{target}': {error}", position=position
        ) from None
    except (TypeError, ArithmeticError, pint.PintError):
        # Fractions have no logarithms, which is what all other conversions need.
        raise LanguageError(
            f"'{source}' cannot become '{target}': logarithmic units are not offered",
            position=position,
        ) from None
    shift = Fraction(at[0])
    scale = Fraction(at[1]) - shift

    def converted(number: Decimal) -> Decimal:
        exact = Fraction(number) * scale + shift
        return Decimal(exact.numerator) / Decimal(exact.denominator)

    return converted


def _conversion_of_its_own(target: str, position: Position) -> Callable[[str], str]:
    """A conversion from the unit behind a number, as in ``72 degF``.

    Raises:
        LanguageError: as for :func:`_conversion`.
    """
    _conversion(target, target, position)

    @lru_cache(maxsize=_UNITS)
    def known(unit: str) -> EachNumber:
        # pint calculates expressions: a sender may write a name, but no endless arithmetic.
        if not _UNIT.fullmatch(unit):
            raise TermError(f"'{unit}' is not a unit: expected e.g. km/h")
        try:
            return _conversion(unit, target, position)
        except LanguageError as error:
            raise TermError(error.message) from None

    def converted(text: str) -> str:
        match = _WITH_UNIT.fullmatch(text)
        if match is None:
            raise TermError(f"'{text}' is not a number with its unit: expected e.g. 7.4 km/h")
        return write_number(known(match["unit"])(read_number(match["number"])))

    return converted


@cache
def _registry() -> UnitRegistry[Fraction]:
    # The import takes most of a second, so only deployments that convert units do it, on reading
    # rules.
    import pint

    return pint.UnitRegistry(non_int_type=Fraction, cache_folder=None)


def unit_names(source: str = "") -> list[str]:
    """The units that ``unit`` knows, usual ones first; those that a source unit can become."""
    registry = _registry()
    try:
        kind = registry.parse_units(source).dimensionality
        usual = {
            each: None
            for each in _USUAL
            if not source or registry.parse_units(each).dimensionality == kind
        }
        others = registry.get_compatible_units(source) if source else registry  # type: ignore[arg-type]
    except Exception:  # as in _conversion; the source is no unit, and has a fault
        return []
    return list(usual | dict.fromkeys(sorted(map(str, others))))


def _boolean(call: ValueCall, _: Library) -> Function:
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
    return Function.on_each(call, ValueKind, ValueKind.BOOLEAN, read)


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
            sign,
            f"{sign} NUMBER",
            "arithmetic on exact decimals; 28 digits if a division has no finite result",
            "0",
            (needs("operand", "number"),),
            _arithmetic,
        )
        for sign in _OPERATORS
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
        "a number in a local format as 1234.5; ' ' is any space",
        '(?:decimal "(?: thousands ")?|thousands ")?',
        (may("decimal", "text", "decimal"), may("thousands", "text", "thousands")),
        _number,
    ),
    Definition(
        "unit",
        'unit "FROM" to "TO", or unit to "TO" of a number with its unit behind it',
        "a number in another unit, by the names of pint",
        '(?:" )?to "',
        (may("from", "text"), needs("to", "text", "to")),
        _unit,
    ),
    Definition(
        "boolean",
        'boolean, or boolean "YES" or "TEXT" … not "NO" or "TEXT" …',
        "true or false; without texts true, 1, yes, y, on and false, 0, no, n, off in any case",
        f"(?:{_TEXTS} not {_TEXTS})?",
        (
            Parameter("true", "text", between="or", required=False),
            Parameter("false", "text", before="not", between="or", required=False),
        ),
        _boolean,
    ),
)
