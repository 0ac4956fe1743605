"""Whether the value of a literal is one of a datatype.

Source: XSD 1.1 part 2, sections 2.2 and 3.3; OWL 2 Structural Specification, section 4 (owl:real,
rdf:PlainLiteral; xsd:float, xsd:double and xsd:decimal have no value in common).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final
from xml.parsers import expat

from sensorstream.errors import TermError
from sensorstream.model.datatypes import (
    INTEGER_BOUNDS,
    RDF_LANG_STRING,
    RDF_XML_LITERAL,
    XSD,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATE_TIME,
    XSD_DATE_TIME_STAMP,
    XSD_DAY_TIME_DURATION,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_DURATION,
    XSD_FLOAT,
    XSD_STRING,
    XSD_TIME,
    XSD_YEAR_MONTH_DURATION,
)
from sensorstream.model.durations import Duration
from sensorstream.model.terms import Literal

_FIRST: Final = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_LATER: Final = rf"{_FIRST}\-.0-9\u00b7\u0300-\u036f\u203f\u2040"
TEXTS: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        XSD_STRING: re.compile(r"(?s:.*)"),
        f"{XSD}normalizedString": re.compile(r"[^\t\n\r]*"),
        f"{XSD}token": re.compile(r"(?:[^\t\n\r ]+(?: [^\t\n\r ]+)*)?"),
        f"{XSD}language": re.compile(r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*"),
        f"{XSD}NMTOKEN": re.compile(f"[:{_LATER}]+"),
        f"{XSD}Name": re.compile(f"[:{_FIRST}][:{_LATER}]*"),
        f"{XSD}NCName": re.compile(f"[{_FIRST}][{_LATER}]*"),
    }
)
"""The values of ``xsd:string`` and of those derived from it (names: XML 1.0, section 2.3)."""
_PRIMITIVE: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys((*INTEGER_BOUNDS, XSD_DECIMAL), XSD_DECIMAL),
        **dict.fromkeys(TEXTS, XSD_STRING),
        **dict.fromkeys((XSD_DATE_TIME, XSD_DATE_TIME_STAMP), XSD_DATE_TIME),
        **dict.fromkeys(
            (XSD_DURATION, XSD_DAY_TIME_DURATION, XSD_YEAR_MONTH_DURATION), XSD_DURATION
        ),
        **{each: each for each in (XSD_DOUBLE, XSD_FLOAT, XSD_BOOLEAN, XSD_DATE, XSD_TIME)},
        RDF_LANG_STRING: RDF_LANG_STRING,
        RDF_XML_LITERAL: RDF_XML_LITERAL,
    }
)
"""By datatype, the one that has its values and shares none with the others."""


def is_of(literal: Literal, datatype: str) -> bool:
    """Whether the value of a literal is in a datatype; one without a value is in none.

    Raises:
        TermError: the values of the datatype are not known here, or those of the literal's own.
    """
    own = _PRIMITIVE.get(literal.datatype)
    wanted = _PRIMITIVE.get(datatype)
    if wanted is None:
        raise TermError(f"<{datatype}> is no datatype whose values are known")
    if own is None:
        raise TermError(f"{literal.n3} is of a datatype whose values are not known")
    if not _is_valid(literal) or own != wanted:
        return False
    if wanted == XSD_STRING:
        return TEXTS[datatype].fullmatch(literal.lexical) is not None
    if datatype in INTEGER_BOUNDS:
        value = Decimal(str(literal.value))
        low, high = INTEGER_BOUNDS[datatype]
        whole = value == value.to_integral_value()
        return whole and (low is None or low <= value) and (high is None or value <= high)
    if datatype == XSD_DATE_TIME_STAMP:
        return _reads(literal.lexical, XSD_DATE_TIME_STAMP)
    if wanted == XSD_DURATION and datatype != XSD_DURATION:
        length = literal.value
        assert isinstance(length, Duration)
        return not (length.months if datatype == XSD_DAY_TIME_DURATION else length.seconds)
    return True


def _is_valid(literal: Literal) -> bool:
    """Whether the text is in the lexical space: nowhere but in strings may white space stand."""
    if (literal.datatype == RDF_LANG_STRING) != (literal.language is not None):
        return False
    if literal.datatype == RDF_XML_LITERAL:
        return _is_content(literal.lexical)
    if literal.datatype in TEXTS or literal.language is not None:
        pattern = TEXTS.get(literal.datatype)
        return pattern is None or pattern.fullmatch(literal.lexical) is not None
    return literal.lexical == literal.lexical.strip() and _reads(literal.lexical, literal.datatype)


def _is_content(lexical: str) -> bool:
    """Whether a text is the content of an XML element (RDF 1.1 Concepts, section 5.3)."""
    try:
        expat.ParserCreate().Parse(f"<content>{lexical}</content>".encode(), True)
    except (expat.ExpatError, UnicodeEncodeError):
        return False
    return True


def _reads(lexical: str, datatype: str) -> bool:
    try:
        _ = Literal(lexical, datatype).value
    except TermError:
        return False
    return True
