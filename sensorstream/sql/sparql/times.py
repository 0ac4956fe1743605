"""Sums of times and durations, and the functions of dateTimes, dates and times (section 17.4.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from sensorstream.model.xsd import XSD_DAY_TIME_DURATION
from sensorstream.sql.sparql.fragments import constant, sql
from sensorstream.sql.sparql.frames import Frame
from sensorstream.sql.sparql.values import Number, Text, Typed, Value, said, time_of

_ZONE: Final = "(Z|[+-][0-9]{2}:[0-9]{2}|)$"
_FIELDS: Final = {
    "YEAR": "^(-?[0-9]{4,})",
    "MONTH": "^-?[0-9]{4,}-([0-9]{2})",
    "DAY": "^-?[0-9]{4,}-[0-9]{2}-([0-9]{2})",
    "HOURS": "T([0-9]{2})",
    "MINUTES": "T[0-9]{2}:([0-9]{2})",
    "SECONDS": "T[0-9]{2}:[0-9]{2}:([0-9]{2}(?:[.][0-9]+)?)",
}


def summed(a: Value, b: Value, way: int, frame: Frame) -> Value:
    """``a + b`` of times and durations, or with a way of -1 ``a - b``."""
    found = frame.computed(
        said(
            "CASE WHEN :a_is_time AND :b_is_time "
            "THEN store.time_sum(:a_text, :a_datatype, :b_text, :b_datatype, :way) END",
            a=a,
            b=b,
            way=way,
        ),
        "text",
    )
    return time_of(
        sql("SPLIT_PART(:found, ' ', 2)", found=found),
        sql("SPLIT_PART(:found, ' ', 1)", found=found),
    )


def negative(value: Value, frame: Frame) -> Value:
    """The same duration the other way."""
    text = frame.computed(_of_time("store.time_negative(:text, :datatype)", value), "text")
    return time_of(text, value.datatype)


def cast(value: Value, target: str) -> exp.Expr:
    """The text of a time as one of another datatype; null for what is no time."""
    return _of_time("store.time_cast(:text, :datatype, :target)", value, target=target)


def _of_time(call: str, value: Value, **parts: str) -> exp.Expr:
    return said(f"CASE WHEN :is_time THEN {call} END", value, **parts)


def _part(name: str, form: str, value: Value) -> exp.Expr:
    """A part of a moment as text; the lexical form of one that is stored shows it."""
    return said(
        "CASE WHEN :datatype IN (:datetime, :stamp, :date) AND NOT :moment IS NULL "
        "AND NOT :text ~ 'T24:' THEN SUBSTRING(BTRIM(:text, :blanks) FROM :form) "
        "WHEN :is_time THEN store.time_part(:text, :datatype, :part) END",
        value,
        form=form,
        part=name,
    )


def _field(name: str) -> Callable[[Value, Frame], Value]:
    rank = 1 if name == "SECONDS" else 0

    def function(value: Value, frame: Frame) -> Value:
        field = frame.computed(_part(name, _FIELDS[name], frame.light(value)), "text")
        return Number(sql("CAST(:field AS DECIMAL)", field=field), constant(rank))

    return function


def _zone(value: Value, frame: Frame) -> exp.Expr:
    """The zone of a time, empty if it has none; null for what is no time."""
    return frame.computed(_part("TZ", _ZONE, frame.light(value)), "text")


def tz(value: Value, frame: Frame) -> Value:
    """TZ."""
    zone = _zone(value, frame)
    return Text(sql("CASE WHEN :zone IN ('+00:00', '-00:00') THEN 'Z' ELSE :zone END", zone=zone))


def timezone(value: Value, frame: Frame) -> Value:
    """TIMEZONE."""
    zone = _zone(value, frame)
    return Typed(
        sql(
            "CASE WHEN :zone = '' THEN NULL "
            "WHEN :zone IN ('Z', '+00:00', '-00:00') THEN 'PT0S' "
            "ELSE CASE WHEN LEFT(:zone, 1) = '-' THEN '-' ELSE '' END || 'PT' "
            "|| CASE WHEN SUBSTRING(:zone, 2, 2) = '00' THEN '' "
            "ELSE CAST(CAST(SUBSTRING(:zone, 2, 2) AS INT) AS TEXT) || 'H' END "
            "|| CASE WHEN SUBSTRING(:zone, 5, 2) = '00' THEN '' "
            "ELSE CAST(CAST(SUBSTRING(:zone, 5, 2) AS INT) AS TEXT) || 'M' END END",
            zone=zone,
        ),
        XSD_DAY_TIME_DURATION,
    )


def now() -> exp.Expr:
    """The time of the query, as text."""
    return sql("NOW_TEXT(:form)", form='YYYY-MM-DD"T"HH24:MI:SS.US"Z"')


FUNCTIONS: Final[Mapping[str, Callable[[Value, Frame], Value]]] = {
    **{name: _field(name) for name in _FIELDS},
    "TZ": tz,
    "TIMEZONE": timezone,
}
