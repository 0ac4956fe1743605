"""Value functions as rules write them: from the text of a message to the values that come out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import LanguageError, TermError
from sensorstream.language import parse
from sensorstream.language.syntax import Call, Hole
from sensorstream.language.walk import nodes
from sensorstream.mapping.functions import compile_call

TABLES = {"rooms": {"A1": "hall", "A2": "kitchen"}}


def calls(pipeline: str) -> tuple[Call, ...]:
    file = parse(
        "prefix : <http://e/>\n"
        "mapping m on message {/a} then insert individual :i ; :p\n"
        f"{{@x |> {pipeline}}} .",
        "f",
    )
    (hole,) = (each for each in nodes(file.rules, Hole) if each.calls)
    return hole.calls


def run(pipeline: str, *values: str, tables: Mapping[str, Mapping[str, str]] = TABLES) -> list[str]:
    found = list(values)
    for call in calls(pipeline):
        found = compile_call(call, tables).run(found)
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
        ("date iso or milliseconds", "1406880300250", ["2014-08-01T08:05:00.25Z"]),
        # The clock hour from two to three came twice.
        ('date iso in "Europe/Copenhagen"', "2014-10-26T02:30", ["2014-10-26T00:30:00Z"]),
        ('day "%d.%m.%Y"', "01.08.2014", ["2014-08-01"]),
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
        ('match "[0-9]+"', "12a", "match: '12a' does not match [0-9]+"),
        ("+ 1", "many", "+: 'many' is not a number: expected e.g. 7.4"),
        ("+ 1", "1e9999", "+: '1e9999' is not a number"),
        ("+ 1", "٣", "+: '٣' is not a number"),
        ("round", "INF", "round: 'INF' is not a number"),
        ("round 20", "1e20", "round: 1E+20 has too many digits to round"),
        ('number decimal "," thousands "."', "1.23,4", "number: '1.23,4' is not a number"),
        ('unit "km" to "m"', "x", "unit: 'x' is not a number"),
        ('date "%d.%m.%Y" or iso', "31.02.2014", "date: '31.02.2014' is not a time: expected %d"),
        ("date seconds", "1e300", "date: '1e300' is not a time"),
        ('date iso in "Asia/Tokyo"', "0001-01-01T00:00", "date: '0001-01-01T00:00' is not a time"),
        ('day "%d.%m.%Y"', "soon", "day: 'soon' is not a time: expected %d.%m.%Y"),
    ],
)
def test_an_invalid_value_is_named_with_its_function(
    pipeline: str, value: str, reason: str
) -> None:
    with pytest.raises(TermError) as caught:
        run(pipeline, value)
    assert caught.value.message.startswith(reason)


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
    ],
)
def test_a_wrong_call_is_found_at_its_place_before_any_message(pipeline: str, fault: str) -> None:
    with pytest.raises(LanguageError) as caught:
        run(pipeline)
    assert str(caught.value).startswith(f"f:3:{fault}")


def test_no_expression_takes_more_than_linear_time() -> None:
    assert run('extract "(a*)*b"', "a" * 100_000) == []
    assert run('match "(a|a)*"', "a" * 100_000) == ["a" * 100_000]


numbers = st.decimals(
    allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=4
)


@settings(deadline=None)
@given(numbers, st.sampled_from(["+", "-", "*"]), numbers)
def test_arithmetic_is_exact(value: Decimal, operator: str, operand: Decimal) -> None:
    (made,) = run(f"{operator} {operand:f}", f"{value:f}")
    with localcontext(prec=60):
        expected = {"+": value + operand, "-": value - operand, "*": value * operand}[operator]
    assert Decimal(made) == expected


@settings(max_examples=30, deadline=None)
@given(numbers)
def test_units_there_and_back_are_the_same_value(value: Decimal) -> None:
    (made,) = run('unit "degF" to "kelvin" |> unit "kelvin" to "degF" |> round 6', f"{value:f}")
    assert Decimal(made) == value
    # The definition: K = (F + 459.67) * 5/9.
    (kelvin,) = run('unit "degF" to "kelvin"', f"{value:f}")
    exact = (Fraction(value) + Fraction("459.67")) * Fraction(5, 9)
    assert abs(Fraction(kelvin) - exact) <= abs(exact) * Fraction(1, 10**26)


@settings(deadline=None)
@given(numbers)
def test_a_number_with_separators_is_read_as_python_writes_it(value: Decimal) -> None:
    written = f"{value:,f}".translate(str.maketrans(",.", ".,"))
    (made,) = run('number decimal "," thousands "."', written)
    assert Decimal(made) == value


@settings(deadline=None)
@given(
    st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2037, 1, 1)),  # noqa: DTZ001
    st.sampled_from(["Europe/Athens", "America/New_York", "Asia/Kolkata", "UTC"]),
)
def test_a_time_of_a_zone_is_the_same_moment(local: datetime, zone: str) -> None:
    (made,) = run(f'date "%d.%m.%Y %H:%M:%S.%f" in "{zone}"', f"{local:%d.%m.%Y %H:%M:%S.%f}")
    assert datetime.fromisoformat(made) == local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


@settings(deadline=None)
@given(st.text("ab,; é", max_size=12), st.sampled_from(["a+", "[ab]*b", "(a)(b)?", "^a|b$", r"\s"]))
def test_expressions_mean_what_they_mean_in_python(text: str, expression: str) -> None:
    found = re.search(expression, text)
    expected = "" if found is None else found.group(1 if found.re.groups else 0) or ""
    assert run(f'extract "{expression}"', text) == ([expected] if expected.strip() else [])
