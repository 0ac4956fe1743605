"""Pages of the individuals in the window, the members of a class, and one individual's past up to
now: a timeline, charts of its numbers, its way on a map.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Final

from nicegui import ui

from sensorstream.client.clients import AsyncClient
from sensorstream.console import page_addresses
from sensorstream.console.drawings import (
    DrawnShape,
    LineChart,
    Map,
    Points,
    coordinates,
    point,
    shape_of,
    time_axis,
)
from sensorstream.console.elements import (
    Notice,
    Row,
    ShownTable,
    TableColumn,
    go,
    heading,
    keep_fresh,
)
from sensorstream.console.page_addresses import TYPE, local_name, seconds
from sensorstream.console.page_visits import Visit
from sensorstream.console.why_tree import show_statement
from sensorstream.errors import UnknownIndividual

_MOST: Final = 2000
_DRAWN: Final = 300
"""Ended statements in the timeline: those that began last."""
_NUMBERS: Final = frozenset({"integer", "decimal", "double", "float", "int", "long", "short"})
_SHARED: Final = ("valid_from", "valid_to", "inferred", "rule", "message_id")
_ENDED: Final = (
    TableColumn("property", "Property"),
    TableColumn("value", "Value"),
    TableColumn("valid_from", "Since"),
    TableColumn("valid_to", "Until"),
    TableColumn("how", ""),
    TableColumn(
        "message_id", "Message", lambda row: page_addresses.message(str(row["message_id"]))
    ),
)


class ShownPast:
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
            path = page_addresses.address("/individuals", iri=iri).removeprefix(page_addresses.BASE)
            self._table = ShownTable(_ENDED, path, "Nothing has ended yet.", key="key")
        self._section.set_visibility(False)

    async def show(self, found: Mapping[str, Any]) -> None:
        """Show the statements that have ended, and those of now."""
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
    """The statements that hold now, from ``GET /individuals``, as rows of history."""
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
    """The way in which a statement was inferred, with its rule if known; "" for a said one."""
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


def way_of(rows: Sequence[Row]) -> list[DrawnShape]:
    """The places of an individual, oldest first, by geometries or by two coordinates."""
    places = [
        shape
        for row in reversed(rows)
        if (shape := shape_of(str(row["object"]), name=str(row["valid_from"]))) is not None
    ]
    pair = coordinates(sorted({local_name(str(row["predicate"])) for row in rows}))
    if not places and pair is not None:
        east, north, frame = pair
        by_time: dict[str, dict[str, float]] = {}
        last: dict[str, float] = {}
        for row in reversed(rows):
            name = local_name(str(row["predicate"]))
            if name in (east, north) and row["number"] is not None:
                last[name] = float(row["number"])
                by_time[str(row["valid_from"])] = dict(last)
        places = [
            point(frame, each[east], each[north], name=at)
            for at, each in by_time.items()
            if east in each and north in each
        ]
    return [*places[:-1], *(replace(each, kind="now") for each in places[-1:])]


_BAR: Final = 18
_NAME: Final = 18
"""The height of a bar, and of the name above those of a property."""
_END: Final = 16
_MOST_MOMENTS: Final = 40
"""Bars below each other; what would need more is left out."""


@dataclass(frozen=True, slots=True)
class Spell:
    """A value that held for a while; ``until`` is None: it still does."""

    property: str
    value: str
    since: object
    until: object | None
    how: str
    message_id: str


@dataclass(frozen=True, slots=True)
class SpellRow:
    """Spells of one property that do not overlap, the oldest first."""

    property: str
    spells: tuple[Spell, ...]


def lanes_of(spells: Sequence[Spell]) -> list[SpellRow]:
    """The spells of each property in as few lanes as it takes; properties by name."""
    found: dict[str, list[list[Spell]]] = {}
    for spell in sorted(spells, key=lambda each: (seconds(each.since), each.value)):
        lanes = found.setdefault(spell.property, [])
        free = (lane for lane in lanes if _has_ended(lane[-1], spell.since))
        lane = next(free, None)
        if lane is None:
            lanes.append([spell])
        else:
            lane.append(spell)
    return [SpellRow(name, tuple(lane)) for name in sorted(found) for lane in found[name]]


def _has_ended(spell: Spell, moment: object) -> bool:
    return spell.until is not None and seconds(spell.until) <= seconds(moment)


def timeline(spells: Sequence[Spell]) -> str:
    """The picture as SVG, as wide as its place; a bar leads to the message that said it."""
    lanes = lanes_of(spells)
    shown = lanes[:_MOST_MOMENTS]
    ends = [each for spell in spells for each in (spell.since, spell.until) if each is not None]
    # A statement that has held since long before begins at the edge.
    begins = [spell.since for spell in spells if spell.until is not None]
    first, last = min(begins or ends, key=seconds), max(ends, key=seconds)
    begin, length = seconds(first), max(seconds(last) - seconds(first), 1e-9)
    parts: list[str] = []
    at, name = 0, ""
    for lane in shown:
        if lane.property != name:
            name = lane.property
            at += _NAME
            parts.append(f'<text y="{at - 4}">{escape(name)}</text>')
        parts.extend(_bars(lane, at, begin, length))
        at += _BAR
    left = len(lanes) - len(shown)
    more = f" ({left} lines more are left out)" if left else ""
    at += _END
    parts.append(f'<text y="{at - 3}">{escape(str(first))}{more}</text>')
    parts.append(f'<text x="100%" y="{at - 3}" text-anchor="end">{escape(str(last))}</text>')
    return (
        f'<svg width="100%" height="{at}" role="group" aria-label="Timeline">{"".join(parts)}</svg>'
    )


def _bars(lane: SpellRow, top: int, begin: float, length: float) -> Iterator[str]:
    for spell in lane.spells:
        left = max(100 * (seconds(spell.since) - begin) / length, 0.0)
        right = 100.0 if spell.until is None else 100 * (seconds(spell.until) - begin) / length
        until = "until now" if spell.until is None else f"to {spell.until}"
        how = f", {spell.how}" if spell.how else ""
        told = escape(f"{spell.property} {spell.value}, {spell.since} {until}{how}")
        kind = "inferred" if spell.how else "said"
        # The table below leads to the messages by keyboard; more stops would be in the way.
        yield (
            f'<a href="{escape(page_addresses.message(spell.message_id))}" tabindex="-1" '
            f'aria-label="{told}"><svg class="{kind}" x="{left:.3f}%" y="{top}" '
            f'width="{max(right - left, 0.15):.3f}%" height="{_BAR - 2}"><title>{told}</title>'
            f'<rect width="100%" height="100%"/><text x="3" y="12">{escape(spell.value)}</text>'
            "</svg></a>"
        )


_PAUSE: Final = 3.0
_MOST_SHOWN: Final = 500
_COLUMNS: Final = (
    TableColumn(
        "name",
        "Individual",
        lambda row: page_addresses.individual(str(row["iri"])),
        value=lambda row: local_name(row["iri"]),
    ),
    TableColumn("types", "Classes", value=lambda row: ", ".join(map(local_name, row["types"]))),
    TableColumn("entered", "Entered"),
    TableColumn("time", "Time"),
    TableColumn("statements", "Statements", is_number=True),
    TableColumn(
        "message_id", "Last message", lambda row: page_addresses.message(str(row["message_id"]))
    ),
)
_MEMBERS: Final = (
    TableColumn("name", "Individual", lambda row: page_addresses.individual(str(row["iri"]))),
    TableColumn("where", ""),
)


async def build(visit: Visit) -> None:
    """Build the window's page, newest first; ``asked["class"]``: the members of a class."""
    iri = visit.asked.get("class", "")

    def find() -> None:
        if wanted.value:
            go(page_addresses.individual(wanted.value))

    def members() -> None:
        go(
            page_addresses.members(kind.value)
            if kind.value
            else page_addresses.address(page_addresses.INDIVIDUALS.path)
        )

    with ui.element("div").classes("form"):
        wanted = ui.input("IRI of an individual").classes("wide").on("keydown.enter", find)
        ui.button("Show", on_click=find).props("no-caps flat")
        kind = ui.input("IRI of a class", value=iri).classes("wide").on("keydown.enter", members)
        ui.button("Members", on_click=members).props("no-caps flat")
    if iri:
        await _members(visit, iri)
        return
    total = ui.label().props("role=status")
    table = ShownTable(_COLUMNS, f"/window?limit={_MOST_SHOWN}", "The window is empty.", key="iri")

    skipped = 0

    async def read() -> None:
        nonlocal skipped
        # The oldest come first; the last reading told how many there are besides the newest.
        found = await visit.client.window(_MOST_SHOWN, skipped)
        if skipped != (skipped := max(0, found["total"] - _MOST_SHOWN)):
            found = await visit.client.window(_MOST_SHOWN, skipped)
        count, statements = found["total"], found["statements"]
        told = f"{count} individuals, {statements} statements, {found['inferred']} inferred"
        total.set_text(
            told if count <= _MOST_SHOWN else f"{told}; the newest {_MOST_SHOWN} are shown"
        )
        table.show(found["individuals"][::-1])

    keep_fresh(_PAUSE, read)


