"""The values of terms for the operators of section 17.3: numbers, truth, times, equality, order.

Times are as XPath Functions 3.1 (sections 8.4, 9.4 and 9.7) has them, but for a moment without a
time zone, which is not taken to be in an implicit one: decision 017 tells what that means.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from sensorstream.model import xsd
from sensorstream.model.numerals import decimal_text, double_text, quotient, single
from sensorstream.model.terms import Literal, Term, valued
from sensorstream.model.xsd import (
    DATE_TIMES,
    EXACT,
    FAMILIES,
    MOMENTS,
    NUMERIC_TYPES,
    RDF_LANG_STRING,
    UNORDERED,
    Duration,
    Time,
    TimelineMoment,
)

Number: TypeAlias = int | Decimal | float

TRUE: Final = Literal("true", xsd.BOOLEAN)
FALSE: Final = Literal("false", xsd.BOOLEAN)
_MOST_DIGITS: Final = 4_200
"""The most digits of a whole number, and places of a decimal; Python's limit is 4,300."""
_MOST_BITS: Final = 3 * _MOST_DIGITS
RANKS: Final[Mapping[str, int]] = dict.fromkeys(NUMERIC_TYPES, 0) | {
    xsd.DECIMAL: 1,
    xsd.FLOAT: 2,
    xsd.DOUBLE: 3,
}
"""The rank of each numeric type in the order of promotion."""
FLOAT: Final = RANKS[xsd.FLOAT]
"""The rank whose results are rounded to 24 bits."""
RANKED: Final = (xsd.INTEGER, xsd.DECIMAL, xsd.FLOAT, xsd.DOUBLE)
_KNOWN: Final = NUMERIC_TYPES | FAMILIES.keys() | {xsd.STRING, xsd.BOOLEAN, RDF_LANG_STRING}
_FAMILY_RANKS: Final[Mapping[str, int]] = {"dateTime": 0, "date": 1, "time": 2, "duration": 3}
_CASTS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(DATE_TIMES, DATE_TIMES | {xsd.DATE, xsd.TIME}),
    xsd.DATE: DATE_TIMES | {xsd.DATE},
    xsd.TIME: frozenset({xsd.TIME}),
}
"""The datatypes to which moments can be cast (XPath Functions 3.1, section 19.1)."""


def number(term: Term | None) -> Number | None:
    """The number of a numeric term."""
    if type(term) is Literal and term.datatype in NUMERIC_TYPES:
        return term.known  # type: ignore[return-value]
    return None


def time_of(term: Term | None) -> Time | None:
    """The value of a moment or duration; None if it is none, or not valid."""
    value = term.known if type(term) is Literal else None
    return value if type(value) is TimelineMoment or type(value) is Duration else None


def rank(term: Literal) -> int:
    """The rank of a numeric type in the order of promotion: integer, decimal, float, double."""
    return RANKS.get(term.datatype, 0)


def promoted(value: Number, to: int) -> Number:
    """A number converted to the numeric type of a rank."""
    if to >= 2:
        return float(value)
    if to == 1 and isinstance(value, int):
        return Decimal(value)
    return value


def numeral(value: Number | Fraction, of_rank: int) -> Literal | None:
    """A number as a literal of the type with that rank; None: it has too many digits."""
    if type(value) is Decimal and of_rank < 2:
        if abs(value.adjusted()) > _MOST_DIGITS:
            return None
        if of_rank == 1:
            return valued(decimal_text(value), xsd.DECIMAL, value)
    if of_rank == 0:
        return _whole(int(value))
    if of_rank == 1:
        if isinstance(value, Fraction):
            value = quotient(Decimal(value.numerator), Decimal(value.denominator))
        exact = Decimal(value)
        return valued(decimal_text(exact), xsd.DECIMAL, exact)
    # Zero has no sign.
    double = (float(value) if of_rank > FLOAT else single(float(value))) + 0.0
    return valued(double_text(double), RANKED[of_rank], double)


@lru_cache(1024)
def _whole(value: int) -> Literal | None:
    """A whole number as a literal; counts are small, and come again and again."""
    return valued(str(value), xsd.INTEGER, value) if has_digits(value) else None


def has_digits(value: Number) -> bool:
    """Whether a whole number or a decimal has no more digits than allowed."""
    if isinstance(value, Decimal):
        return abs(value.adjusted()) <= _MOST_DIGITS
    return not isinstance(value, int) or value.bit_length() <= _MOST_BITS


def boolean(value: bool) -> Literal:
    """A truth value as a literal."""
    return TRUE if value else FALSE


def truth(term: Term | None) -> bool | None:
    """The effective boolean value (section 17.2.2); None is a type error."""
    if type(term) is not Literal:
        return None
    datatype = term.datatype
    if datatype == xsd.BOOLEAN or datatype in NUMERIC_TYPES:
        value = term.known
        return bool(value) and value == value
    if datatype in (xsd.STRING, RDF_LANG_STRING):
        return bool(term.lexical)
    return None


def text(term: Term | None) -> str | None:
    """The characters of a plain or language-tagged string."""
    if type(term) is Literal and term.datatype in (xsd.STRING, RDF_LANG_STRING):
        return term.lexical
    return None


def as_comparable(one: Number, other: Number, to: int) -> tuple[Number, Number]:
    """Two numbers converted to the type of a rank, as far as that is possible."""
    try:
        return promoted(one, to), promoted(other, to)
    except OverflowError:
        # An integer beyond all doubles: Python can compare it with a double.
        return one, other


