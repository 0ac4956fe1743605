from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyoxigraph as ox
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sensorstream.errors import TermError
from sensorstream.model import xsd
from sensorstream.model.timeline import parse_date_time
from sensorstream.model.xsd import (
    INTEGER_BOUNDS,
    INTEGER_TYPES,
    XSD,
    TimelineMoment,
    parse,
    parse_duration,
)

# Characters that number, boolean and time forms are made of, and some that they are not.
forms = st.text("0123456789+-.eEINFNatrueflsPTHMDSZ: _٣", max_size=14)


def oxigraph_accepts(form: str, datatype: str) -> bool:
    cast = {xsd.INTEGER: "integer", xsd.DECIMAL: "decimal", xsd.DOUBLE: "double"}
    cast |= {xsd.BOOLEAN: "boolean", xsd.DATE_TIME: "dateTime", xsd.DATE: "date"}
    text = f'ASK {{ FILTER(BOUND(?x)) BIND(xsd:{cast[datatype]}("{form}") AS ?x) }}'
    found = ox.Store().query(text, prefixes={"xsd": XSD})
    assert isinstance(found, ox.QueryBoolean)
    return bool(found)


@given(forms, st.sampled_from([xsd.INTEGER, xsd.DECIMAL, xsd.DOUBLE, xsd.BOOLEAN]))
def test_a_form_is_taken_when_oxigraph_takes_it(form: str, datatype: str) -> None:
    assume(form.strip() == form)
    # Oxigraph's numbers have 64 bits (128 for decimals).
    assume(sum(c.isdigit() for c in form) < 15)
    try:
        parse(form, datatype)
        accepted = True
    except TermError:
        accepted = False
    assert accepted == oxigraph_accepts(form, datatype)


@given(st.integers(-(10**6), 10**6), st.sampled_from(sorted(INTEGER_TYPES)))
def test_an_integer_type_takes_its_range(number: int, datatype: str) -> None:
    low, high = INTEGER_BOUNDS[datatype]
    inside = (low is None or low <= number) and (high is None or number <= high)
    if inside:
        assert parse(str(number), datatype) == number
    else:
        with pytest.raises(TermError, match="range"):
            parse(str(number), datatype)


@pytest.mark.parametrize(
    ("form", "datatype", "value"),
    [
        (" 072 ", xsd.INTEGER, 72),
        ("+5", xsd.INTEGER, 5),
        ("7.40", xsd.DECIMAL, Decimal("7.4")),
        (".5", xsd.DECIMAL, Decimal("0.5")),
        ("1e3", xsd.DOUBLE, 1000.0),
        ("-INF", xsd.DOUBLE, -math.inf),
        ("1", xsd.BOOLEAN, True),
        ("false", xsd.BOOLEAN, False),
        ("2014-08-01", xsd.DATE, TimelineMoment(Decimal(1406851200), None)),
        ("2014-08-01Z", xsd.DATE, TimelineMoment(Decimal(1406851200), 0)),
        ("anything", "http://example.org/own", "anything"),
    ],
)
def test_a_form_has_its_value(form: str, datatype: str, value: object) -> None:
    assert parse(form, datatype) == value


@pytest.mark.parametrize(
    ("form", "datatype"),
    [
        ("", xsd.INTEGER),
        ("1_000", xsd.INTEGER),
        ("1.0", xsd.INTEGER),
        ("٣", xsd.INTEGER),
        ("1e3", xsd.DECIMAL),
        ("inf", xsd.DOUBLE),
        ("True", xsd.BOOLEAN),
        ("2014-13-01", xsd.DATE),
        ("2014-08-01T08:00:00", xsd.DATE_TIME_STAMP),
    ],
)
def test_a_wrong_form_is_refused_with_what_was_expected(form: str, datatype: str) -> None:
    with pytest.raises(TermError, match=f"'{form}' is not an xsd:.*expected") as caught:
        parse(form, datatype)
    assert datatype.removeprefix(XSD) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2014-08-01T08:05:00Z", datetime(2014, 8, 1, 8, 5, tzinfo=UTC)),
        ("2014-08-01T08:05:00", datetime(2014, 8, 1, 8, 5, tzinfo=UTC)),
        ("2014-08-01T10:05:00+02:00", datetime(2014, 8, 1, 8, 5, tzinfo=UTC)),
        ("2014-08-01T24:00:00Z", datetime(2014, 8, 2, tzinfo=UTC)),
        ("2014-08-01T08:05:00.1234567Z", datetime(2014, 8, 1, 8, 5, 0, 123456, tzinfo=UTC)),
    ],
)
def test_a_date_time_is_a_moment_in_utc(text: str, moment: datetime) -> None:
    assert parse_date_time(text) == moment
    assert parse_date_time(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "2014-08-01 08:05:00",
        "2014-08-01T24:00:01Z",
        "2014-08-01T08:60:00Z",
        "0000-01-01T00:00:00",
        "9999-12-31T24:00:00Z",
        "0001-01-01T00:00:00+14:00",
    ],
)
def test_a_wrong_date_time_is_refused(text: str) -> None:
    with pytest.raises(TermError, match=r"is not an xsd:dateTime"):
        parse_date_time(text)


@given(st.timedeltas(timedelta(), timedelta(days=10_000)))
def test_a_duration_is_read_exactly(length: timedelta) -> None:
    seconds = f"{length.seconds}.{length.microseconds:06}"
    assert parse_duration(f"P{length.days}DT{seconds}S") == length
    assert parse_duration(f"-P{length.days}DT{seconds}S") == -length


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1D", "P1Y", "P1M", "PT1S1M", "PT-1S"])
def test_a_wrong_duration_is_refused(text: str) -> None:
    with pytest.raises(TermError, match="duration"):
        parse_duration(text)