async def _members(visit: Visit, iri: str) -> None:
    path = page_addresses.address("/latest", **{"class": iri}).removeprefix(page_addresses.BASE)
    table = ShownTable(_MEMBERS, path, "There is none, now or before.", key="iri", most=_MOST_SHOWN)
    found = await visit.client.latest(iri, _MOST_SHOWN)
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


def draw_neighbours(centre: str, links: Sequence[Sequence[str]]) -> None:
    """A graph of links (subject, property, object); a click on a node leads to its page."""
    names = dict.fromkeys([centre, *(iri for start, _, end in links for iri in (start, end))])
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
            "source": start,
            "target": end,
            "value": local_name(property_),
            "label": {"show": True, "formatter": "{c}", "fontSize": 10},
        }
        for start, property_, end in links
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
        go(page_addresses.individual(str(data["id"])))


_PAST_PAUSE: Final = 10.0
_NEIGHBOURS: Final = 60
_STATEMENTS: Final = (
    TableColumn("property", "Property"),
    TableColumn("shown", "Value", lambda row: str(row["there"])),
    TableColumn("how", ""),
    TableColumn("valid_from", "Since"),
    TableColumn("valid_to", "Until"),
    TableColumn(
        "message_id", "Message", lambda row: page_addresses.message(str(row["message_id"]))
    ),
)


