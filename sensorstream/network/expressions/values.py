"""The values of terms for the operators of section 17.3: numbers, truth, equality, order."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Final, TypeAlias

from sensorstream.errors import TermError
from sensorstream.model.datatypes import (
    INTEGER_TYPES,
    NUMERIC_TYPES,
    RDF_LANG_STRING,
    XSD_BOOLEAN,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
    XSD_STRING,
)
from sensorstream.model.moments import MOMENTS
from sensorstream.model.numerals import decimal_text, double_text, quotient, single
from sensorstream.model.terms import IRI, BlankNode, Literal, Term, valued
from sensorstream.network.expressions.times import (
    FAMILIES,
    UNORDERED,
    TimeKey,
    time_key,
    time_of,
    time_order,
)

Number: TypeAlias = int | Decimal | float

TRUE: Final = Literal("true", XSD_BOOLEAN)
FALSE: Final = Literal("false", XSD_BOOLEAN)
_MOST_DIGITS: Final = 4_200
"""Digits of a whole number, and places of a decimal: Python reads and writes no more than 4,300."""
_MOST_BITS: Final = 3 * _MOST_DIGITS
RANKS: Final[Mapping[str, int]] = MappingProxyType(
    dict.fromkeys(NUMERIC_TYPES, 0) | {XSD_DECIMAL: 1, XSD_FLOAT: 2, XSD_DOUBLE: 3}
)
"""The rank of each numeric type in the order of promotion."""
FLOAT: Final = RANKS[XSD_FLOAT]
"""Results of this rank are rounded to 24 bits."""
_BY_RANK: Final = (XSD_INTEGER, XSD_DECIMAL, XSD_FLOAT, XSD_DOUBLE)
_KNOWN: Final = NUMERIC_TYPES | FAMILIES.keys() | {XSD_STRING, XSD_BOOLEAN, RDF_LANG_STRING}


def number(term: Term | None) -> Number | None:
    """The number of a numeric term."""
    if type(term) is Literal and term.datatype in NUMERIC_TYPES:
        try:
            return term.value  # type: ignore[return-value]
        except TermError:
            return None
    return None


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
    """A number as a literal of the type with that rank; None: it has more digits than any may."""
    if type(value) is Decimal:
        if of_rank < 2 and abs(value.adjusted()) > _MOST_DIGITS:
            return None
        if of_rank == 1:
            return valued(decimal_text(value), XSD_DECIMAL, value)
    if of_rank == 0:
        whole = int(value)
        if not has_digits(whole):
            return None
        return valued(str(whole), XSD_INTEGER, whole)
    if of_rank == 1:
        if isinstance(value, Fraction):
            value = quotient(Decimal(value.numerator), Decimal(value.denominator))
        exact = Decimal(value)
        return valued(decimal_text(exact), XSD_DECIMAL, exact)
    # Zero has no sign.
    double = (float(value) if of_rank > FLOAT else single(float(value))) + 0.0
    return valued(double_text(double), _BY_RANK[of_rank], double)


def has_digits(value: Number) -> bool:
    """Whether a whole number or a decimal has no more digits than any may."""
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
    if datatype == XSD_BOOLEAN or datatype in NUMERIC_TYPES:
        try:
            value = term.value
        except TermError:
            return False
        return bool(value) and value == value
    if datatype in (XSD_STRING, RDF_LANG_STRING):
        return bool(term.lexical)
    return None


def text(term: Term | None) -> str | None:
    """The characters of a plain or language-tagged string."""
    if type(term) is Literal and term.datatype in (XSD_STRING, RDF_LANG_STRING):
        return term.lexical
    return None


def as_comparable(one: Number, other: Number, to: int) -> tuple[Number, Number]:
    """Two numbers as those of the type with a rank, as far as it has them."""
    try:
        return promoted(one, to), promoted(other, to)
    except OverflowError:
        # An integer beyond all doubles: Python compares it with one as it is.
        return one, other


def compare(left: Term | None, right: Term | None) -> int | None:
    """-1, 0 or 1 where ``<`` is defined; None is a type error, 2 stands for unordered (NaN)."""
    if type(left) is not Literal or type(right) is not Literal:
        return None
    one, other = number(left), number(right)
    if one is not None and other is not None:
        common = max(rank(left), rank(right))
        one, other = as_comparable(one, other, common)
        if one != one or other != other:
            return 2
        return (one > other) - (one < other)
    datatype = left.datatype
    if datatype == XSD_STRING and right.datatype == XSD_STRING:
        return (left.lexical > right.lexical) - (left.lexical < right.lexical)
    if datatype in FAMILIES:
        order = time_order(left, right)
        return None if order == UNORDERED else order
    if datatype == XSD_BOOLEAN and right.datatype == XSD_BOOLEAN:
        yes, no = truth(left), truth(right)
        return (yes or False) - (no or False)
    return None


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
        # With a time zone on one side only it is not certain; of durations it is.
        return None if left.datatype in MOMENTS else False
    if left.language is not None or right.language is not None:
        return False
    if left.datatype in _KNOWN and right.datatype in _KNOWN and _kind(left) != _kind(right):
        return False if is_valid(left) and is_valid(right) else None
    return None


def _kind(term: Literal) -> str:
    """The kind of a literal's datatype: values of different kinds are never equal."""
    if term.datatype in NUMERIC_TYPES:
        return XSD_DECIMAL
    return FAMILIES.get(term.datatype, term.datatype)


def is_valid(term: Literal) -> bool:
    """Whether the text of a literal is one of its datatype."""
    if term.datatype in FAMILIES:
        return time_of(term) is not None
    try:
        _ = term.value
    except TermError:
        return False
    return True


def is_integer(term: Literal) -> bool:
    """Whether a literal is of xsd:integer or a type derived from it."""
    return term.datatype in INTEGER_TYPES


OrderKey: TypeAlias = tuple[int, "Ordered | str | TimeKey"]


class Ordered:
    """A literal in the order of ORDER BY: by value if that is defined, else by its term."""

    __slots__ = ("term",)

    def __init__(self, term: Literal) -> None:
        self.term = term

    def __lt__(self, other: Ordered) -> bool:
        order = compare(self.term, other.term)
        if order is None or order == 2:
            return str(self.term) < str(other.term)
        return order < 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ordered) and not self < other and not other < self

    __hash__ = None  # type: ignore[assignment]


def order_key(term: Term | None) -> OrderKey:
    """The key that ORDER BY compares (section 15.1): unbound, blank nodes, IRIs, literals.

    Of literals, numbers come first, then times, then all others.
    """
    if term is None:
        return 0, ""
    if isinstance(term, BlankNode):
        return 1, str(term)
    if isinstance(term, IRI):
        return 2, str(term)
    if term.datatype in NUMERIC_TYPES:
        return 3, Ordered(term)
    key = time_key(term)
    return (5, Ordered(term)) if key is None else (4, key)
