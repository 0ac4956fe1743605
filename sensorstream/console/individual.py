"""One individual: its statements, its past, its neighbours, where it is, and why all that holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.charts import LineChart, Points
from sensorstream.console.maps import Map, Place, coordinates, point_of
from sensorstream.console.names import TYPE, local_name
from sensorstream.console.neighbours import Link, draw_neighbours
from sensorstream.console.notices import Notice
from sensorstream.console.pages import Visit
from sensorstream.console.refreshing import keep_fresh
from sensorstream.console.tables import Action, Column, Row, Table
from sensorstream.console.why_tree import show_statement

_PAUSE: Final = 3.0
_PAST: Final = 2000
_NEIGHBOURS: Final = 60
_STATEMENTS: Final = (
    Column("property", "Property"),
    Column("shown", "Value", lambda row: str(row["there"])),
    Column("how", ""),
    Column("valid_from", "Since"),
    Column("valid_to", "Until"),
    Column("message_id", "Message", lambda row: places.message(str(row["message_id"]))),
)
_ENDED: Final = (
    Column("property", "Property"),
    Column("value", "Value"),
    Column("valid_from", "Since"),
    Column("valid_to", "Until"),
    Column("how", ""),
    Column("message_id", "Message", lambda row: places.message(str(row["message_id"]))),
)


async def build(visit: Visit) -> None:
    """The page of ``asked["iri"]``."""
    iri = visit.asked.get("iri", "")
    ui.label(iri).classes("iri")
    state = ui.label().props("role=status")
    path = places.address("/individuals", iri=iri).removeprefix(places.BASE)
    notice = Notice()
    table = Table(
        _STATEMENTS, key="key", path=path, empty="Nothing is known of it.", rows_a_page=50
    )
    reason = ui.element("div").props("role=status")

    async def why(row: Row) -> None:
        with notice.of():
            told = await visit.client.why_statement(str(row["statement"]))
            reason.clear()
            with reason:
                show_statement(told)

    table.add(Action("why", "Why", why, lambda row: bool(row["now"])))

    async def read() -> None:
        found = await visit.client.individual(iri, rules=True)
        state.set_text("in the window" if found["in_window"] else "in history")
        table.show(list(statements_of(found)))

    keep_fresh(_PAUSE, read)
    with Notice().of():
        await _neighbours(visit, iri)
    with Notice().of():
        await _past(visit, iri)


def statements_of(found: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of a table of statements, from the answer of ``GET /individuals``."""
    for property_, values in found["properties"].items():
        for number, value in enumerate(values):
            how = ""
            if value["inferred"]:
                how = f"inferred by {value['rule']}" if value["rule"] else "inferred"
            is_link = value["kind"] == "iri"
            yield {
                "key": f"{property_} {number}",
                "property": local_name(property_),
                "shown": local_name(value["value"]) if is_link else value["value"],
                "there": _page_of(property_, value["value"]) if is_link else "",
                "how": how,
                "valid_from": value["valid_from"],
                "valid_to": "" if value["valid_to"] is None else value["valid_to"],
                "message_id": value["message_id"],
                "now": value["valid_to"] is None,
                "statement": f"<{found['iri']}> <{property_}> {_written(value)}",
            }


def _page_of(property_: str, iri: str) -> str:
    return places.members(iri) if property_ == TYPE else places.individual(iri)


def _written(value: Mapping[str, Any]) -> str:
    if value["kind"] == "iri":
        return f"<{value['value']}>"
    if value["kind"] == "blank":
        return f"_:{value['value']}"
    text = value["value"].replace("\\", "\\\\").replace('"', '\\"')
    text = text.replace("\n", "\\n").replace("\r", "\\r")
    if value["language"]:
        return f'"{text}"@{value["language"]}'
    return f'"{text}"^^<{value["datatype"]}>'


async def _neighbours(visit: Visit, iri: str) -> None:
    # Braces, spaces and quotes do not stand in an IRI: what is none of them cannot end the term.
    if any(sign in iri for sign in '<>"{}|^`\\ \n'):
        return
    question = (
        f"SELECT ?s ?p ?o {{ {{ BIND(<{iri}> AS ?s) ?s ?p ?o }} UNION "
        f"{{ BIND(<{iri}> AS ?o) ?s ?p ?o }} "
        f"FILTER(isIRI(?o) && isIRI(?s) && ?p != <{TYPE}>) }} LIMIT {_NEIGHBOURS}"
    )
    found = [Link(*map(str, row)) for row in (await visit.client.query(question)).rows]
    if found:
        ui.html("Neighbours", tag="h2").classes("part")
        draw_neighbours(iri, found)


async def _past(visit: Visit, iri: str) -> None:
    quoted = iri.replace("'", "''")
    asked = await visit.client.sql(
        "select predicate, object, number, valid_from, valid_to, inferred, message_id "
        f"from history.statements where subject = '{quoted}' "
        f"order by valid_from desc limit {_PAST}"
    )
    rows = [dict(row) for row in asked]
    if not rows:
        return
    ui.html("Its past", tag="h2").classes("part")
    with ui.element("div").classes("charts"):
        for name, points in lines_of(rows).items():
            LineChart(name, {"type": _axis(rows), "scale": True}).draw({name: points})
        way = way_of(rows)
        if len(way) > 1:
            Map("Where it was").draw(way, is_a_way=True)
    path = places.address("/individuals", iri=iri).removeprefix(places.BASE)
    table = Table(_ENDED, key="key", path=path, empty="Nothing has ended yet.")
    table.show([_ended(number, row) for number, row in enumerate(rows)])


def _ended(number: int, row: Row) -> Row:
    return {
        "key": number,
        "property": local_name(str(row["predicate"])),
        "value": local_name(str(row["object"])),
        "valid_from": str(row["valid_from"]),
        "valid_to": str(row["valid_to"]),
        "how": "inferred" if row["inferred"] else "",
        "message_id": row["message_id"],
    }


def _axis(rows: Sequence[Row]) -> str:
    return "value" if isinstance(rows[0]["valid_from"], int) else "time"


def lines_of(rows: Sequence[Row]) -> dict[str, Points]:
    """The numbers over time, by the names of their properties, oldest first."""
    found: dict[str, list[tuple[Any, float]]] = {}
    for row in reversed(rows):
        if row["number"] is not None:
            name = local_name(str(row["predicate"]))
            at = row["valid_from"] if isinstance(row["valid_from"], int) else str(row["valid_from"])
            found.setdefault(name, []).append((at, float(row["number"])))
    return {name: points for name, points in found.items() if len(points) > 1}


def way_of(rows: Sequence[Row]) -> list[tuple[str, Place]]:
    """Where an individual was, oldest first, by points in WKT or by two coordinates."""
    points = [
        (str(row["valid_from"]), place)
        for row in reversed(rows)
        if (place := point_of(str(row["object"]))) is not None
    ]
    if points:
        return points
    names = sorted({local_name(str(row["predicate"])) for row in rows})
    pair = coordinates(names)
    if pair is None:
        return []
    by_time: dict[str, dict[str, float]] = {}
    last: dict[str, float] = {}
    for row in reversed(rows):
        name = local_name(str(row["predicate"]))
        if name in pair and row["number"] is not None:
            last[name] = float(row["number"])
            by_time[str(row["valid_from"])] = dict(last)
    east, north = pair
    return [
        (at, (each[east], each[north])) for at, each in by_time.items() if set(pair) <= set(each)
    ]