async def build_one(visit: Visit) -> None:
    """Build the page of ``asked["iri"]``."""
    iri = visit.asked.get("iri", "")
    ui.label(iri).classes("iri")
    state = ui.label().props("role=status")
    path = page_addresses.address("/individuals", iri=iri).removeprefix(page_addresses.BASE)
    table = ShownTable(_STATEMENTS, path, "Nothing is known of it.", key="key", rows_a_page=50)
    reason = ui.element("div").props("role=status")

    async def why(row: Row) -> None:
        told = await visit.client.why_statement(str(row["statement"]))
        reason.clear()
        with reason:
            show_statement(told)

    table.add("why", "Why", why, lambda row: bool(row["now"]))

    async def read() -> None:
        found = await visit.client.individual(iri, rules=True)
        state.set_text("in the window" if found["in_window"] else "in history")
        table.show(list(statements_of(found)))

    keep_fresh(_PAUSE, read)
    with Notice().of():
        await _neighbours(visit, iri)
    past = ShownPast(visit.client, iri)

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
                "there": _page_of_value(property_, value["value"]) if is_link else "",
                "how": how(value),
                "valid_from": value["valid_from"],
                "valid_to": "" if value["valid_to"] is None else value["valid_to"],
                "message_id": value["message_id"],
                "now": value["valid_to"] is None,
                "statement": f"<{found['iri']}> <{property_}> {_written(value)}",
            }


def _page_of_value(property_: str, iri: str) -> str:
    return page_addresses.members(iri) if property_ == TYPE else page_addresses.individual(iri)


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
    # Braces, spaces and quotes cannot stand in an IRI, so nothing else can end the term.
    if any(sign in iri for sign in '<>"{}|^`\\ \n'):
        return
    question = (
        f"SELECT ?s ?p ?o {{ {{ BIND(<{iri}> AS ?s) ?s ?p ?o }} UNION "
        f"{{ BIND(<{iri}> AS ?o) ?s ?p ?o }} "
        f"FILTER(isIRI(?o) && isIRI(?s) && ?p != <{TYPE}>) }} LIMIT {_NEIGHBOURS}"
    )
    found = [[*map(str, row)] for row in (await visit.client.query(question)).rows]
    if found:
        heading("Neighbours")
        draw_neighbours(iri, found)
