"""The built-in functions and casts (sections 17.4 and 17.5), of terms to a term: one table.

None as an argument is unbound or an error; None as a result is an error. A new function is a line
of :data:`FUNCTIONS` and its body; the tables of other engines are keyed by the same names.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import Enum
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from sensorstream.errors import TermError
from sensorstream.model import terms, xsd
from sensorstream.model.frozen import frozen
from sensorstream.model.numerals import decimal_text, double_text
from sensorstream.model.regex import LONGEST_TEXT, xpath_regex
from sensorstream.model.terms import IRI, BlankNode, Literal, Term
from sensorstream.model.xsd import (
    EXACT,
    FAMILIES,
    RDF_LANG_STRING,
    Duration,
    TimelineMoment,
    fields,
    zone_text,
)
from sensorstream.sparql.iris import resolve
from sensorstream.sparql.values import (
    RANKED,
    Number,
    boolean,
    number,
    numeral,
    text,
    time_cast,
    time_literal,
    time_of,
    truth,
)

Function: TypeAlias = Callable[..., Term | None]

_NO_FLAGS: Final = Literal("")
_HALF: Final = Decimal("0.5")
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d+)|(\\)", re.S)


class Trait(Enum):
    """A property of a function that engines and checks need."""

    UNREPEATABLE = "it has a new value at each call: results that use it cannot be retracted"
    OF_EVENT = "it is of the interval of a solution over time"
    OF_NUMBER = "it makes a number of a number of the same type (section 17.4.4)"
    OF_TERM = "it looks at no value"
    BY_KIND = "it accepts all valid values of a kind, or none"
    GIVES_NAME = "its value is an IRI"
    GROWING = "its result may be any number of times as long as its argument"


@frozen
class Builtin:
    """A built-in function: the numbers of its arguments (``most`` None: any number), its body.

    Without a ``value`` each engine has a case of its own for it.
    """

    name: str
    least: int
    most: int | None
    value: Callable[..., Any] | None
    traits: frozenset[Trait]


@frozen
class Extension:
    """A function named by an IRI, and the datatype of its values; None: one that depends on them.

    ``readers`` read its arguments: each raises TermError for a term with which the function never
    has a value. ``value``, of what they read, raises it where there is none.
    """

    datatype: str | None
    readers: tuple[Callable[[Term], Any], ...]
    value: Callable[..., Literal]

    def __call__(self, *terms: Term) -> Literal | None:
        """The value; None is an error."""
        try:
            return self.value(*[read(term) for read, term in zip(self.readers, terms, strict=True)])
        except TermError:
            return None


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
    return None if found is None else Literal(str(len(found)), xsd.INTEGER)


def _like(source: Literal, lexical: str) -> Literal:
    """A text as a string of the same kind (language, datatype) as another string."""
    return Literal(lexical, xsd.STRING, source.language)


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
    return Literal("".join(each or "" for each in texts), xsd.STRING, language)


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
    """The replacement of a match: ``$1`` is a group, ``\\$`` a dollar."""
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


def _rounding(
    of_float: Callable[[float], int], of_decimal: Callable[[Decimal], Decimal]
) -> Callable[[Number], Number]:
    def change(value: Number) -> Number:
        if isinstance(value, Decimal):
            return of_decimal(value)
        is_finite = isinstance(value, float) and math.isfinite(value)
        return float(of_float(value)) if is_finite else value

    return change


def _abs(value: Number) -> Number:
    return value.copy_abs() if isinstance(value, Decimal) else abs(value)


_round: Final = _rounding(
    lambda value: math.floor(value + 0.5),
    lambda value: EXACT.add(value, _HALF).to_integral_value(ROUND_FLOOR),
)
_ceil: Final = _rounding(math.ceil, lambda value: value.to_integral_value(ROUND_CEILING))
_floor: Final = _rounding(math.floor, lambda value: value.to_integral_value(ROUND_FLOOR))


def _part(place: int) -> Function:
    def function(term: Term | None) -> Term | None:
        found = time_of(term)
        if type(term) is not Literal or not isinstance(found, TimelineMoment):
            return None
        # A time of day has no date, a date no time of day.
        if (term.datatype == xsd.TIME and place < 3) or (term.datatype == xsd.DATE and place > 2):
            return None
        part = fields(found)[place]
        return numeral(part, int(isinstance(part, Decimal)))

    return function


def _timezone(term: Term | None) -> Term | None:
    found = time_of(term)
    if not isinstance(found, TimelineMoment) or found.zone is None:
        return None
    return time_literal(Duration(0, Decimal(found.zone * 60)), xsd.DAY_TIME_DURATION)


def _tz(term: Term | None) -> Term | None:
    found = time_of(term)
    return Literal(zone_text(found.zone)) if isinstance(found, TimelineMoment) else None


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
    """The function IRI(), which resolves relative IRIs against ``base``."""

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


def _of(
    name: str, least: int, value: Callable[..., Any] | None, *traits: Trait, most: int | None = -1
) -> Builtin:
    return Builtin(name, least, least if most == -1 else most, value, frozenset(traits))


_is_iri: Final = _kind(lambda term: isinstance(term, IRI))
FUNCTIONS: Final[Mapping[str, Builtin]] = {
    each.name: each
    for each in (
        _of("STR", 1, _str),
        _of("LANG", 1, _lang),
        _of("DATATYPE", 1, _datatype, Trait.GIVES_NAME),
        _of("IRI", 1, iri_function(""), Trait.GIVES_NAME),
        _of("URI", 1, iri_function(""), Trait.GIVES_NAME),
        _of("ABS", 1, _abs, Trait.OF_NUMBER, Trait.BY_KIND),
        _of("CEIL", 1, _ceil, Trait.OF_NUMBER, Trait.BY_KIND),
        _of("FLOOR", 1, _floor, Trait.OF_NUMBER, Trait.BY_KIND),
        _of("ROUND", 1, _round, Trait.OF_NUMBER, Trait.BY_KIND),
        _of("STRLEN", 1, _strlen, Trait.BY_KIND),
        _of("UCASE", 1, _mapping(str.upper), Trait.BY_KIND),
        _of("LCASE", 1, _mapping(str.lower), Trait.BY_KIND),
        _of("ENCODE_FOR_URI", 1, _encode_for_uri, Trait.GROWING),
        _of("YEAR", 1, _part(0), Trait.BY_KIND),
        _of("MONTH", 1, _part(1), Trait.BY_KIND),
        _of("DAY", 1, _part(2), Trait.BY_KIND),
        _of("HOURS", 1, _part(3), Trait.BY_KIND),
        _of("MINUTES", 1, _part(4), Trait.BY_KIND),
        _of("SECONDS", 1, _part(5), Trait.BY_KIND),
        _of("TIMEZONE", 1, _timezone, Trait.BY_KIND),
        _of("TZ", 1, _tz, Trait.BY_KIND),
        _of("MD5", 1, _hashing("md5")),
        *(_of(f"SHA{bits}", 1, _hashing(f"sha{bits}")) for bits in (1, 256, 384, 512)),
        _of("ISIRI", 1, _is_iri, Trait.OF_TERM),
        _of("ISURI", 1, _is_iri, Trait.OF_TERM),
        _of("ISBLANK", 1, _kind(lambda term: isinstance(term, BlankNode)), Trait.OF_TERM),
        _of("ISLITERAL", 1, _kind(lambda term: type(term) is Literal), Trait.OF_TERM),
        _of("ISNUMERIC", 1, _kind(lambda term: number(term) is not None)),
        _of("BOUND", 1, None, Trait.OF_TERM),
        _of("LANGMATCHES", 2, _langmatches),
        _of("CONTAINS", 2, _comparing(lambda one, other: other in one)),
        _of("STRSTARTS", 2, _comparing(str.startswith)),
        _of("STRENDS", 2, _comparing(str.endswith)),
        _of("STRBEFORE", 2, _strbefore),
        _of("STRAFTER", 2, _strafter),
        _of("STRLANG", 2, _strlang),
        _of("STRDT", 2, _strdt),
        _of("SAMETERM", 2, _sameterm, Trait.OF_TERM),
        _of("RAND", 0, None, Trait.UNREPEATABLE),
        _of("NOW", 0, None, Trait.UNREPEATABLE),
        _of("UUID", 0, None, Trait.UNREPEATABLE),
        _of("STRUUID", 0, None, Trait.UNREPEATABLE),
        _of("GETDURATION", 0, None, Trait.OF_EVENT),
        _of("GETSTARTTIME", 0, None, Trait.OF_EVENT),
        _of("GETENDTIME", 0, None, Trait.OF_EVENT),
        _of("SUBSTR", 2, _substr, most=3),
        _of("REGEX", 2, _regex, most=3),
        _of("BNODE", 0, None, Trait.UNREPEATABLE, most=1),
        _of("REPLACE", 3, _replace, Trait.GROWING, most=4),
        _of("IF", 3, None),
        _of("CONCAT", 0, _concat, most=None),
        _of("COALESCE", 0, None, most=None),
    )
}


def named(trait: Trait) -> frozenset[str]:
    """The functions with a trait."""
    return frozenset(name for name, each in FUNCTIONS.items() if trait in each.traits)


UNREPEATABLE: Final = named(Trait.UNREPEATABLE)
OF_EVENTS: Final = named(Trait.OF_EVENT)
ROUNDINGS: Final[Mapping[str, Callable[[Number], Number]]] = {
    name: each.value
    for name, each in FUNCTIONS.items()
    if each.value and Trait.OF_NUMBER in each.traits
}


def _cast_string(term: Term) -> Term | None:
    if type(term) is not Literal:
        return Literal(str(term)) if isinstance(term, IRI) else None
    if term.language is not None:
        return None
    if term.datatype == xsd.BOOLEAN:
        found = Literal(term.lexical, xsd.BOOLEAN).known
        return None if found is None else Literal("true" if found else "false")
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
    if term.datatype == xsd.STRING:
        known = Literal(term.lexical, xsd.BOOLEAN).known
        return None if known is None else boolean(term.lexical in ("true", "1"))
    if term.datatype == xsd.BOOLEAN or number(term) is not None:
        found = truth(term)
        return None if found is None else boolean(found)
    return None


def _cast_number(target: str) -> Callable[[Term], Term | None]:
    of_rank = RANKED.index(target)

    def cast(term: Term) -> Term | None:
        if type(term) is not Literal:
            return None
        value: Number | None
        if term.datatype == xsd.STRING:
            value = number(Literal(term.lexical, target))
        elif term.datatype == xsd.BOOLEAN:
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
        if term.datatype == xsd.STRING:
            term = Literal(term.lexical, target)
        return time_cast(term, target) if term.datatype in FAMILIES else None

    return cast


CASTS: Final[Mapping[str, Function]] = {
    xsd.STRING: _cast_string,
    xsd.BOOLEAN: _cast_boolean,
    **{target: _cast_number(target) for target in RANKED},
    **{target: _cast_time(target) for target in FAMILIES},
}
