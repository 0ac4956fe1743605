"""The built-in functions and casts (sections 17.4 and 17.5), of terms to a term.

None as an argument is unbound or an error; None as a result is an error.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from types import MappingProxyType
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from sensorstream.errors import TermError
from sensorstream.model import terms
from sensorstream.model.datatypes import (
    RDF_LANG_STRING,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DAY_TIME_DURATION,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
    XSD_STRING,
    XSD_TIME,
)
from sensorstream.model.durations import EXACT, Duration
from sensorstream.model.moments import MOMENTS, Moment, fields, zone_text
from sensorstream.model.numerals import decimal_text, double_text
from sensorstream.model.regex import LONGEST_TEXT, xpath_regex
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.network.expressions.made_nodes import made_node
from sensorstream.network.expressions.times import (
    FAMILIES,
    duration_literal,
    time_cast,
    time_of,
)
from sensorstream.network.expressions.values import (
    Number,
    boolean,
    number,
    numeral,
    text,
    truth,
)
from sensorstream.sparql.iris import resolve

Function: TypeAlias = Callable[..., Term | None]

_NO_FLAGS: Final = Literal("")
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d+)|(\\)", re.S)
UNREPEATABLE: Final = frozenset({"RAND", "NOW", "UUID", "STRUUID", "BNODE"})
"""Functions with a new value at each call: results that use them cannot be retracted."""


def _str(term: Term | None) -> Term | None:
    if type(term) is Literal:
        return Literal(term.lexical)
    return Literal(str(term)) if isinstance(term, IRI) else None


def _lang(term: Term | None) -> Term | None:
    return Literal(term.language or "") if type(term) is Literal else None


def _datatype(term: Term | None) -> Term | None:
    return IRI(term.datatype) if type(term) is Literal else None


def _langmatches(tag: Term | None, wanted: Term | None) -> Term | None:
    one, other = text(tag), text(wanted)
    if one is None or other is None:
        return None
    one, other = one.lower(), other.lower()
    if other == "*":
        return boolean(bool(one))
    return boolean(one == other or one.startswith(f"{other}-"))


def _strlen(term: Term | None) -> Term | None:
    found = text(term)
    return None if found is None else Literal(str(len(found)), XSD_INTEGER)


def _like(source: Literal, lexical: str) -> Literal:
    """A text as a string of the same kind (language, datatype) as another string."""
    return Literal(lexical, XSD_STRING, source.language)


def _mapping(change: Callable[[str], str]) -> Function:
    def function(term: Term | None) -> Term | None:
        found = text(term)
        return None if found is None else _like(term, change(found))  # type: ignore[arg-type]

    return function


def _encode_for_uri(term: Term | None) -> Term | None:
    found = text(term)
    if found is None:
        return None
    made = quote(found, safe="-_.~")
    return Literal(made) if len(made) <= LONGEST_TEXT else None


def _arguments(one: Term | None, other: Term | None) -> tuple[Literal, str] | None:
    """Two compatible string arguments (section 17.4.3.1.2)."""
    if text(one) is None or text(other) is None:
        return None
    assert type(one) is Literal
    assert type(other) is Literal
    if other.language is not None and other.language != one.language:
        return None
    return one, other.lexical


def _comparing(test: Callable[[str, str], bool]) -> Function:
    def function(one: Term | None, other: Term | None) -> Term | None:
        pair = _arguments(one, other)
        return None if pair is None else boolean(test(pair[0].lexical, pair[1]))

    return function


def _strbefore(one: Term | None, other: Term | None) -> Term | None:
    pair = _arguments(one, other)
    if pair is None:
        return None
    before, found, _ = pair[0].lexical.partition(pair[1]) if pair[1] else ("", " ", "")
    return _like(pair[0], before) if found else Literal("")


def _strafter(one: Term | None, other: Term | None) -> Term | None:
    pair = _arguments(one, other)
    if pair is None:
        return None
    if not pair[1]:
        return pair[0]
    _, found, after = pair[0].lexical.partition(pair[1])
    return _like(pair[0], after) if found else Literal("")


def _concat(*parts: Term | None) -> Term | None:
    texts = [text(part) for part in parts]
    if any(each is None for each in texts) or sum(map(len, filter(None, texts))) > LONGEST_TEXT:
        return None
    languages = {part.language for part in parts if type(part) is Literal}
    language = languages.pop() if len(languages) == 1 else None
    return Literal("".join(each or "" for each in texts), XSD_STRING, language)


def _substr(source: Term | None, start: Term | None, length: Term | None = None) -> Term | None:
    found, first = text(source), number(start)
    if found is None or first is None:
        return None
    begin = _rounded(first)
    end: float = math.inf
    if length is not None:
        size = number(length)
        if size is None:
            return None
        end = begin + _rounded(size)
    part = "".join(c for place, c in enumerate(found, 1) if begin <= place < end)
    return _like(source, part)  # type: ignore[arg-type]


def _rounded(value: Number) -> float:
    if isinstance(value, float) and not math.isfinite(value):
        return value
    return math.floor(float(value) + 0.5)


def fault_of_pattern(written: str, flags: str) -> str:
    """The fault of a regular expression or its flags; empty if they are valid."""
    try:
        xpath_regex(written, flags)
    except TermError as error:
        return str(error)
    return ""


def _regex(
    source: Term | None, pattern: Term | None, flags: Term | None = _NO_FLAGS
) -> Term | None:
    found, written, options = text(source), text(pattern), text(flags)
    if found is None or written is None or options is None:
        return None
    try:
        return boolean(xpath_regex(written, options).search(found) is not None)
    except TermError:
        return None


def _replace(
    source: Term | None,
    pattern: Term | None,
    replacement: Term | None,
    flags: Term | None = _NO_FLAGS,
) -> Term | None:
    found, written, new, options = text(source), text(pattern), text(replacement), text(flags)
    if found is None or written is None or new is None or options is None:
        return None
    try:
        made = xpath_regex(written, options)
        if made.search("") is not None:
            return None
        return _like(source, made.replaced(found, _written_out(new, made.groups)))  # type: ignore[arg-type]
    except TermError:
        return None


def _written_out(new: str, groups: int) -> Callable[[Any], str]:
    """What stands for a match: ``$1`` is a group, ``\\$`` a dollar."""
    if _REFERENCE.search(new) is None:
        return lambda match: new

    def written_out(match: Any) -> str:
        def one(reference: re.Match[str]) -> str:
            if reference[2] is None:
                return reference[1] or "\\"
            number = int(reference[2])
            return match.group(number) or "" if number <= groups else ""

        return _REFERENCE.sub(one, new)

    return written_out


def _abs(value: Number) -> Number:
    return value.copy_abs() if isinstance(value, Decimal) else abs(value)


def _round(value: Number) -> Number:
    if isinstance(value, int):
        return value
    if isinstance(value, Decimal):
        return EXACT.add(value, Decimal("0.5")).to_integral_value(ROUND_FLOOR)
    return float(math.floor(value + 0.5)) if math.isfinite(value) else value


def _ceil(value: Number) -> Number:
    if isinstance(value, int):
        return value
    if isinstance(value, Decimal):
        return value.to_integral_value(ROUND_CEILING)
    return float(math.ceil(value)) if math.isfinite(value) else value


def _floor(value: Number) -> Number:
    if isinstance(value, int):
        return value
    if isinstance(value, Decimal):
        return value.to_integral_value(ROUND_FLOOR)
    return float(math.floor(value)) if math.isfinite(value) else value


ROUNDINGS: Final[Mapping[str, Callable[[Number], Number]]] = MappingProxyType(
    {"ABS": _abs, "ROUND": _round, "CEIL": _ceil, "FLOOR": _floor}
)
"""Of a number another one of the same type (section 17.4.4); the rest is arithmetic's."""


