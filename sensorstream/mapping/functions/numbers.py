"""Value functions over numbers: exact decimals; 28 digits for a division without finite result."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, DecimalException
from difflib import get_close_matches
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from sensorstream.errors import LanguageError, Position, TermError

if TYPE_CHECKING:
    from pint import UnitRegistry

EachNumber: TypeAlias = Callable[[Decimal], Decimal]
_UNITS: Final = 256
"""Units of messages that are remembered."""
_NAME: Final = r"(?:°?[^\W\d_]\w{0,30}|%)(?:(?:\*\*|\^)-?[0-9])?"
_UNIT: Final = re.compile(rf"{_NAME}(?:[/*]{_NAME}){{0,4}}")

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
"""XSD's decimals and doubles; the limit on the exponent limits the digits of the result."""
_WITH_UNIT: Final = re.compile(rf"\s*(?P<number>{_NUMBER.pattern})\s*(?P<unit>\S+)\s*")


def read_number(text: str) -> Decimal:
    """The number of a text in XSD's format.

    Raises:
        TermError: the text is not a number.
    """
    if not _NUMBER.fullmatch(text):
        raise TermError(f"'{text}' is not a number: expected e.g. 7.4")
    return Decimal(text)


def write_number(number: Decimal) -> str:
    """A number without exponent and without unnecessary zeros: ``72``, not ``72.0``."""
    written = format(number, "f")
    if "." in written:
        written = written.rstrip("0").rstrip(".")
    return "0" if written == "-0" else written


def arithmetic(operator: str, operand: Decimal, position: Position) -> EachNumber:
    """``+``, ``-``, ``*`` or ``/`` with a constant.

    Raises:
        LanguageError: a division by zero.
    """
    if operator == "/" and not operand:
        raise LanguageError("a division by zero", position=position)
    return {
        "+": lambda number: number + operand,
        "-": lambda number: number - operand,
        "*": lambda number: number * operand,
        "/": lambda number: number / operand,
    }[operator]


def rounded(digits: int) -> EachNumber:
    """Round to so many digits after the point; halves away from zero."""
    place = Decimal(1).scaleb(-digits)

    def of(number: Decimal) -> Decimal:
        try:
            return number.quantize(place, ROUND_HALF_UP)
        except DecimalException:
            raise TermError(f"{number} has too many digits to round") from None

    return of


def formatted(decimal: str, thousands: str) -> Callable[[str], str]:
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


def conversion(source: str, target: str, position: Position) -> EachNumber:
    """From one unit to another, exactly.

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


def conversion_of_its_own(target: str, position: Position) -> Callable[[str], str]:
    """From the unit that stands behind a number, as in ``72 degF``.

    Raises:
        LanguageError: as for :func:`conversion`.
    """
    conversion(target, target, position)

    @lru_cache(maxsize=_UNITS)
    def known(unit: str) -> EachNumber:
        # pint calculates what it reads: a sender may write a name, and no arithmetic without end.
        if not _UNIT.fullmatch(unit):
            raise TermError(f"'{unit}' is not a unit: expected e.g. km/h")
        try:
            return conversion(unit, target, position)
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
    # Takes most of a second, only in deployments that convert units, when their rules are read.
    import pint

    return pint.UnitRegistry(non_int_type=Fraction, cache_folder=None)
