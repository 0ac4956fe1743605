"""Random times and durations, expressions of them, and what Oxigraph answers."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
from hypothesis import strategies as st

from sensorstream.kb.oxigraph_terms import from_oxigraph
from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.xsd import XSD
from sensorstream.sparql.algebra import (
    BGP,
    Arithmetic,
    Call,
    Comparison,
    Expression,
    Extend,
    FunctionCall,
    In,
    Project,
    Query,
    Select,
    Sign,
    Variable,
)
from tests.oxigraph import oxigraph_text

ZONES = ("", "", "Z", "Z", "+00:00", "+02:00", "-05:30", "+14:00", "-14:00")
DAYS = (
    *("2024-02-29", "2024-01-31", "2023-12-31", "2024-01-01", "2023-02-28", "1900-03-01"),
    *("0001-01-01", "9999-12-31", "0000-02-29", "-0004-12-31", "12024-06-15"),
)
CLOCKS = ("00:00:00", "24:00:00", "12:30:15.25", "23:59:59.999999999", "23:59:59", "10:00:00.10")
LENGTHS = (
    *("PT0S", "PT1M", "-PT90M", "P1D", "PT36H", "-P400D", "PT0.000000001S", "PT23H59M60.5S"),
    *("-PT0.1S", "P30D", "P31D", "PT14H"),
)
MONTHS = ("P0M", "P1M", "-P1M", "P1Y", "-P13M", "P11M", "P400Y")
MIXED = ("P1Y2M3DT4H", "-P1M1D", "P1M", "P30D", "P1MT0S", "PT60S", "P0Y", "-P1Y")
WRONG = (
    *(("2024-02-30", "date"), ("2024-01-01T25:00:00Z", "dateTime"), ("PT1H", "yearMonthDuration")),
    *(("12:00", "time"), ("P1M", "dayTimeDuration"), ("P", "duration")),
    ("2024-01-01T00:00:00", "dateTimeStamp"),
)


def typed(lexical: str, datatype: str) -> Literal:
    """A literal of a datatype of XSD."""
    return Literal(lexical, f"{XSD}{datatype}")


_zones = st.sampled_from(ZONES)
_date_times = st.builds("{}T{}{}".format, st.sampled_from(DAYS), st.sampled_from(CLOCKS), _zones)
moments = st.one_of(
    st.builds(typed, _date_times, st.just("dateTime")),
    st.builds(typed, _date_times, st.just("dateTime")),
    st.builds(typed, st.builds("{}{}".format, st.sampled_from(DAYS), _zones), st.just("date")),
    st.builds(typed, st.builds("{}{}".format, st.sampled_from(CLOCKS), _zones), st.just("time")),
)
durations = st.one_of(
    st.builds(typed, st.sampled_from(LENGTHS), st.just("dayTimeDuration")),
    st.builds(typed, st.sampled_from(MONTHS), st.just("yearMonthDuration")),
    st.builds(typed, st.sampled_from((*LENGTHS, *MONTHS, *MIXED)), st.just("duration")),
)
others = st.sampled_from(
    (
        *(typed(*each) for each in WRONG if each[1] != "dateTimeStamp"),
        Literal("2", xsd.INTEGER),
        Literal("PT1M"),
        IRI("http://example.org/a"),
    )
)
terms: st.SearchStrategy[Any] = st.one_of(moments, moments, durations, durations, others)
CASTS = ("dateTime", "date", "time", "duration", "dayTimeDuration", "yearMonthDuration")
FUNCTIONS = ("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TZ", "TIMEZONE")


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2, operands: Any = terms) -> Expression:
    """Sums, differences, casts and parts of times."""
    kind = draw(st.integers(0, 9)) if depth else 0
    if kind < 3:
        return draw(operands)  # type: ignore[no-any-return]
    inner = draw(expressions(depth - 1, operands))
    if kind < 8:
        operator: Any = "+" if kind < 5 else "-"
        return Arithmetic(operator, inner, draw(expressions(depth - 1, operands)))
    if kind == 8:
        return Sign("-", inner)
    if draw(st.booleans()):
        return FunctionCall(IRI(f"{XSD}{draw(st.sampled_from(CASTS))}"), (inner,))
    return Call(draw(st.sampled_from(FUNCTIONS)), (inner,))


@st.composite
def questions(draw: st.DrawFn, operands: Any = terms) -> Expression:
    """An expression of times, or a comparison of two."""
    one = draw(expressions(2, operands))
    if draw(st.booleans()):
        return one
    other = draw(expressions(1, operands))
    if draw(st.integers(0, 7)) == 0:
        return In(one, (other, draw(operands)))
    # Oxigraph knows an order of a term that has none with itself.
    operators = ("=", "!=") if one == other else ("=", "!=", "<", "<=", ">", ">=")
    operator: Any = draw(st.sampled_from(operators))
    return Comparison(operator, one, other)


_STORE = ox.Store()


def oxigraph_value(expression: Expression) -> Term | None:
    """What Oxigraph computes."""
    variable = Variable("x")
    pattern = Project(Extend(BGP(()), variable, expression), (variable,))
    found = _STORE.query(oxigraph_text(Query(Select(pattern))))
    assert isinstance(found, ox.QuerySolutions)
    value = next(iter(found))["x"]
    return None if value is None else from_oxigraph(value)
