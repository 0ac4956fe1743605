"""Local times and lengths of time: alike in the network and on Oxigraph, not in SQL."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.errors import QueryError, UnsupportedQuery
from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.xsd import Duration, duration_text
from sensorstream.network.expressions.expression_functions import value_of
from sensorstream.sparql.algebra import BGP, Extend, FunctionCall, Project, Query, Select, Variable
from sensorstream.sparql.extensions import DIVIDE, LOCAL
from sensorstream.sparql.query_parser import parse_query
from tests.oxigraph import FUNCTIONS, oxigraph_text, same_when_stored

ZONES = ("Europe/Bucharest", "America/New_York", "Asia/Kathmandu", "UTC", "Africa/Monrovia")
_STORE = ox.Store()


def of_oxigraph(call: FunctionCall) -> Term | None:
    variable = Variable("x")
    query = Query(Select(Project(Extend(BGP(()), variable, call), (variable,))))
    found = _STORE.query(oxigraph_text(query), custom_functions=FUNCTIONS)
    assert isinstance(found, ox.QuerySolutions)
    value = next(iter(found))["x"]
    return None if value is None else from_oxigraph(value)


def of_network(call: FunctionCall) -> Term | None:
    """The value for a row, so that no constant is checked."""
    places = {"a": 0, "b": 1}
    variables = FunctionCall(call.function, (Variable("a"), Variable("b")))
    return value_of(variables, places)(call.arguments)  # type: ignore[arg-type]


def value(function: IRI, one: IRI | Literal, other: IRI | Literal) -> Term | None:
    call = FunctionCall(function, (one, other))
    found = of_network(call)
    known = of_oxigraph(call)
    assert known == found or (known is not None and found and same_when_stored(known, found))
    return found


@settings(max_examples=150)
@given(
    st.integers(100_000_000, 2_800_000_000).map(lambda second: datetime.fromtimestamp(second, UTC)),
    st.sampled_from(ZONES),
)
def test_the_local_time_is_that_of_the_time_zone(time: datetime, zone: str) -> None:
    found = value(LOCAL, Literal(time.isoformat(), xsd.DATE_TIME), Literal(zone))
    assert isinstance(found, Literal)
    local = datetime.fromisoformat(found.lexical)
    assert local == time
    assert local.replace(tzinfo=None) == time.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def test_an_offset_of_old_has_whole_minutes() -> None:
    # Bucharest was 1:44:24 before Greenwich until 1931.
    time = Literal("1900-01-01T00:00:00Z", xsd.DATE_TIME)
    assert value(LOCAL, time, Literal("Europe/Bucharest")) == Literal(
        "1900-01-01T01:44:00+01:44", xsd.DATE_TIME
    )


NOON = Literal("2026-03-02T12:00:00Z", xsd.DATE_TIME)


@pytest.mark.parametrize(
    ("time", "zone"),
    [
        (Literal("2026-03-02T12:00:00", xsd.DATE_TIME), Literal("UTC")),
        (Literal("2026-03-02Z", xsd.DATE), Literal("UTC")),
        (Literal("7", xsd.INTEGER), Literal("UTC")),
        (Literal("99999-03-02T12:00:00Z", xsd.DATE_TIME), Literal("UTC")),
        (Literal("noon", xsd.DATE_TIME), Literal("UTC")),
        (IRI("urn:a"), Literal("UTC")),
        (NOON, Literal("Nowhere/Town")),
        (NOON, Literal("Europe")),
        (NOON, Literal("../UTC")),
        (NOON, Literal("/etc/passwd")),
        (NOON, Literal("")),
        (NOON, Literal("a\0b")),
        (NOON, Literal("UTC", language="en")),
        (NOON, IRI("urn:a")),
    ],
)
def test_what_has_no_local_time_is_an_error(time: IRI | Literal, zone: IRI | Literal) -> None:
    assert value(LOCAL, time, zone) is None


@settings(max_examples=100)
@given(st.integers(-(10**12), 10**12), st.integers(-(10**6), 10**6), st.integers(0, 3))
def test_lengths_of_time_are_divided(millis: int, by: int, places: int) -> None:
    lengths = [
        Literal(duration_text(Duration(0, each), xsd.DAY_TIME_DURATION), xsd.DAY_TIME_DURATION)
        for each in (Decimal(millis).scaleb(-3), Decimal(by).scaleb(-places))
    ]
    found = value(DIVIDE, *lengths)
    if by == 0:
        assert found is None
        return
    assert isinstance(found, Literal)
    assert found.datatype == xsd.DECIMAL
    exact = Fraction(millis, 1000) / (Fraction(by) / 10**places)
    assert abs(Fraction(found.lexical) - exact) <= Fraction(1, 2 * 10**18)


def test_only_lengths_of_time_are_divided() -> None:
    hour = Literal("PT1H", xsd.DAY_TIME_DURATION)
    assert value(DIVIDE, Literal("7", xsd.INTEGER), hour) is None
    found = value(DIVIDE, Literal("-P1D", xsd.DURATION), hour)
    assert found == Literal("-24", xsd.DECIMAL)
    assert value(DIVIDE, Literal("P1M", xsd.DURATION), hour) is None
    tiny = Literal("PT0.000000000000000001S", xsd.DAY_TIME_DURATION)
    assert value(DIVIDE, hour, tiny) is None


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (f'<{LOCAL}>(?t, "Bucarest")', "1:19: .*'Bucarest' is not a known time zone"),
        (f"<{LOCAL}>(?t)", "expected two arguments, not 1"),
        (f'<{DIVIDE}>(?t, "PT0S"^^<{xsd.DAY_TIME_DURATION}>)', "no time to divide by"),
    ],
)
def test_a_call_that_never_has_a_value_is_refused_with_its_place(call: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        parse_query(f"SELECT * {{ FILTER({call}) }}")


def test_another_function_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UnsupportedQuery, match=f"no such function.*{LOCAL}"):
        value_of(FunctionCall(IRI("urn:f"), ()), {})
