"""Values of literals, so that two literals have one value if and only if theirs are equal here.

Source: OWL 2 Structural Specification, section 4; XSD 1.1 part 2, section 2.2 (identity).
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from sensorstream.model.datatypes import (
    INTEGER_TYPES,
    RDF_LANG_STRING,
    XSD,
    XSD_ANY_URI,
    XSD_BOOLEAN,
    XSD_DATE_TIME,
    XSD_DATE_TIME_STAMP,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_DURATION,
    XSD_FLOAT,
    XSD_STRING,
)
from sensorstream.model.durations import DURATIONS
from sensorstream.model.moments import parse_moment
from sensorstream.model.terms import Literal
from sensorstream.model.value_spaces import TEXTS
from sensorstream.reasoning.dl.datatypes import meaning

REAL: Final = XSD_DECIMAL
NOT_A_NUMBER: Final = "NaN"
"""The content of that value of ``xsd:double`` and ``xsd:float``."""
_STORED: Final = {XSD_DOUBLE: ("d", "q"), XSD_FLOAT: ("f", "i")}
TEXTS_BY_NAME: Final = {f"{XSD}{name}": f"{XSD}NCName" for name in ("ID", "IDREF", "ENTITY")}
"""Datatypes with the values of another one (XSD 1.1 part 2, sections 3.4.8, 3.4.9 and 3.4.11)."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value: the primitive datatype it is of, and what tells it from others of that.

    The content is a fraction for numbers, the :func:`place` for ``xsd:double`` and ``xsd:float``,
    a moment for times, months and seconds for durations, and mostly text for the others.
    """

    space: str
    content: Hashable


def value_of(literal: Literal) -> Value:
    """The value of a literal; of an unknown datatype, each text is a value.

    Raises:
        TermError: the text is not in the datatype's lexical space.
    """
    kind = literal.datatype
    if literal.language is not None:
        return Value(RDF_LANG_STRING, (literal.lexical, literal.language))
    if kind in TEXTS or kind in TEXTS_BY_NAME:
        return Value(XSD_STRING, literal.lexical)
    if kind in INTEGER_TYPES or kind == XSD_DECIMAL:
        number = literal.value
        return Value(REAL, Fraction(number))  # type: ignore[arg-type]
    if kind in _STORED:
        return Value(kind, place(float(literal.value), kind))  # type: ignore[arg-type]
    if kind == XSD_BOOLEAN:
        return Value(kind, literal.value)
    if kind in (XSD_DATE_TIME, XSD_DATE_TIME_STAMP):
        return Value(XSD_DATE_TIME, _exact(parse_moment(literal.lexical, kind)))
    if kind == XSD_ANY_URI:
        return Value(kind, literal.lexical.strip())
    key = meaning(literal)
    assert isinstance(key, tuple)
    content = _exact(key[1]) if isinstance(key[1], tuple) else key[1]
    return Value(XSD_DURATION if kind in DURATIONS else kind, content)


def _exact(parts: Iterable[object]) -> tuple[object, ...]:
    """The parts, with equal decimals in one form: 60 and 60.0 are written alike."""
    return tuple(Fraction(each) if isinstance(each, Decimal) else each for each in parts)


def place(number: float, kind: str) -> Hashable:
    """The place of a number among all of ``xsd:double`` or ``xsd:float``: zero is 0, -0.0 is -1."""
    if number != number:
        return NOT_A_NUMBER
    written, read = _STORED[kind]
    try:
        stored = struct.pack(f">{written}", number)
    except OverflowError:
        stored = struct.pack(f">{written}", float("inf") if number > 0 else float("-inf"))
    bits: int = struct.unpack(f">{read}", stored)[0]
    if bits >= 0:
        return bits
    return -1 - (bits + (1 << 8 * len(stored) - 1))