def _part(place: int) -> Function:
    def function(term: Term | None) -> Term | None:
        found = _moment(term)
        if found is None or type(term) is not Literal:
            return None
        # A time of day has no date, a date no time of day.
        if (term.datatype == XSD_TIME and place < 3) or (term.datatype == XSD_DATE and place > 2):
            return None
        part = fields(found)[place]
        if isinstance(part, Decimal):
            return Literal(decimal_text(part), XSD_DECIMAL)
        return Literal(str(part), XSD_INTEGER)

    return function


def _moment(term: Term | None) -> Moment | None:
    if type(term) is not Literal or term.datatype not in MOMENTS:
        return None
    found = time_of(term)
    return found if isinstance(found, Moment) else None


def _timezone(term: Term | None) -> Term | None:
    found = _moment(term)
    if found is None or found.zone is None:
        return None
    return duration_literal(Duration(0, Decimal(found.zone * 60)), XSD_DAY_TIME_DURATION)


def _tz(term: Term | None) -> Term | None:
    found = _moment(term)
    return None if found is None else Literal(zone_text(found.zone))


def _hashing(name: str) -> Function:
    def function(term: Term | None) -> Term | None:
        found = text(term)
        if found is None or (type(term) is Literal and term.language is not None):
            return None
        return Literal(hashlib.new(name, found.encode(), usedforsecurity=False).hexdigest())

    return function


def _strlang(lexical: Term | None, tag: Term | None) -> Term | None:
    found, language = text(lexical), text(tag)
    if found is None or not language or type(lexical) is not Literal or lexical.language:
        return None
    return Literal(found, RDF_LANG_STRING, language)


def _strdt(lexical: Term | None, datatype: Term | None) -> Term | None:
    if text(lexical) is None or not isinstance(datatype, IRI):
        return None
    assert type(lexical) is Literal
    return None if lexical.language else Literal(lexical.lexical, datatype)


def iri_function(base: str) -> Function:
    """IRI(): relative IRIs are resolved against ``base``."""

    def function(term: Term | None) -> Term | None:
        if isinstance(term, IRI):
            return term
        found = text(term)
        if found is None:
            return None
        try:
            return terms.iri(resolve(base, found) if base else found)
        except TermError:
            return None

    return function


