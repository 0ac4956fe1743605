"""Terms of many kinds, some of them equal, some of no value."""

from __future__ import annotations

from typing import Any

from sensorstream.model import xsd
from sensorstream.model.terms import IRI, Literal

NUMBERS = (
    *(Literal(text, xsd.INTEGER) for text in ("0", "-0", "1", "01", "2", "9007199254740993")),
    *(Literal(text, xsd.DECIMAL) for text in ("0.0", "0.5", "1.0", "2.5", "9007199254740992.5")),
    *(Literal(text, xsd.DOUBLE) for text in ("0", "-0", "1e0", "1.5", "INF", "-INF", "NaN")),
    Literal("9007199254740992", xsd.DOUBLE),
    Literal("one", xsd.INTEGER),
)
TIMES = (
    *(Literal(f"2020-01-0{day}T12:00:00Z", xsd.DATE_TIME) for day in (1, 2, 3)),
    *(Literal(f"2020-01-0{day}T12:00:00", xsd.DATE_TIME) for day in (1, 2, 3)),
    Literal("2020-01-02T13:00:00+01:00", xsd.DATE_TIME),
    Literal("2020-01-02", xsd.DATE),
    Literal("2020-01-02Z", xsd.DATE),
    Literal("never", xsd.DATE_TIME),
)
OTHERS = (
    Literal("a"),
    Literal("b"),
    Literal("a", language="en"),
    Literal("true", xsd.BOOLEAN),
    Literal("false", xsd.BOOLEAN),
    Literal("maybe", xsd.BOOLEAN),
    Literal("x", "http://example.org/type"),
    IRI("http://example.org/a"),
    IRI("http://example.org/b"),
)
TERMS: tuple[Any, ...] = (*NUMBERS, *TIMES, *OTHERS)