def compare(left: Term | None, right: Term | None) -> int | None:
    """-1, 0 or 1 where ``<`` is defined; None is a type error, 2 stands for unordered (NaN)."""
    if type(left) is not Literal or type(right) is not Literal:
        return None
    one, other = number(left), number(right)
    if type(one) is int and type(other) is int:
        return (one > other) - (one < other)
    if one is not None and other is not None:
        common = max(rank(left), rank(right))
        one, other = as_comparable(one, other, common)
        if one != one or other != other:
            return 2
        return (one > other) - (one < other)
    datatype = left.datatype
    if datatype == xsd.STRING and right.datatype == xsd.STRING:
        return (left.lexical > right.lexical) - (left.lexical < right.lexical)
    if datatype in FAMILIES:
        order = time_order(left, right)
        return None if order == UNORDERED else order
    if datatype == xsd.BOOLEAN and right.datatype == xsd.BOOLEAN:
        yes, no = truth(left), truth(right)
        return (yes or False) - (no or False)
    return None


ORDERS: Final[Mapping[str, Collection[int]]] = {"<": (-1,), ">": (1,), "<=": (-1, 0), ">=": (0, 1)}
"""The results of :func:`compare` for which an operator is true."""


def equal(left: Term | None, right: Term | None) -> bool | None:
    """``=`` (sections 17.3 and 17.4.1.7); None is a type error."""
    if left is None or right is None:
        return None
    if type(left) is not Literal or type(right) is not Literal:
        return left == right
    if left == right:
        value = number(left)
        return value is None or value == value
    order = compare(left, right)
    if order is not None:
        return order == 0
    if left.datatype in FAMILIES and time_order(left, right) == UNORDERED:
        # With a time zone on one side only, equality is not certain; for durations it is.
        return None if left.datatype in MOMENTS else False
    if left.language is not None or right.language is not None:
        return False
    if left.datatype in _KNOWN and right.datatype in _KNOWN and _kind(left) != _kind(right):
        return False if is_valid(left) and is_valid(right) else None
    return None


def _kind(term: Literal) -> str:
    """The kind of a literal's datatype: values of different kinds are never equal."""
    if term.datatype in NUMERIC_TYPES:
        return xsd.DECIMAL
    return FAMILIES.get(term.datatype, term.datatype)


def is_valid(term: Literal) -> bool:
    """Whether the text of a literal is valid for its datatype."""
    return term.known is not None


def time_order(left: Literal, right: Literal) -> int | None:
    """-1, 0, 1 or :data:`.UNORDERED`; None: two families, or an invalid literal."""
    family = FAMILIES.get(left.datatype)
    if family is None or FAMILIES.get(right.datatype) != family:
        return None
    one, other = time_of(left), time_of(right)
    return None if one is None or other is None else xsd.ordered(one, other)


def time_key(term: Literal) -> tuple[int, Decimal, int] | None:
    """A key that orders all times: by family, then by value; None: it is no time.

    Times without an order among them have one here, so that ORDER BY is deterministic.
    """
    found = time_of(term)
    if found is None:
        return None
    family = _FAMILY_RANKS[FAMILIES[term.datatype]]
    if isinstance(found, Duration):
        return family, *xsd.order_key(found)
    return family, found.utc, int(found.zone is None)


def calculated_time(operator: str, left: Term | None, right: Term | None) -> Literal | None:
    """The sum or difference of two terms, one of them a moment or duration."""
    one, other = time_of(left), time_of(right)
    if isinstance(one, Duration) and isinstance(other, TimelineMoment) and operator == "+":
        left, right, one, other = right, left, other, one
    if type(left) is not Literal or type(right) is not Literal or operator not in ("+", "-"):
        return None
    if isinstance(other, Duration):
        length = xsd.negated(other) if operator == "-" else other
        if isinstance(one, Duration):
            total = xsd.added(one, length)
            datatype = left.datatype if left.datatype == right.datatype else xsd.DURATION
            return None if total is None else time_literal(total, datatype)
        if one is None or (left.datatype, right.datatype) == (xsd.TIME, xsd.YEAR_MONTH_DURATION):
            return None
        kind = xsd.DATE_TIME if left.datatype == xsd.DATE_TIME_STAMP else left.datatype
        return time_literal(xsd.moved(one, length), kind)
    if not isinstance(one, TimelineMoment) or other is None or operator != "-":
        return None
    if FAMILIES[left.datatype] != FAMILIES[right.datatype] or (one.zone is None) != (
        other.zone is None
    ):
        return None
    return time_literal(Duration(0, EXACT.subtract(one.utc, other.utc)), xsd.DAY_TIME_DURATION)


def signed_time(operator: str, term: Term | None) -> Literal | None:
    """The same duration, or its negation; None: it is no duration."""
    found = time_of(term)
    if type(term) is not Literal or not isinstance(found, Duration):
        return None
    return time_literal(xsd.negated(found) if operator == "-" else found, term.datatype)


def time_literal(time: Time, datatype: str) -> Literal | None:
    """A time in canonical form; None: its year has too many digits."""
    if isinstance(time, Duration):
        return valued(xsd.duration_text(time, datatype), datatype, time)
    text = xsd.moment_text(time, datatype)
    return None if text is None else Literal(text, datatype)


def time_cast(term: Literal, datatype: str) -> Literal | None:
    """A time as another datatype (XPath Functions 3.1, section 19.1).

    None: it would lose months, or seconds; or a time zone is missing.
    """
    found, own = time_of(term), term.datatype
    if found is None:
        return None
    if isinstance(found, Duration):
        related = datatype == xsd.DURATION or own in (datatype, xsd.DURATION)
        fits = related and xsd.is_among(found, xsd.DURATION, datatype)
    else:
        zoned = datatype != xsd.DATE_TIME_STAMP or found.zone is not None
        fits = zoned and datatype in _CASTS[own]
    return time_literal(found, datatype) if fits else None
