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

from sensorstream.model.terms import Literal
from sensorstream.model.xsd import (
    RDF_LANG_STRING,
    XSD_ANY_URI,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_STRING,
    primitive_of,
)
from sensorstream.reasoning.dl.datatypes import meaning

REAL: Final = XSD_DECIMAL
NOT_A_NUMBER: Final = "NaN"
"""The content of that value of ``xsd:double`` and ``xsd:float``."""
_STORED: Final = {XSD_DOUBLE: ("d", "q"), XSD_FLOAT: ("f", "i")}


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
    if literal.language is not None:
        return Value(RDF_LANG_STRING, (literal.lexical, literal.language))
    space, value = primitive_of(literal.datatype), literal.value
    match value:
        case bool():
            return Value(space, value)
        case int() | Decimal():
            return Value(space, Fraction(value))
        case float():
            return Value(space, place(value, space))
        case tuple():
            return Value(space, _exact(value))
    if space == XSD_STRING:
        return Value(space, literal.lexical)
    if space == XSD_ANY_URI:
        return Value(space, literal.lexical.strip())
    key = meaning(literal)
    assert isinstance(key, tuple)
    return Value(space, key[1])


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
