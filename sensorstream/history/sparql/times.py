"""The functions of dateTimes and dates (SPARQL 1.1, section 17.4.5), from the lexical form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from sensorstream.history.sparql.fragments import constant, sql
from sensorstream.history.sparql.frames import Frame
from sensorstream.history.sparql.values import DAY_TIME_DURATION, Number, Text, Typed, Value

_ZONE: Final = "(Z|[+-][0-9]{2}:[0-9]{2})"
_FORM: Final = (
    "^-?[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?" + _ZONE + "?$"
)
_FIELDS: Final = {
    "YEAR": "^(-?[0-9]{4,})",
    "MONTH": "^-?[0-9]{4,}-([0-9]{2})",
    "DAY": "^-?[0-9]{4,}-[0-9]{2}-([0-9]{2})",
    "HOURS": "T([0-9]{2})",
    "MINUTES": "T[0-9]{2}:([0-9]{2})",
    "SECONDS": "T[0-9]{2}:[0-9]{2}:([0-9]{2}(?:[.][0-9]+)?)",
}


def written_time(value: Value) -> exp.Expr:
    """The text of a dateTime, or of a date as the dateTime it starts at; null for all else."""
    return sql(
        "(SELECT CASE WHEN m.written ~ :form THEN m.written END FROM (SELECT "
        "CASE WHEN :datatype IN (:datetime, :stamp) THEN BTRIM(:text, :blanks) "
        "WHEN :datatype = :date THEN SUBSTRING(BTRIM(:text, :blanks), 1, 10) || 'T00:00:00' "
        "|| SUBSTRING(BTRIM(:text, :blanks), 11) END AS written OFFSET 0) AS m)",
        form=_FORM,
        datatype=value.datatype,
        text=value.text,
    )


def _field(name: str) -> Callable[[Value, Frame], Value]:
    rank = 1 if name == "SECONDS" else 0

    def function(value: Value, frame: Frame) -> Value:
        field = sql(
            "SUBSTRING(:written FROM :form)", written=written_time(value), form=_FIELDS[name]
        )
        return Number(sql("CAST(:field AS DECIMAL)", field=field), constant(rank))

    return function


def _zone(value: Value, frame: Frame) -> exp.Expr:
    """The zone of a time, empty if it has none; null for what is no time."""
    return frame.computed(
        sql(
            "CASE WHEN NOT :written IS NULL THEN COALESCE(SUBSTRING(:written FROM :form), '') END",
            written=frame.computed(written_time(value), "text"),
            form=f"{_ZONE}$",
        ),
        "text",
    )


def tz(value: Value, frame: Frame) -> Value:
    """TZ."""
    return Text(_zone(value, frame))


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
        DAY_TIME_DURATION,
    )


def now() -> exp.Expr:
    """The time of the query, as text."""
    return sql(
        "TO_CHAR(CURRENT_TIMESTAMP AT TIME ZONE 'UTC', :form)", form='YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
    )


FUNCTIONS: Final[Mapping[str, Callable[[Value, Frame], Value]]] = {
    **{name: _field(name) for name in _FIELDS},
    "TZ": tz,
    "TIMEZONE": timezone,
}
