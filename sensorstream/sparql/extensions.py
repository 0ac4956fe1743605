"""The functions beyond SPARQL 1.1 that are named by an IRI, of two terms to a term.

The network and Oxigraph compute them alike; SQL has none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sensorstream.errors import TermError
from sensorstream.model import xsd
from sensorstream.model.geometry import (
    lies_within,
    metres_between,
    read_area,
    read_point,
    read_position,
)
from sensorstream.model.numerals import decimal_text, double_text
from sensorstream.model.terms import IRI, Literal, Term, is_of
from sensorstream.model.xsd import (
    DATE_TIMES,
    EXACT,
    Duration,
    TimelineMoment,
    datetime_of,
    moment_text,
)
from sensorstream.sparql.values import boolean, time_of

LOCAL: Final = IRI("urn:sensorstream:function:local")
SF_WITHIN: Final = IRI("http://www.opengis.net/def/function/geosparql/sfWithin")
METRIC_DISTANCE: Final = IRI("http://www.opengis.net/def/function/geosparql/metricDistance")
DIVIDE: Final = IRI("urn:sensorstream:function:divide")
IS_OF: Final = IRI("urn:sensorstream:function:isOf")
_PLACES: Final = Decimal("1e-18")
"""The precision of decimals, the same everywhere."""
_MOST: Final = Decimal("1e20")


@dataclass(frozen=True, slots=True)
class Extension:
    """A function of two arguments, and the datatype of its values.

    ``value`` raises TermError where it has none; ``check`` raises it for a second argument with
    which the function never has a value.
    """

    datatype: str
    value: Callable[[Term, Term], Literal]
    check: Callable[[Term], object]

    def __call__(self, one: Term, other: Term) -> Literal | None:
        """The value; None is an error."""
        try:
            return self.value(one, other)
        except TermError:
            return None


def fault_of_call(function: IRI, arguments: Sequence[object]) -> str:
    """The reason why a call of an extension never has a value; empty if it may have one."""
    extension = EXTENSIONS.get(function)
    if extension is None:
        return ""
    if len(arguments) != 2:
        return f"expected two arguments, not {len(arguments)}"
    constant = arguments[1]
    if isinstance(constant, IRI | Literal):
        try:
            extension.check(constant)
        except TermError as error:
            return error.message
    return ""


def _local(time: Term, zone: Term) -> Literal:
    """A dateTime in the offset of a time zone: the same moment."""
    there = _zone(zone)
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


def _sf_within(point: Term, area: Term) -> Literal:
    """Whether a point lies within polygons (GeoSPARQL 1.1, 9.3.1), in a plane.

    Both have the same reference system; without one, WKT is in CRS84.
    """
    polygons = read_area(_wkt(area))
    reference, place = read_point(_wkt(point))
    if reference != polygons.reference:
        raise TermError(f"a point in <{reference}>, polygons in <{polygons.reference}>")
    return boolean(lies_within(place, polygons))


def _metric_distance(one: Term, other: Term) -> Literal:
    """The distance of two points in metres (GeoSPARQL 1.1, geof:metricDistance), on a sphere."""
    metres = metres_between(read_position(_wkt(one)), read_position(_wkt(other)))
    return Literal(double_text(metres), xsd.DOUBLE)


def _divide(one: Term, other: Term) -> Literal:
    """The quotient of two lengths of time.

    Source: XPath Functions 3.1, op:divide-dayTimeDuration-by-dayTimeDuration; an xsd:duration
    without months is accepted.
    """
    length = _divisor(other)
    seconds = _seconds(one)
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


def _wkt(term: Term) -> str:
    if not isinstance(term, Literal) or term.datatype != xsd.GEO_WKT:
        raise TermError(f"'{str(term)[:80]}' is no geo:wktLiteral")
    return term.lexical


def _is_of(value: Term, datatype: Term) -> Literal:
    """Whether the value of a literal is one of a datatype."""
    if not isinstance(value, Literal):
        raise TermError(f"{value.n3} is no literal")
    return boolean(is_of(value, _datatype(datatype)))


def _datatype(term: Term) -> IRI:
    if not isinstance(term, IRI):
        raise TermError(f"{term.n3} is no datatype: expected a name such as xsd:integer")
    is_of(Literal(""), term)
    return term


EXTENSIONS: Final[Mapping[str, Extension]] = {
    LOCAL: Extension(xsd.DATE_TIME, _local, _zone),
    SF_WITHIN: Extension(xsd.BOOLEAN, _sf_within, lambda area: read_area(_wkt(area))),
    METRIC_DISTANCE: Extension(
        xsd.DOUBLE, _metric_distance, lambda point: read_position(_wkt(point))
    ),
    DIVIDE: Extension(xsd.DECIMAL, _divide, _divisor),
    IS_OF: Extension(xsd.BOOLEAN, _is_of, _datatype),
}
