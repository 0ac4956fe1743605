"""The individuals in the window; the members of a class, now and before."""

from __future__ import annotations

from typing import Any, Final

from nicegui import ui

from sensorstream.console import places
from sensorstream.console.links import go
from sensorstream.console.names import local_name
from sensorstream.console.pages import Visit
from sensorstream.console.refreshing import keep_fresh
from sensorstream.console.tables import Column, Row, Table

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
