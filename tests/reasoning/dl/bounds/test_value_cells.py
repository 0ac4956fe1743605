from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sensorstream.model import xsd
from sensorstream.model.terms import Literal
from sensorstream.model.xsd import XSD
from sensorstream.reasoning.dl.bounds.data_ranges import (
    Combined,
    Complement,
    DataRange,
    Datatype,
    Facet,
    Listed,
    cells,
)
from sensorstream.reasoning.dl.datatypes import value_of

LITERALS = [
    *(Literal(text, xsd.DECIMAL) for text in ("-3", "0", "0.5", "2", "2.25", "3", "127", "128")),
    *(Literal(text, xsd.DOUBLE) for text in ("-INF", "-0.0", "0", "2", "2.5", "INF", "NaN")),
    *(Literal(text, f"{XSD}float") for text in ("2", "0", "NaN")),
    *(Literal(text) for text in ("", "a", "a b", "a  b", " a", "1a", "a:b", "a_b", "\t", "en")),
    *(Literal(text, f"{XSD}boolean") for text in ("true", "false")),
    *(Literal(text, f"{XSD}dateTime") for text in ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00")),
    *(Literal(text, f"{XSD}duration") for text in ("PT0S", "PT1S", "P1M", "P1MT1S", "P2Y")),
    *(Literal("2026-01-01", f"{XSD}{kind}") for kind in ("date", "anyURI")),
    Literal("a", language="en"),
    Literal("5 m", "http://x.example/#unit"),
]  # fmt: skip
VALUES = [value_of(each) for each in LITERALS]
NAMES = [
    *("integer", "decimal", "byte", "nonNegativeInteger", "double", "float", "string", "token"),
    *("normalizedString", "language", "Name", "NCName", "NMTOKEN", "boolean", "dateTime"),
    *("dateTimeStamp", "date", "duration", "dayTimeDuration", "yearMonthDuration", "anyURI"),
]
limits = st.sampled_from([v for v in VALUES if v.space in (xsd.DECIMAL, xsd.DOUBLE)])
facets = st.sampled_from(["minInclusive", "minExclusive", "maxInclusive", "maxExclusive"])
ranges: st.SearchStrategy[DataRange] = st.recursive(
    st.one_of(
        st.sampled_from(NAMES).map(lambda name: Datatype(f"{XSD}{name}")),
        st.builds(lambda name, limit: Facet(f"{XSD}{name}", limit), facets, limits),
        st.lists(st.sampled_from(VALUES), max_size=3).map(lambda found: Listed(tuple(found))),
    ),
    lambda inner: st.one_of(
        inner.map(Complement),
        st.builds(lambda *parts: Combined(parts, some=True), inner, inner),
        st.builds(lambda *parts: Combined(parts, some=False), inner, inner),
    ),
    max_leaves=4,
)  # fmt: skip


@given(found=st.lists(ranges, min_size=1, max_size=3))
def test_every_value_is_in_the_ranges_of_some_cell(found: list[DataRange]) -> None:
    known = {tuple(each.holds(cell.example) for each in found) for cell in cells(found)}
    for value in VALUES:
        assert tuple(each.holds(value) for each in found) in known


@given(found=ranges)
def test_what_holds_of_a_whole_datatype_holds_of_each_value(found: DataRange) -> None:
    for value in VALUES:
        assert found.of_space(value.space) in (None, found.holds(value))


def test_a_cell_of_few_values_is_told_from_one_of_many() -> None:
    byte = Datatype(f"{XSD}byte")
    assert not any(cell.many for cell in cells([byte]) if byte.holds(cell.example))
    whole = Datatype(f"{XSD}integer")
    assert any(cell.many for cell in cells([whole, byte]) if whole.holds(cell.example))


def test_an_empty_range_has_no_cell() -> None:
    low = Facet(f"{XSD}maxExclusive", value_of(Literal("0", xsd.DECIMAL)))
    high = Facet(f"{XSD}minInclusive", value_of(Literal("0", xsd.DECIMAL)))
    neither = Combined((low, high), some=False)
    assert not any(neither.holds(cell.example) for cell in cells([neither]))
    assert not any(
        Combined((Datatype(f"{XSD}integer"), Datatype(xsd.DOUBLE)), some=False).holds(cell.example)
        for cell in cells([neither])
    )