def _kind(test: Callable[[Term], bool]) -> Function:
    def function(term: Term | None) -> Term | None:
        return None if term is None else boolean(test(term))

    return function


def _sameterm(one: Term | None, other: Term | None) -> Term | None:
    return None if one is None or other is None else boolean(one == other)


FUNCTIONS: Final[Mapping[str, Function]] = {
    "STR": _str,
    "LANG": _lang,
    "DATATYPE": _datatype,
    "LANGMATCHES": _langmatches,
    "STRLEN": _strlen,
    "UCASE": _mapping(str.upper),
    "LCASE": _mapping(str.lower),
    "ENCODE_FOR_URI": _encode_for_uri,
    "CONTAINS": _comparing(lambda one, other: other in one),
    "STRSTARTS": _comparing(str.startswith),
    "STRENDS": _comparing(str.endswith),
    "STRBEFORE": _strbefore,
    "STRAFTER": _strafter,
    "CONCAT": _concat,
    "SUBSTR": _substr,
    "REGEX": _regex,
    "REPLACE": _replace,
    "YEAR": _part(0),
    "MONTH": _part(1),
    "DAY": _part(2),
    "HOURS": _part(3),
    "MINUTES": _part(4),
    "SECONDS": _part(5),
    "TIMEZONE": _timezone,
    "TZ": _tz,
    "MD5": _hashing("md5"),
    "SHA1": _hashing("sha1"),
    "SHA256": _hashing("sha256"),
    "SHA384": _hashing("sha384"),
    "SHA512": _hashing("sha512"),
    "STRLANG": _strlang,
    "STRDT": _strdt,
    "SAMETERM": _sameterm,
    "NODE": made_node,
    "ISIRI": _kind(lambda term: isinstance(term, IRI)),
    "ISURI": _kind(lambda term: isinstance(term, IRI)),
    "ISBLANK": _kind(lambda term: isinstance(term, BlankNode)),
    "ISLITERAL": _kind(lambda term: type(term) is Literal),
    "ISNUMERIC": _kind(lambda term: number(term) is not None),
}


def _cast_string(term: Term) -> Term | None:
    if type(term) is not Literal:
        return Literal(str(term)) if isinstance(term, IRI) else None
    if term.language is not None:
        return None
    if term.datatype == XSD_BOOLEAN:
        found = truth(term)
        return Literal("true" if found else "false") if _fits(term, XSD_BOOLEAN) else None
    value = number(term)
    if value is None:
        return Literal(term.lexical)
    return Literal(_number_text(value))


def _number_text(value: Number) -> str:
    """A number as XPath casts it to a string (XPath Functions 3.1, section 19.1.2.2)."""
    if isinstance(value, float):
        if value and not 1e-6 <= abs(value) < 1e6:
            return double_text(value)
        value = Decimal(repr(value))
    return decimal_text(Decimal(value))


def _cast_boolean(term: Term) -> Term | None:
    if type(term) is not Literal:
        return None
    if term.datatype == XSD_STRING:
        return boolean(term.lexical in ("true", "1")) if _fits(term, XSD_BOOLEAN) else None
    if term.datatype == XSD_BOOLEAN or number(term) is not None:
        found = truth(term)
        return None if found is None else boolean(found)
    return None


def _cast_number(target: str) -> Callable[[Term], Term | None]:
    of_rank = {XSD_INTEGER: 0, XSD_DECIMAL: 1, XSD_FLOAT: 2, XSD_DOUBLE: 3}[target]

    def cast(term: Term) -> Term | None:
        if type(term) is not Literal:
            return None
        value: Number | None
        if term.datatype == XSD_STRING:
            if not _fits(term, target):
                return None
            value = Literal(term.lexical, target).value  # type: ignore[assignment]
        elif term.datatype == XSD_BOOLEAN:
            found = truth(term)
            value = None if found is None else int(found)
        else:
            value = number(term)
        if value is None:
            return None
        if of_rank < 2 and isinstance(value, float):
            if not math.isfinite(value):
                return None
            value = Decimal(repr(value))
        return numeral(int(value) if of_rank == 0 else value, of_rank)

    return cast


def _cast_time(target: str) -> Callable[[Term], Term | None]:
    def cast(term: Term) -> Term | None:
        if type(term) is not Literal:
            return None
        if term.datatype == XSD_STRING:
            term = Literal(term.lexical, target)
        return time_cast(term, target) if term.datatype in FAMILIES else None

    return cast


def _fits(term: Literal, datatype: str) -> bool:
    try:
        _ = Literal(term.lexical, datatype).value
    except TermError:
        return False
    return True


CASTS: Final[Mapping[str, Function]] = {
    XSD_STRING: _cast_string,
    XSD_BOOLEAN: _cast_boolean,
    XSD_INTEGER: _cast_number(XSD_INTEGER),
    XSD_DECIMAL: _cast_number(XSD_DECIMAL),
    XSD_FLOAT: _cast_number(XSD_FLOAT),
    XSD_DOUBLE: _cast_number(XSD_DOUBLE),
    **{target: _cast_time(target) for target in FAMILIES},
}
