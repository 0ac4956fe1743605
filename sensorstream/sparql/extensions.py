"""The functions beyond SPARQL 1.1 that are named by an IRI, of terms to a term.

The network and Oxigraph compute them alike; SQL has none of them, see
:mod:`sensorstream.history.asking.split_question`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sensorstream.errors import MissingExtra, TermError
from sensorstream.installation import require
from sensorstream.model import xsd
from sensorstream.model.numerals import decimal_text
from sensorstream.model.terms import IRI, Literal, Term, is_of
from sensorstream.model.xsd import (
    DATE_TIMES,
    EXACT,
    Duration,
    TimelineMoment,
    datetime_of,
    moment_text,
)
from sensorstream.sparql.algebra import Aggregate, FunctionCall
from sensorstream.sparql.functions import Extension
from sensorstream.sparql.place_functions import GEOF, PLACE_AGGREGATES, PLACE_FUNCTIONS
from sensorstream.sparql.values import boolean, time_of
from sensorstream.sparql.walk import nodes

LOCAL: Final = IRI("urn:sensorstream:function:local")
DIVIDE: Final = IRI("urn:sensorstream:function:divide")
IS_OF: Final = IRI("urn:sensorstream:function:isOf")
_PLACES: Final = Decimal("1e-18")
"""The precision of decimals, the same everywhere."""
_MOST: Final = Decimal("1e20")
_ARGUMENTS: Final = ("no", "one argument", "two arguments", "three arguments")


def fault_of_call(function: IRI, arguments: Sequence[object]) -> str:
    """The reason why a call of an extension never has a value; empty if it may have one."""
    extension = EXTENSIONS.get(function) or PLACE_AGGREGATES.get(function)
    if extension is None:
        return ""
    expected = len(extension.readers)
    if len(arguments) != expected:
        return f"expected {_ARGUMENTS[expected]}, not {len(arguments)}"
    try:
        if function.startswith(GEOF):
            require("geo", "it")
        for read, argument in zip(extension.readers, arguments, strict=True):
            if isinstance(argument, IRI | Literal):
                read(argument)
    except (MissingExtra, TermError) as error:
        return error.message
    return ""


def beyond_sql(tree: object) -> IRI | None:
    """The name of an extension, or aggregate of GeoSPARQL, that a query or a part of it calls."""
    for node in nodes(tree):
        name = getattr(node, "function", getattr(node, "name", None))
        if isinstance(node, FunctionCall | Aggregate) and (
            name in EXTENSIONS or name in PLACE_AGGREGATES
        ):
            return IRI(name)
    return None


def _local(time: Term, there: ZoneInfo) -> Literal:
    """A dateTime in the offset of a time zone: the same moment."""
    moment = time_of(time)
    if (
        not isinstance(time, Literal)
        or time.datatype not in DATE_TIMES
        or not isinstance(moment, TimelineMoment)
    ):
        raise TermError(f"'{time}' is no xsd:dateTime")
    if moment.zone is None:
        raise TermError(f"'{time}' has no time zone")
    when = datetime_of(moment)
    try:
        offset = None if when is None else when.astimezone(there).utcoffset()
    except (OverflowError, ValueError):
        offset = None
    if offset is None:
        raise TermError(f"'{time}' is outside the years 1 to 9999")
    # Historical offsets with seconds are cut to whole minutes.
    minutes = int(offset.total_seconds() // 60)
    local = TimelineMoment(EXACT.add(moment.utc, Decimal(minutes * 60)), minutes)
    text = moment_text(local, xsd.DATE_TIME)
    assert text is not None
    return Literal(text, xsd.DATE_TIME)


def _zone(term: Term) -> ZoneInfo:
    if not isinstance(term, Literal) or term.datatype != xsd.STRING:
        raise TermError(f"'{term}' is no name of a time zone: expected e.g. \"Europe/Bucharest\"")
    try:
        return ZoneInfo(term.lexical)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise TermError(
            f"'{term.lexical[:80]}' is not a known time zone: expected e.g. Europe/Bucharest"
        ) from None


def _divide(seconds: Decimal, length: Decimal) -> Literal:
    """The quotient of two lengths of time.

    Source: XPath Functions 3.1, op:divide-dayTimeDuration-by-dayTimeDuration; an xsd:duration
    without months is accepted.
    """
    if abs(seconds) >= _MOST * abs(length):
        raise TermError("the quotient is too large for a decimal")
    # Rounded once, from more digits than are kept.
    exact = Context(prec=60).divide(seconds, length)
    rounded = exact.quantize(_PLACES, ROUND_HALF_EVEN, context=Context(prec=60))
    return Literal(decimal_text(rounded), xsd.DECIMAL)


def _divisor(term: Term) -> Decimal:
    seconds = _seconds(term)
    if not seconds:
        raise TermError(f"'{term}' is no time to divide by")
    return seconds


def _seconds(term: Term) -> Decimal:
    if not isinstance(term, Literal) or term.datatype not in (xsd.DAY_TIME_DURATION, xsd.DURATION):
        raise TermError(f"'{str(term)[:80]}' is no length of time: expected an xsd:duration")
    length = term.value
    assert isinstance(length, Duration)
    if length.months:
        raise TermError(f"'{term.lexical[:80]}' has months, which have no fixed length")
    return length.seconds


def _literal(term: Term) -> Literal:
    if not isinstance(term, Literal):
        raise TermError(f"{term.n3} is no literal")
    return term


def _datatype(term: Term) -> IRI:
    if not isinstance(term, IRI):
        raise TermError(f"{term.n3} is no datatype: expected a name such as xsd:integer")
    is_of(Literal(""), term)
    return term


def _term(term: Term) -> Term:
    return term


EXTENSIONS: Final[Mapping[str, Extension]] = {
    LOCAL: Extension(xsd.DATE_TIME, (_term, _zone), _local),
    DIVIDE: Extension(xsd.DECIMAL, (_seconds, _divisor), _divide),
    IS_OF: Extension(xsd.BOOLEAN, (_literal, _datatype), lambda one, of: boolean(is_of(one, of))),
    **PLACE_FUNCTIONS,
}
