from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal, Term
from sensorstream.model.xsd import UNORDERED
from sensorstream.sparql.values import (
    ORDERS,
    RANKED,
    compare,
    equal,
    number,
    numeral,
    time_cast,
    time_key,
    time_order,
    truth,
)
from tests.network.expressions.times import CASTS, durations, moments, typed
from tests.oxigraph import stored_form

STORE = ox.Store()
TAGGED = Literal("b", language="en")
TERMS: tuple[Term, ...] = (
    *(Literal(each, xsd.INTEGER) for each in ("0", "7", "-3", "007", "9007199254740993")),
    *(Literal(each, xsd.DECIMAL) for each in ("0.0", "2.50", "7.0", "-1.168184570312")),
    *(Literal(each, xsd.DOUBLE) for each in ("7E0", "-0.0E0", "INF", "9007199254740992")),
    Literal("0.1", xsd.FLOAT),
    *(Literal(""), Literal("b"), Literal("B"), TAGGED),
    *(typed("2026-03-02T12:00:00Z", "dateTime"), typed("2026-03-02", "date")),
    *(typed("PT30M", "dayTimeDuration"), typed("P1M", "yearMonthDuration")),
    *(IRI("http://example.org/a"), Literal("b", "http://example.org/t")),
)


def of_oxigraph(expression: str) -> bool | None:
    found = STORE.query(f"SELECT ({expression} AS ?x) {{}}")
    assert isinstance(found, ox.QuerySolutions)
    value = next(iter(found))["x"]
    return None if value is None else value.value == "true"


@pytest.mark.parametrize("one", TERMS, ids=lambda term: term.n3)
def test_terms_compare_as_those_of_oxigraph(one: Term) -> None:
    for other in TERMS:
        order = compare(one, other)
        # Oxigraph knows an order of a term that has none with itself.
        for sign, orders in () if order is None and one == other else ORDERS.items():
            expected = of_oxigraph(f"{one.n3} {sign} {other.n3}")
            assert (None if order is None else order in orders) == expected, (sign, other.n3)
        assert equal(one, other) == of_oxigraph(f"{one.n3} = {other.n3}"), other.n3
    # In SPARQL 1.1 a text has a truth value in any language.
    assert truth(one) == (one == TAGGED or of_oxigraph(f"!!{one.n3}"))


def test_booleans_have_an_order_and_nan_has_none() -> None:
    # Here Oxigraph knows less: it finds an error, where section 17.3 defines a value.
    yes, no = Literal("1", xsd.BOOLEAN), Literal("false", xsd.BOOLEAN)
    assert [compare(*pair) for pair in ((no, yes), (yes, yes), (yes, no))] == [-1, 0, 1]
    nan = Literal("NaN", xsd.DOUBLE)
    assert [compare(nan, each) for each in (nan, Literal("7", xsd.INTEGER), yes)] == [2, 2, None]
    assert [equal(nan, nan), truth(nan), truth(yes), truth(no)] == [False, False, True, False]


@given(st.integers(-(10**9), 10**9), st.integers(0, 9), st.sampled_from([0, 1, 3]))
def test_a_number_is_written_as_oxigraph_writes_it(digits: int, places: int, rank: int) -> None:
    written = Decimal(digits).scaleb(-places if rank else 0)
    exact = Fraction(written)
    found = numeral(exact, rank)
    assert found is not None
    # Oxigraph writes doubles in another way.
    shown = stored_form(found) if rank == 3 else found
    assert shown == stored_form(Literal(f"{written:f}", RANKED[rank]))
    assert number(found) == (float(exact) if rank == 3 else exact)


@settings(max_examples=200)
@given(st.tuples(moments, moments) | st.tuples(durations, durations))
def test_the_key_of_a_time_keeps_the_order_that_times_have(pair: tuple[Literal, Literal]) -> None:
    one, other = pair
    keys = time_key(one), time_key(other)
    order = time_order(one, other)
    if order is None or order == UNORDERED:
        return
    assert keys[0] is not None
    assert keys[1] is not None
    assert (keys[0] > keys[1]) - (keys[0] < keys[1]) == order or order == 0


@settings(max_examples=100)
@given(moments | durations, st.sampled_from(CASTS))
def test_a_time_is_cast_as_by_oxigraph(term: Literal, datatype: str) -> None:
    name = f"{xsd.XSD}{datatype}"
    found = time_cast(term, name)
    if found is None:
        assert of_oxigraph(f"<{name}>({term.n3})") is None
    else:
        assert of_oxigraph(f"sameTerm(<{name}>({term.n3}), {stored_form(found).n3})")
