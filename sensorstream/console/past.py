"""The past of an individual up to now: a timeline, charts of its numbers, its way on a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from nicegui import ui

from sensorstream.client.asynchronous import AsyncClient
from sensorstream.console import places
from sensorstream.console.charts import LineChart, Points, time_axis
from sensorstream.console.listings import heading
from sensorstream.console.maps import Map, Named
from sensorstream.console.names import local_name
from sensorstream.console.shapes import Shape, coordinates, shape_of
from sensorstream.console.tables import Column, Row, Table
from sensorstream.console.timeline import Spell, timeline
from sensorstream.console.times import seconds

_MOST: Final = 2000
_DRAWN: Final = 300
"""Ended statements in the timeline: those that began last."""
_NUMBERS: Final = frozenset({"integer", "decimal", "double", "float", "int", "long", "short"})
_SHARED: Final = ("valid_from", "valid_to", "inferred", "rule", "message_id")
_ENDED: Final = (
    Column("property", "Property"),
    Column("value", "Value"),
    Column("valid_from", "Since"),
    Column("valid_to", "Until"),
    Column("how", ""),
    Column("message_id", "Message", lambda row: places.message(str(row["message_id"]))),
)


class Past:
    """The place where the past of one individual stands."""

    def __init__(self, client: AsyncClient, iri: str) -> None:
        self._client, self._iri = client, iri
        self._charts: dict[str, LineChart] = {}
        self._rows: list[Row] = []
        with ui.element("section") as self._section:
            heading("Its past")
            self._timeline = ui.html("").classes("timeline")
            with ui.element("div").classes("charts") as self._lines:
                self._map: Map | None = None
            path = places.address("/individuals", iri=iri).removeprefix(places.BASE)
            self._table = Table(_ENDED, key="key", path=path, empty="Nothing has ended yet.")
        self._section.set_visibility(False)

    async def show(self, found: Mapping[str, Any]) -> None:
        """Show what has ended, and what the server says of the individual now."""
        ended = [dict(row) for row in await self._client.sql(_question(self._iri))]
        rows = sorted([*now_rows(found), *ended], key=lambda row: -seconds(row["valid_from"]))
        if rows == self._rows:
            return
        self._rows = rows
        self._section.set_visibility(bool(rows))
        drawn = [_spell(row) for row in [*now_rows(found), *ended[:_DRAWN]]]
        self._timeline.set_content(timeline(drawn) if drawn else "")
        for name, points in lines_of(rows).items():
            with self._lines:
                axis = time_axis(points[0][0])
                chart = self._charts.get(name) or LineChart(name, axis)
            self._charts[name] = chart
            chart.draw({name: points})
        way = way_of(rows)
        if way:
            with self._lines:
                self._map = self._map or Map("Where it was")
            self._map.draw(way, is_a_way=len(way) > 1)
        self._table.show([_ended(number, row) for number, row in enumerate(ended)])


def _question(iri: str) -> str:
    quoted = iri.replace("'", "''")
    return (
        "select predicate, object, number, valid_from, valid_to, inferred, message_id "
        f"from history.statements where subject = '{quoted}' "
        f"order by valid_from desc limit {_MOST}"
    )


def now_rows(found: Mapping[str, Any]) -> list[Row]:
    """What holds now, from the answer of ``GET /individuals``, as rows of history."""
    return [
        {
            "predicate": property_,
            "object": value["value"],
            "number": _number(value),
            **{each: value[each] for each in _SHARED},
        }
        for property_, values in found["properties"].items()
        for value in values
        if value["valid_to"] is None and value["valid_from"] is not None
    ]


def _number(value: Mapping[str, Any]) -> float | None:
    if value["kind"] == "literal" and local_name(str(value["datatype"])) in _NUMBERS:
        with suppress(ValueError):
            return float(value["value"])
    return None


def _spell(row: Row) -> Spell:
    names = local_name(str(row["predicate"])), local_name(str(row["object"]))
    return Spell(*names, row["valid_from"], row["valid_to"], how(row), str(row["message_id"]))


def _ended(number: int, row: Row) -> Row:
    return {
        "key": number,
        "property": local_name(str(row["predicate"])),
        "value": local_name(str(row["object"])),
        "valid_from": str(row["valid_from"]),
        "valid_to": str(row["valid_to"]),
        "how": how(row),
        "message_id": row["message_id"],
    }


def how(row: Row) -> str:
    """How a statement came to hold, if no message said it; of now, by which rule."""
    if not row["inferred"]:
        return ""
    return f"inferred by {row['rule']}" if row.get("rule") else "inferred"


def lines_of(rows: Sequence[Row]) -> dict[str, Points]:
    """The numbers over time, by the names of their properties, oldest first."""
    found: dict[str, list[tuple[Any, float]]] = {}
    for row in reversed(rows):
        if row["number"] is not None:
            name = local_name(str(row["predicate"]))
            at = row["valid_from"] if isinstance(row["valid_from"], int) else str(row["valid_from"])
            found.setdefault(name, []).append((at, float(row["number"])))
    return {name: points for name, points in found.items() if len(points) > 1}


def way_of(rows: Sequence[Row]) -> list[Named]:
    """Where an individual was, oldest first, by shapes in WKT or by two coordinates."""
    shapes = [
        (str(row["valid_from"]), shape)
        for row in reversed(rows)
        if (shape := shape_of(str(row["object"]))) is not None
    ]
    if shapes:
        return shapes
    names = sorted({local_name(str(row["predicate"])) for row in rows})
    pair = coordinates(names)
    if pair is None:
        return []
    east, north, frame = pair
    by_time: dict[str, dict[str, float]] = {}
    last: dict[str, float] = {}
    for row in reversed(rows):
        name = local_name(str(row["predicate"]))
        if name in (east, north) and row["number"] is not None:
            last[name] = float(row["number"])
            by_time[str(row["valid_from"])] = dict(last)
    return [
        (at, Shape(frame, ((each[east], each[north]),)))
        for at, each in by_time.items()
        if east in each and north in each
    ]
