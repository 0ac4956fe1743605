"""The individuals in the window; the members of a class, now and before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.elements import (
    Action,
    Column,
    Notice,
    Row,
    Table,
    go,
    heading,
    keep_fresh,
)
from sensorstream.console.pages import Visit
from sensorstream.console.past import Past, how
from sensorstream.console.texts import TYPE, local_name
from sensorstream.console.why_tree import show_statement
from sensorstream.errors import UnknownIndividual

_PAUSE: Final = 3.0
_MOST: Final = 500
_COLUMNS: Final = (
    Column("name", "Individual", lambda row: places.individual(str(row["iri"]))),
    Column("types", "Classes"),
    Column("entered", "Entered"),
    Column("time", "Time"),
    Column("statements", "Statements", is_number=True),
    Column("message_id", "Last message", lambda row: places.message(str(row["message_id"]))),
)
_MEMBERS: Final = (
    Column("name", "Individual", lambda row: places.individual(str(row["iri"]))),
    Column("where", ""),
)


async def build(visit: Visit) -> None:
    """The window, the newest first; with ``asked["class"]`` the members of a class."""
    iri = visit.asked.get("class", "")

    def find() -> None:
        if wanted.value:
            go(places.individual(wanted.value))

    def members() -> None:
        go(places.members(kind.value) if kind.value else places.address(places.INDIVIDUALS.path))

    with ui.element("div").classes("form"):
        wanted = ui.input("IRI of an individual").classes("wide").on("keydown.enter", find)
        ui.button("Show", on_click=find).props("no-caps flat")
        kind = ui.input("IRI of a class", value=iri).classes("wide").on("keydown.enter", members)
        ui.button("Members", on_click=members).props("no-caps flat")
    if iri:
        await _members(visit, iri)
        return
    total = ui.label().props("role=status")
    table = Table(_COLUMNS, key="iri", path=f"/window?limit={_MOST}", empty="The window is empty.")

    skipped = 0

    async def read() -> None:
        nonlocal skipped
        # The oldest come first: how many there are besides the newest, the last reading told.
        found = await visit.client.window(_MOST, skipped)
        if skipped != (skipped := max(0, found["total"] - _MOST)):
            found = await visit.client.window(_MOST, skipped)
        count, statements = found["total"], found["statements"]
        told = f"{count} individuals, {statements} statements, {found['inferred']} inferred"
        total.set_text(told if count <= _MOST else f"{told}; the newest {_MOST} are shown")
        table.show([_row(each) for each in reversed(found["individuals"])])

    keep_fresh(_PAUSE, read)


async def _members(visit: Visit, iri: str) -> None:
    path = places.address("/latest", **{"class": iri}).removeprefix(places.BASE)
    table = Table(_MEMBERS, key="iri", path=path, empty="There is none, now or before.", most=_MOST)
    found = await visit.client.latest(iri, _MOST)
    table.show(
        [
            {
                "iri": each["iri"],
                "name": local_name(each["iri"]),
                "where": "in the window" if each["in_window"] else "in history",
            }
            for each in found["individuals"]
        ]
    )


def _row(row: dict[str, Any]) -> Row:
    types = ", ".join(map(local_name, row["types"]))
    return {**row, "name": local_name(row["iri"]), "types": types}


@dataclass(frozen=True, slots=True)
class Link:
    """A link from one individual to another."""

    source: str
    property: str
    target: str


def draw_neighbours(centre: str, found: Sequence[Link]) -> None:
    """A graph of links; a click on a node leads to its page."""
    names = dict.fromkeys([centre, *(iri for each in found for iri in (each.source, each.target))])
    nodes = [
        {
            "id": iri,
            "name": local_name(iri),
            "symbolSize": 34 if iri == centre else 20,
            "itemStyle": {"color": "#1f5f8b" if iri == centre else "#7fa8c4"},
        }
        for iri in names
    ]
    edges: list[dict[str, Any]] = [
        {
            "source": each.source,
            "target": each.target,
            "value": local_name(each.property),
            "label": {"show": True, "formatter": "{c}", "fontSize": 10},
        }
        for each in found
    ]
    chart = ui.echart(
        {
            "animation": False,
            "tooltip": {},
            "series": [
                {
                    "type": "graph",
                    "layout": "force",
                    "roam": True,
                    "force": {"repulsion": 250, "edgeLength": 110},
                    "edgeSymbol": ["none", "arrow"],
                    "label": {"show": True, "position": "right"},
                    "data": nodes,
                    "links": edges,
                }
            ],
        },
        on_point_click=lambda event: _open(event.data),
        renderer="svg",
    ).classes("graph")
    chart.props('role=img aria-label="Neighbours"')


def _open(data: object) -> None:
    if isinstance(data, dict) and "id" in data:
        go(places.individual(str(data["id"])))


_PAST_PAUSE: Final = 10.0
_NEIGHBOURS: Final = 60
_STATEMENTS: Final = (
    Column("property", "Property"),
    Column("shown", "Value", lambda row: str(row["there"])),
    Column("how", ""),
    Column("valid_from", "Since"),
    Column("valid_to", "Until"),
    Column("message_id", "Message", lambda row: places.message(str(row["message_id"]))),
)


async def build_one(visit: Visit) -> None:
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
    past = Past(visit.client, iri)

    async def read_past() -> None:
        with suppress(UnknownIndividual):  # The reading above says so.
            await past.show(await visit.client.individual(iri, rules=True))

    keep_fresh(_PAST_PAUSE, read_past)


def statements_of(found: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of a table of statements, from the answer of ``GET /individuals``."""
    for property_, values in found["properties"].items():
        for number, value in enumerate(values):
            is_link = value["kind"] == "iri"
            yield {
                "key": f"{property_} {number}",
                "property": local_name(property_),
                "shown": local_name(value["value"]) if is_link else value["value"],
                "there": _page_of(property_, value["value"]) if is_link else "",
                "how": how(value),
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
        heading("Neighbours")
        draw_neighbours(iri, found)
