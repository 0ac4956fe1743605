"""Value functions as rules write them: from the text of a message to the values that come out."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sensorstream.errors import LanguageError, TermError
from sensorstream.language import parse
from sensorstream.language.syntax import Hole, ValueCall
from sensorstream.mapping.functions.function_definition import Library
from sensorstream.mapping.functions.function_registry import compile_call
from sensorstream.sparql.walk import nodes

LIBRARY = Library({"rooms": {"A1": "hall", "A2": "kitchen"}})


def calls(pipeline: str) -> tuple[ValueCall, ...]:
    file = parse(
        "prefix : <http://e/>\n"
        "mapping m on message {/a} then insert individual :i ; :p\n"
        f"{{@x |> {pipeline}}} .",
        "f",
    )
    (hole,) = (each for each in nodes(file.rules, Hole) if each.calls)
    return hole.calls


def run(pipeline: str, *values: str, library: Library = LIBRARY) -> list[str]:
    found = list(values)
    for call in calls(pipeline):
        found = compile_call(call, library).run(found)
    return found


@pytest.mark.parametrize(
    ("pipeline", "value", "made"),
    [
        ("trim", "  a b ", ["a b"]),
        ("collapse", " a \n\t b ", ["a b"]),
        ("lower", "ÅRHUS", ["århus"]),
        ("upper", "straße", ["STRASSE"]),
        ("title", "ADA  lovelace o'neil", ["Ada  Lovelace O'neil"]),
        (r'replace "(\d+)-(\d+)" by "\2/\1"', "1-2 and 3-4", ["2/1 and 4/3"]),
        (r'replace "a" by "\\"', "a", ["\\"]),
        (r'replace "x(y)?" by "[\1]"', "x", ["[]"]),
        ('replace "." by ""', "abc", []),
        (r'extract "id=(\d+)"', "x id=42 id=43", ["42"]),
        (r'extract "\d+"', "x 42", ["42"]),
        (r'extract "\d+"', "none", []),
        ('match "[A-Z][0-9]+"', "A17", ["A17"]),
        ('split ";" |> trim', "a; b ;;c", ["a", "b", "c"]),
        ('part 2 of ","', "a,b,c", ["b"]),
        ('part -1 of "/"', "/x/y.jpg", ["y.jpg"]),
        ('part 4 of ","', "a,b,c", []),
        ('part -4 of ","', "a,b,c", []),
        ("substring 2", "abcd", ["bcd"]),
        ("substring 2 to 3", "abcd", ["bc"]),
        ("substring 9", "abcd", []),
        ("lookup rooms", "A2", ["kitchen"]),
        ("lookup rooms", "B7", []),
        ('lookup rooms |> default "nowhere"', "B7", ["nowhere"]),
        ("default 5", "7", ["7"]),
        ("* 9 |> / 5 |> + 32", "21.5", ["70.7"]),
        ("- 0.1", "0.3", ["0.2"]),
        ("/ 3", "1", ["0.3333333333333333333333333333"]),
        ("* 1000", "1e-3", ["1"]),
        ("round", "-2.5", ["-3"]),
        ("round 1", "0.25", ["0.3"]),
        ("round 2", "7", ["7"]),
        ("- 5 |> round", "4.9", ["0"]),
        ("number", "+07.50", ["7.5"]),
        ('number decimal ","', "-3,25", ["-3.25"]),
        ('number decimal "," thousands "."', "1.234.567,80", ["1234567.8"]),
        ('number decimal "," thousands " "', "1\u00a0234,5", ["1234.5"]),
        ('number thousands ","', "12,345", ["12345"]),
        ('number thousands "\'"', "12'345.5", ["12345.5"]),
        ('unit "degF" to "degC"', "212", ["100"]),
        ('unit "km/h" to "m/s"', "36", ["10"]),
        ('unit "inch" to "cm"', "1", ["2.54"]),
        ('unit to "degC"', "212 degF", ["100"]),
        ('unit to "degC"', "21.5 °C", ["21.5"]),
        ('unit to "m/s"', "-36km/h", ["-10"]),
        ('unit to "m/s^2" |> round 1', "1.5e1 m/s**2", ["15"]),
        (
            'date "%Y-%m-%d %H:%M" in value',
            "2024-05-01 09:00 Europe/Athens",
            ["2024-05-01T06:00:00Z"],
        ),
        ("date iso in value", "2024-05-01T09:00:00+02:00 UTC", ["2024-05-01T07:00:00Z"]),
        ('unit "degF" to "degC" |> round 1', "72", ["22.2"]),
        ('date "%d.%m.%Y %H:%M" in "Europe/Athens"', "01.08.2014 08:05", ["2014-08-01T05:05:00Z"]),
        ('date "%d/%m/%Y" or "%Y-%m-%d"', "2014-08-01", ["2014-08-01T00:00:00Z"]),
        (
            'date "%d/%b/%Y:%H:%M:%S %z" in "Asia/Tokyo"',
            "01/Aug/2014:08:05:00 +0200",
            ["2014-08-01T06:05:00Z"],
        ),
        ("date iso", "2014-08-01T08:05:00.120+02:00", ["2014-08-01T06:05:00.12Z"]),
        ("date seconds", "1406880300.25", ["2014-08-01T08:05:00.25Z"]),
        ("date iso", "2014-07-31T24:00:00.0+14:00", ["2014-07-31T10:00:00Z"]),
        ("date iso or milliseconds", "1406880300250", ["2014-08-01T08:05:00.25Z"]),
        # The clock hour from two to three came twice.
        ('date iso in "Europe/Copenhagen"', "2014-10-26T02:30", ["2014-10-26T00:30:00Z"]),
        ('day "%d.%m.%Y"', "01.08.2014", ["2014-08-01"]),
        ("date seconds", "-0.5", ["1969-12-31T23:59:59.5Z"]),
        ("date seconds", "1.9999999", ["1970-01-01T00:00:01.999999Z"]),
        ("date seconds", "-1.0000001", ["1969-12-31T23:59:58.999999Z"]),
        ("date milliseconds", "-86400000", ["1969-12-31T00:00:00Z"]),
        ("date seconds", "-62135596800", ["0001-01-01T00:00:00Z"]),
        ("date end", "2014-08-01T08:00:00Z/PT1M30.5S", ["2014-08-01T08:01:30.5Z"]),
        ("date end", "2014-08-01T08:00:00Z / -P1D", ["2014-07-31T08:00:00Z"]),
        ("date end", "2014-08-01T08:00Z/2014-08-01T10:00+01:00", ["2014-08-01T09:00:00Z"]),
        ("duration iso", "PT90S", ["PT1M30S"]),
        ("duration iso", "-P1W", ["-P7D"]),
        ("duration iso", "P14MT25H", ["P1Y2M1DT1H"]),
        ("duration iso", "PT0S", ["PT0S"]),
        ("duration iso or seconds", "90", ["PT1M30S"]),
        ("duration milliseconds", "-1500", ["-PT1.5S"]),
        ("duration minutes", "0.1", ["PT6S"]),
        ("duration hours", "36", ["P1DT12H"]),
        ("duration days", "1e3", ["P1000D"]),
        ("duration weeks", "2", ["P14D"]),
        ("duration between", "2014-08-01T08:00Z/2014-08-01T10:00+01:00", ["PT1H"]),
        ("duration between", "2014-08-01T08:00 / 2014-07-31T08:00:00.25", ["-PT23H59M59.75S"]),
        ("seconds", "PT2M30S", ["150"]),
        ("seconds |> / 60", "-P1DT1.5S", ["-1440.025"]),
        ("boolean", "Yes", ["true"]),
        ("boolean", "off", ["false"]),
        ('boolean "Ja" or "J" not "Nein"', "J", ["true"]),
        ('boolean "Ja" or "J" not "Nein" or "N"', "N", ["false"]),
        ("wkt lat lon", "56.15,10.20", ["POINT(10.2 56.15)"]),
        ("wkt lon lat", " 10.20 ; 56.15", ["POINT(10.2 56.15)"]),
        ("wkt point lat lon height", "56.15 10.2 -7.50", ["POINT Z (10.2 56.15 -7.5)"]),
        ("wkt line lat lon", "1 2 3 4 5 6", ["LINESTRING(2 1, 4 3, 6 5)"]),
        ("wkt polygon lat lon", "0,0 0,1 1,1 0,0", ["POLYGON((0 0, 1 0, 1 1, 0 0))"]),
        (
            "wkt polygon lon lat height",
            "0 0 5 1 0 5 1 1 5 0 0 5",
            ["POLYGON Z ((0 0 5, 1 0 5, 1 1 5, 0 0 5))"],
        ),
        (
            'wkt x y in "http://www.opengis.net/def/crs/EPSG/0/25832"',
            "575000.5 6224000",
            ["<http://www.opengis.net/def/crs/EPSG/0/25832> POINT(575000.5 6224000)"],
        ),
        ("wkt circle lat lon", "32.9525,-115.5527 0", ["POINT(-115.5527 32.9525)"]),
    ],
)
def test_a_value_function_makes_of_a_value(pipeline: str, value: str, made: list[str]) -> None:
    assert run(pipeline, value) == made


def test_a_function_works_on_every_value_that_was_found() -> None:
    assert run("upper", "a", "b") == ["A", "B"]
    assert run("default 5") == ["5"]
    assert run("upper") == []


@pytest.mark.parametrize(
    ("pipeline", "value", "reason"),
    [
        # The value stands at the sign of omission.
        ('match "[0-9]+"', "12a", "match: '12a' does not match [0-9]+"),
        ("+ 1", "many", "+: 'many' is not a number: expected e.g. 7.4"),
        ("+ 1", "1e9999", "+: '1e9999' is not a number"),
        ("+ 1", "٣", "+: '٣' is not a number"),
        ("round", "INF", "round: 'INF' is not a number"),
        ("round 20", "1e20", "round: 1E+20 has too many digits to round"),
        ('number decimal "," thousands "."', "1.23,4", "number: '1.23,4' is not a number"),
        ('unit "km" to "m"', "x", "unit: 'x' is not a number"),
        ('unit to "m"', "7", "unit: '7' is not a number with its unit: expected e.g. 7.4 km/h"),
        ('unit to "m"', "7 kg", "unit: 'kg' cannot become 'm'"),
        ('unit to "m"', "7 m**999999999", "unit: 'm**999999999' is not a unit"),
        ('unit to "m"', "7 9**9**9", "unit: '9**9**9' is not a unit"),
        ('unit to "m"', "7 metr", "unit: unknown unit 'metr': did you mean"),
        (
            "date iso in value",
            "2024-05-01T09:00 Europe/Atlantis",
            "date: '…' has no time zone behind its time",
        ),
        ("date iso in value", "2024-05-01T09:00", "date: '…' has no time zone behind its time"),
        (
            "date iso in value",
            "2024-05-01T09:00 ../../etc/passwd",
            "date: '…' has no time zone behind its time",
        ),
        ('date "%d.%m.%Y" or iso', "31.02.2014", "date: '31.02.2014' is not a time: expected %d"),
        ("date seconds", "1e300", "date: '1e300' is not a time"),
        ("date iso", "2014-08-01T24:01", "date: '2014-08-01T24:01' is not a time"),
        ("date iso", "9999-12-31T24:00Z", "date: '9999-12-31T24:00Z' is not a time"),
        ('date iso in "Asia/Tokyo"', "0001-01-01T00:00", "date: '0001-01-01T00:00' is not a time"),
        ('day "%d.%m.%Y"', "soon", "day: 'soon' is not a time: expected %d.%m.%Y"),
        ("date seconds", "1e30", "date: '1e30' is not a time: outside the years 1 to 9999"),
        ("date seconds", "253402300800", "date: '253402300800' is not a time: outside the years"),
        ("date end", "2014-08-01T08:00:00Z", "date: '2014-08-01T08:00:00Z' is not a time: expecte"),
        ("date end", "2014-08-01T08:00Z/P1M", "date: '2014-08-01T08:00Z/P1M' is not a time"),
        (
            "duration between",
            "2024-05-01109:00/2024-05-01T10:00",
            "duration: '…' is not a duration: expected both with",
        ),
        ("duration iso", "P", "duration: 'P' is not a duration: expected e.g. PT1M30S"),
        ("duration iso", "P1DT", "duration: 'P1DT' is not a duration"),
        ("duration iso", "PT1.5H", "duration: 'PT1.5H' is not a duration"),
        ("duration seconds", "1e99", "duration: '1e99' is not a duration: expected a number up to"),
        ("duration seconds", "1e-99", "duration: '1e-99' is not a duration: expected a number"),
        (
            "duration iso or seconds",
            "x",
            "duration: '…' is not a duration: expected iso or seconds",
        ),
        (
            "duration between",
            "2014-08-01T08:00/2014-08-01T10:00Z",
            "duration: '…' is not a duration: expected both with",
        ),
        ("duration between", "2014-08-01", "duration: '…' is not a duration: expected two"),
        ("seconds", "P1M", "seconds: 'P1M' has no fixed length: expected weeks, days"),
        ("seconds", "90", "seconds: '90' is not a duration: expected e.g. PT1M30S"),
        ("boolean", "maybe", "boolean: 'maybe' is not a boolean: expected one of"),
        ('boolean "J" not "N"', "j", "boolean: 'j' is not a boolean: expected one of N, J"),
        ("wkt lat lon", "10.2", "wkt: '10.2' has 1 numbers: expected lat lon"),
        ("wkt lat lon", "100,10", "wkt: '100,10': the latitude 100 is outside -90 to 90"),
        ("wkt lon lat", "190 0", "wkt: '190 0': the longitude 190 is outside -180 to 180"),
        ("wkt lat lon", "north 10", "wkt: 'north' is not a number: expected e.g. 7.4"),
        ("wkt lat lon", "NaN 10", "wkt: 'NaN' is not a number"),
        ("wkt line lat lon", "1 2", "wkt: '1 2' has 1 positions: a line has 2 at least"),
        ("wkt line lat lon", "1 2 3", "wkt: '1 2 3' has 3 numbers: expected lat lon, repeated"),
        ("wkt polygon lat lon", "0,0 0,1 1,1 1,0", "wkt: '0,0 0,1 1,1 1,0' is not closed"),
        ("wkt polygon lat lon", "0,0 0,1 0,0", "wkt: '0,0 0,1 0,0' has 3 positions: a closed ring"),
        ("wkt circle lat lon", "32.9,-115.5", "wkt: '…' has 2 numbers: expected lat lon r"),
        ("wkt circle lat lon", "89,0 200", "wkt: '89,0 200': expected a radius above 0 that does"),
        ("wkt circle lat lon", "0,0 -1", "wkt: '0,0 -1': expected a radius above 0"),
        ("wkt circle lat lon", "0,179.9 50", "wkt: '0,179.9 50': the circle crosses the 180th"),
    ],
)
def test_an_invalid_value_is_named_with_its_function(
    pipeline: str, value: str, reason: str
) -> None:
    with pytest.raises(TermError) as caught:
        run(pipeline, value)
    assert caught.value.message.startswith(reason.replace("…", value))


@pytest.mark.parametrize(
    ("pipeline", "fault"),
    [
        ("uper", "8: unknown function uper: did you mean upper?"),
        ("frobnicate", "8: unknown function frobnicate: expected one of trim, collapse, lower,"),
        ("trim 5", "8: trim is not used so: expected trim"),
        ('+ "5"', "8: + is not used so: expected + NUMBER"),
        ("part 2", '8: part is not used so: expected part NUMBER of "SEPARATOR"'),
        ('part 0 of ","', "13: '0': expected a whole number that is not 0"),
        ('part 1.5 of ","', "13: '1.5': expected a whole number"),
        ('split ""', "14: the separator is empty"),
        ("substring 3 to 2", "18: the characters are counted from 1"),
        ('replace "(" by "x"', "16: not a regular expression of RE2: missing )"),
        ('extract "a(?=b)"', "16: not a regular expression of RE2: invalid perl operator: (?="),
        (r'replace "a" by "\1"', r"16: unknown reference '\1' in '\1': expected \0 to \0"),
        ("lookup room", "15: unknown table 'room': did you mean rooms?"),
        ("lookup", "8: lookup is not used so: expected lookup TABLE"),
        ("/ 0", "10: a division by zero"),
        ("round 21", "8: cannot round to 21 digits: expected 0 to 20"),
        ('number decimal "x"', "23: 'x' parts no digits: expected one character such as ','"),
        ('number decimal "," thousands ","', "37: ',' cannot be both"),
        ('unit "degg" to "degC"', "13: unknown unit 'degg': did you mean deg"),
        ('unit "km" to "kg"', "13: 'km' cannot become 'kg': Cannot convert from 'kilometer'"),
        ('unit "dBm" to "mW"', "13: 'dBm' cannot become 'mW': logarithmic units are not offered"),
        ('unit "(" to "m"', "13: '(' is not a unit: expected e.g. km/h"),
        ('date "%H:%M"', "13: the format '%H:%M' has no year: expected %Y or %y"),
        ('date "%Q %Y"', "13: not a format of times: 'Q' is a bad directive in format '%Q %Y'"),
        ('date iso in "Mars"', "20: unknown time zone 'Mars': expected e.g. Europe/Athens"),
        ("date tomorrow", "8: date is not used so: expected date FORMAT or FORMAT"),
        ("duration", "8: duration is not used so: expected duration FORMAT"),
        ('boolean "a"', "8: boolean is not used so: expected boolean, or boolean"),
        ('boolean "a" not "b" or "a"', "8: 'a' cannot be both true and false"),
        ("wkt", "8: wkt is not used so: expected wkt SHAPE lat lon"),
        ("wkt x y", "8: wkt is not used so"),
        ("wkt circle lat lon height", "8: wkt is not used so"),
        ('wkt x y in "EPSG:25832 "', "19: 'EPSG:25832 ' is not an IRI"),
        ('wkt x y in "25832"', "19: '25832' is not an absolute IRI"),
    ],
)
def test_a_wrong_call_is_found_at_its_place_before_any_message(pipeline: str, fault: str) -> None:
    with pytest.raises(LanguageError) as caught:
        run(pipeline)
    assert str(caught.value).startswith(f"f:3:{fault}")


@pytest.mark.parametrize(
    ("pipeline", "value"),
    [
        ("wkt line lat lon", "1 " * 50_001),
        ("wkt lat lon", "9" * 100_000),
        ("duration iso", "P" + "1" * 100_000 + "D"),
        ("duration seconds", "9" * 100_000),
        ("date seconds", "9" * 100_000),
        ("date end", "2014-08-01T08:00Z/P" + "9" * 100_000 + "D"),
        ("boolean", "y" * 100_000),
    ],
)
def test_a_very_long_value_is_refused_by_a_short_message(pipeline: str, value: str) -> None:
    with pytest.raises(TermError) as caught:
        run(pipeline, value)
    assert len(caught.value.message) < 500


def test_several_rings_are_one_polygon_with_holes() -> None:
    outer, hole = "0 0 0 9 9 9 9 0 0 0", "1 1 2 1 2 2 1 1"
    assert run("wkt rings lon lat", outer, hole) == [
        "POLYGON((0 0, 0 9, 9 9, 9 0, 0 0), (1 1, 2 1, 2 2, 1 1))"
    ]
    assert run("wkt rings lon lat") == []
    assert run('join " " |> wkt line lon lat', "0 0", "1 1") == ["LINESTRING(0 0, 1 1)"]


def test_a_circle_is_a_closed_polygon_whose_corners_have_the_radius() -> None:
    (made,) = run("wkt circle lat lon", "56.15,10.2 15")
    corners = [tuple(map(float, each.split())) for each in made[len("POLYGON((") : -2].split(", ")]
    assert made.startswith("POLYGON((")
    assert corners[0] == corners[-1]
    assert len(set(corners)) == 64
    for longitude, latitude in corners:
        # The haversine formula, which the function does not use.
        a, b = math.radians(latitude), math.radians(56.15)
        h = (
            math.sin((a - b) / 2) ** 2
            + math.cos(a) * math.cos(b) * math.sin(math.radians(longitude - 10.2) / 2) ** 2
        )
        assert math.isclose(2 * 6371.0088 * math.asin(math.sqrt(h)), 15, abs_tol=1e-4)
    area = sum(x * v - u * y for (x, y), (u, v) in pairwise(corners))
    assert area > 0, "an outer boundary is counterclockwise"


degrees = st.decimals(allow_nan=False, min_value=-90, max_value=90, places=5)


@given(st.lists(st.tuples(degrees, degrees), min_size=2, max_size=6), st.sampled_from(", ;"))
def test_coordinates_keep_their_numbers(
    positions: list[tuple[Decimal, Decimal]], between: str
) -> None:
    text = " ".join(f"{latitude:f}{between}{longitude:f}" for latitude, longitude in positions)
    (made,) = run("wkt line lat lon", text)
    found = made.removeprefix("LINESTRING(").removesuffix(")").split(", ")
    assert [tuple(map(Decimal, each.split())) for each in found] == [
        (longitude, latitude) for latitude, longitude in positions
    ]


@given(
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9),
    st.sampled_from(["milliseconds", "seconds", "minutes", "hours", "days", "weeks"]),
)
def test_a_duration_of_a_number_has_exactly_that_length(number: Decimal, unit: str) -> None:
    assume(number.as_tuple().exponent >= -30)  # type: ignore[operator]
    in_seconds = {"milliseconds": "0.001", "seconds": "1", "minutes": "60", "hours": "3600"}
    in_seconds |= {"days": "86400", "weeks": "604800"}
    (made,) = run(f"duration {unit}", f"{number:f}")
    # All lengths of a day and less are written in hours, minutes and seconds below 24, 60 and 60.
    match = re.fullmatch(
        r"(-?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?", made, re.ASCII
    )
    assert match is not None
    parts = [Fraction(each or 0) for each in match.groups()[1:]]
    assert all(a < b for a, b in zip(parts[1:], (24, 60, 60), strict=True))
    length = sum(a * b for a, b in zip(parts, (86_400, 3600, 60, 1), strict=True))
    assert (-length if match[1] else length) == Fraction(number) * Fraction(in_seconds[unit])
    assert run("duration iso", made) == [made]


@given(st.datetimes(), st.sampled_from([(6, "seconds"), (3, "milliseconds")]))
def test_a_number_since_1970_is_that_moment(moment: datetime, form: tuple[int, str]) -> None:
    digits, word = form
    micros = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001
    (made,) = run(f"date {word}", f"{Decimal(micros).scaleb(-digits):f}")
    assert datetime.fromisoformat(made) == moment.replace(tzinfo=UTC)


def test_no_expression_takes_more_than_linear_time() -> None:
    assert run('extract "(a*)*b"', "a" * 100_000) == []
    assert run('match "(a|a)*"', "a" * 100_000) == ["a" * 100_000]


numbers = st.decimals(
    allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=4
)


@given(numbers, st.sampled_from(["+", "-", "*"]), numbers)
def test_arithmetic_is_exact(value: Decimal, operator: str, operand: Decimal) -> None:
    (made,) = run(f"{operator} {operand:f}", f"{value:f}")
    with localcontext(prec=60):
        expected = {"+": value + operand, "-": value - operand, "*": value * operand}[operator]
    assert Decimal(made) == expected


@settings(max_examples=30)
@given(numbers)
def test_units_there_and_back_are_the_same_value(value: Decimal) -> None:
    (made,) = run('unit "degF" to "kelvin" |> unit "kelvin" to "degF" |> round 6', f"{value:f}")
    assert Decimal(made) == value
    # The definition: K = (F + 459.67) * 5/9.
    (kelvin,) = run('unit "degF" to "kelvin"', f"{value:f}")
    exact = (Fraction(value) + Fraction("459.67")) * Fraction(5, 9)
    assert abs(Fraction(kelvin) - exact) <= abs(exact) * Fraction(1, 10**26)


@given(numbers)
def test_a_number_with_separators_is_read_as_python_writes_it(value: Decimal) -> None:
    written = f"{value:,f}".translate(str.maketrans(",.", ".,"))
    (made,) = run('number decimal "," thousands "."', written)
    assert Decimal(made) == value


@given(
    st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2037, 1, 1)),  # noqa: DTZ001
    st.sampled_from(["Europe/Athens", "America/New_York", "Asia/Kolkata", "UTC"]),
)
def test_a_time_of_a_zone_is_the_same_moment(local: datetime, zone: str) -> None:
    (made,) = run(f'date "%d.%m.%Y %H:%M:%S.%f" in "{zone}"', f"{local:%d.%m.%Y %H:%M:%S.%f}")
    assert datetime.fromisoformat(made) == local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


_PICTURES = ("%Y%m%d%H%M%S", "%Y%m%d%H%M", "%Y%m%d%H", "%Y%m%d", "%y%m%d%H%M", "%Y%j", "%d%b%Y%H%M")


@given(
    st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2037, 1, 1)),  # noqa: DTZ001
    st.sampled_from(_PICTURES),
    st.permutations(_PICTURES),
)
def test_fields_that_touch_take_all_their_digits(
    local: datetime, picture: str, others: list[str]
) -> None:
    written = local.strftime(picture)
    # Of pictures of one length it is the first that fits that counts.
    others = [each for each in others if len(local.strftime(each)) != len(written)]
    formats = " or ".join(f'"{each}"' for each in (*others, picture))
    expected = datetime.strptime(written, picture)  # noqa: DTZ007
    assert run(f"date {formats}", written) == [f"{expected.isoformat()}Z"]


@pytest.mark.parametrize(
    ("formats", "value"),
    [
        ('"%Y%m%d%H%M%S"', "202405011408"),
        ('"%Y%m%d%H%M"', "2024050114"),
        ('"%d.%m.%Y %H%M"', "1.5.2024 148"),
        ("iso", "2024050111408"),
        ("iso", "2024-05-01114:08"),
    ],
)
def test_a_time_with_a_digit_too_few_or_too_many_is_none(formats: str, value: str) -> None:
    with pytest.raises(TermError, match="is not a time"):
        run(f"date {formats}", value)


@pytest.mark.parametrize("value", ["1.5.2024 9:05", "01.05.2024 09:05"])
def test_a_field_that_stands_alone_may_have_one_digit(value: str) -> None:
    assert run('date "%d.%m.%Y %H:%M"', value) == ["2024-05-01T09:05:00Z"]


@given(st.text("ab,; é", max_size=12), st.sampled_from(["a+", "[ab]*b", "(a)(b)?", "^a|b$", r"\s"]))
def test_expressions_mean_what_they_mean_in_python(text: str, expression: str) -> None:
    found = re.search(expression, text)
    expected = "" if found is None else found.group(1 if found.re.groups else 0) or ""
    assert run(f'extract "{expression}"', text) == ([expected] if expected.strip() else [])
