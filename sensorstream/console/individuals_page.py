"""Pages of the individuals in the window, the members of a class, and one individual's past up to
now: a timeline, charts of its numbers, its way on a map.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from typing import Any, Final

from nicegui import ui

from sensorstream.client.clients import AsyncClient
from sensorstream.clock import SystemClock
from sensorstream.console import page_addresses
from sensorstream.console.drawings import (
    DEGREES,
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
    FilterBar,
    Notice,
    Row,
    ShownTable,
    TableColumn,
    choices,
    go,
    heading,
    keep_fresh,
    moments,
    show,
)
from sensorstream.console.page_addresses import TYPE, local_name, seconds
from sensorstream.console.page_visits import Visit
from sensorstream.console.shown_values import Piece, label, named, number, state, when
from sensorstream.console.why_tree import show_statement
from sensorstream.errors import SensorStreamError, UnknownIndividual
from sensorstream.model.frozen import frozen, replace

_MOST: Final = 2000
_DRAWN: Final = 300
"""Ended statements in the timeline: those that began last."""
_NUMBERS: Final = frozenset({"integer", "decimal", "double", "float", "int", "long", "short"})
_SHARED: Final = ("valid_from", "valid_to", "inferred", "rule", "message_id")
_UNITS: Final = """PREFIX qudt: <http://qudt.org/schema/qudt/>
SELECT ?property ?unit { ?property qudt:hasUnit|qudt:unit ?unit } LIMIT 1000"""
_SIGNS: Final = {
    **dict.fromkeys(("DEG_C", "Cel"), "°C"),
    **dict(zip(("PERCENT", "KiloM-PER-HR", "M-PER-SEC"), ("%", "km/h", "m/s"), strict=True)),
    **dict(zip(("M", "KiloM", "SEC", "PA", "HectoPA"), ("m", "km", "s", "Pa", "hPa"), strict=True)),
}


def _property(row: Row) -> Piece:
    iri = str(row["predicate"])
    if iri == TYPE:
        return Piece("is a", iri)
    page = page_addresses.address(page_addresses.ONTOLOGY.path, name=local_name(iri))
    return named(iri, page)


def _value(row: Row) -> Piece:
    value = str(row["object"])
    if value.startswith(("http://", "https://", "urn:")) and " " not in value:
        is_class = str(row["predicate"]) == TYPE
        page = page_addresses.members if is_class else page_addresses.individual
        return named(value, page(value))
    if row["number"] is not None:
        return Piece(number(value), value)
    return Piece(value if len(value) <= _LONG else f"{value[:_LONG]} …", value)


_LONG: Final = 120
_PROPERTY: Final = TableColumn("property", "Property", value=_property)
_VALUE: Final = TableColumn("value", "Value", value=_value)
_HOW: Final = TableColumn("how", "How", value=lambda row: how(row))
_SINCE: Final = moments("valid_from", "Since")
_UNTIL: Final = moments("valid_to", "Until")
_MESSAGE: Final = TableColumn(
    "message_id", "Message", lambda row: page_addresses.message(str(row["message_id"]))
)


class ShownPast:
    """The place where the past of one individual stands."""

    def __init__(self, visit: Visit, iri: str, moment: object) -> None:
        """``moment``: one of the time line."""
        self._client, self._iri = visit.client, iri
        self._is_number = isinstance(moment, int)
        self._axis = time_axis(moment)
        self._charts: dict[str, LineChart] = {}
        self._rows: list[Row] | None = None
        self._signs: dict[str, str] = {}
        self._fences: list[DrawnShape] = []
        self._found: Mapping[str, Any] = {"properties": {}}
        heading("Its past")
        self._bar = FilterBar("/individual", visit.asked, self.read)
        self._bar.time_range(is_number=self._is_number)
        with ui.element("div").classes("charts") as self._lines:
            self._map: Map | None = None
        heading("What held when", "h3")
        show(
            [Piece("said by a message", look="chip said"), Piece("inferred", look="chip inferred")]
        )
        self._timeline = ui.html("").classes("timeline")
        path = page_addresses.address("/individuals", iri=iri).removeprefix(page_addresses.BASE)
        columns = (_PROPERTY, _VALUE, _HOW, _SINCE, _UNTIL, _MESSAGE)
        self._table = ShownTable(columns, path, "Nothing has ended then.", key="key")

    async def prepare(self) -> None:
        """Read the units of properties, and the fences of the map."""
        with suppress(SensorStreamError):
            rows = (await self._client.query(_UNITS)).rows
            units = {str(property_): local_name(str(unit)) for property_, unit in rows}
            self._signs = {each: _SIGNS.get(unit, unit) for each, unit in units.items()}
            self._fences = await placed(self._client, "static")

    async def read(self) -> None:
        """Show the statements that have ended in the time that is chosen, and those of now."""
        with suppress(UnknownIndividual):  # The page says so above.
            self._found = await self._client.individual(self._iri, rules=True)
        now = now_rows(self._found)
        last = max((seconds(each["valid_from"]) for each in now), default=0)
        since, until = self._bar.bounds(last if self._is_number else SystemClock().now())
        ended = [dict(row) for row in await self._client.sql(_question(self._iri, since, until))]
        # What holds now has held since its begin.
        now = [
            each for each in now if until is None or seconds(each["valid_from"]) < seconds(until)
        ]
        rows = sorted([*now, *ended], key=lambda row: -seconds(row["valid_from"]))
        if rows == self._rows:
            return
        self._rows = rows
        drawn = [_spell(row) for row in [*now, *ended[:_DRAWN]]]
        self._timeline.set_content(timeline(drawn) if drawn else "")
        self._draw(rows, since, until)
        self._table.show([{**row, "key": key} for key, row in enumerate(ended)])

    def _draw(self, rows: Sequence[Row], since: object, until: object) -> None:
        lines = lines_of(rows)
        moments = sorted((at for points in lines.values() for at, _ in points), key=seconds)
        ends = (since or moments[0], until or moments[-1]) if moments else (None, None)
        # ECharts draws nothing between two ends that are the same.
        axis = dict.fromkeys(("min", "max")) if ends[0] == ends[1] else _axis(*ends)
        for iri in sorted(self._charts.keys() | lines.keys(), key=label):
            if iri not in self._charts:
                with self._lines:
                    self._charts[iri] = LineChart(label(iri), self._axis, self._signs.get(iri, ""))
            self._charts[iri].draw({label(iri): lines.get(iri, [])}, axis)
        way = way_of(rows)
        if way or self._map:
            with self._lines:
                self._map = self._map or Map("Where it was")
            fences = [each for each in self._fences if way and each.frame == way[0].frame]
            self._map.draw([*way, *fences], is_a_way=True)


def _axis(*ends: object) -> dict[str, object]:
    told = (each if isinstance(each, int | float) else str(each) for each in ends)
    return dict(zip(("min", "max"), told, strict=True))


def _question(iri: str, since: object, until: object) -> str:
    quoted = iri.replace("'", "''")
    ends = "".join(
        f"and {name} {_sql(end)} "
        for name, end in (("valid_to >=", since), ("valid_from <", until))
        if end is not None
    )
    return (
        "select predicate, object, number, valid_from, valid_to, inferred, message_id "
        f"from history.statements where subject = '{quoted}' {ends}"
        f"order by valid_from desc limit {_MOST}"
    )


def _sql(end: object) -> str:
    return f"{end:.0f}" if isinstance(end, int | float) else f"timestamptz '{end}'"


_PLACED: Final = """PREFIX geo: <http://www.opengis.net/ont/geosparql#>
SELECT (COALESCE(?owner, ?s) AS ?who) ?p ?o {
  GRAPH <urn:sensorstream:%s> { ?s ?p ?o }
  FILTER(isNumeric(?o) || datatype(?o) IN (geo:wktLiteral, geo:geoJSONLiteral))
  OPTIONAL { ?owner geo:hasGeometry|geo:hasDefaultGeometry ?s }
} LIMIT 20000"""


async def placed(client: AsyncClient, graph: str) -> list[DrawnShape]:
    """The places of what is in a graph: of ``static`` the geometries, as fences."""
    is_fence = graph == "static"
    by_name: dict[str, list[Row]] = {}
    for who, predicate, value in (await client.query(_PLACED % graph)).rows:
        is_number = not isinstance(value, str)
        if not (is_fence and is_number):
            row = {"predicate": predicate, "object": value, "valid_from": ""}
            by_name.setdefault(str(who), []).append({**row, "number": value if is_number else None})
    kind = "fence" if is_fence else "place"
    return [
        replace(each, name=label(iri), there=page_addresses.individual(iri), kind=kind)
        for iri, rows in by_name.items()
        for each in way_of(rows)[-1:]
    ]


def now_rows(found: Mapping[str, Any]) -> list[Row]:
    """The statements that hold now, from ``GET /individuals``, as rows of history."""
    return [
        _row(property_, value)
        for property_, values in found["properties"].items()
        for value in values
        if value["valid_to"] is None and value["valid_from"] is not None
    ]


def _row(property_: str, value: Mapping[str, Any]) -> dict[str, Any]:
    told = {"predicate": property_, "object": value["value"], "number": _number(value)}
    return {**told, **{each: value[each] for each in _SHARED}}


def _number(value: Mapping[str, Any]) -> float | None:
    if value["kind"] == "literal" and local_name(str(value["datatype"])) in _NUMBERS:
        with suppress(ValueError):
            return float(value["value"])
    return None


def _spell(row: Row) -> Spell:
    names = _property(row).text, _value(row).text
    return Spell(*names, row["valid_from"], row["valid_to"], how(row), str(row["message_id"]))


def how(row: Row) -> str:
    """The way in which a statement was inferred, with its rule if known; "" for a said one."""
    if not row["inferred"]:
        return ""
    return f"inferred by {row['rule']}" if row.get("rule") else "inferred"


def lines_of(rows: Sequence[Row]) -> dict[str, Points]:
    """The numbers over time, by their properties, oldest first."""
    found: dict[str, list[tuple[Any, float]]] = {}
    for row in reversed(rows):
        if row["number"] is not None:
            at = row["valid_from"] if isinstance(row["valid_from"], int) else str(row["valid_from"])
            found.setdefault(str(row["predicate"]), []).append((at, float(row["number"])))
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


@frozen
class Spell:
    """A value that held for a while; ``until`` is None: it still does."""

    property: str
    value: str
    since: object
    until: object | None
    how: str
    message_id: str


@frozen
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
    parts.append(f'<text y="{at - 3}">{escape(when(first).text)}{more}</text>')
    parts.append(f'<text x="100%" y="{at - 3}" text-anchor="end">{escape(when(last).text)}</text>')
    return (
        f'<svg width="100%" height="{at}" role="group" aria-label="Timeline">{"".join(parts)}</svg>'
    )


def _bars(lane: SpellRow, top: int, begin: float, length: float) -> Iterator[str]:
    for spell in lane.spells:
        left = max(100 * (seconds(spell.since) - begin) / length, 0.0)
        right = 100.0 if spell.until is None else 100 * (seconds(spell.until) - begin) / length
        until = "until now" if spell.until is None else f"to {when(spell.until).text}"
        how = f", {spell.how}" if spell.how else ""
        told = escape(f"{spell.property} {spell.value}, {when(spell.since).text} {until}{how}")
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
_VIEWS: Final = {"": "List", "map": "Map"}
_COLUMNS: Final = (
    TableColumn("name", "Individual", value=lambda row: named(row["iri"])),
    TableColumn("types", "Classes", value=lambda row: ", ".join(map(label, row["types"]))),
    moments("entered", "Entered"),
    moments("time", "Last seen"),
    TableColumn("statements", "Statements", is_number=True),
    TableColumn(
        "message_id", "Last message", lambda row: page_addresses.message(str(row["message_id"]))
    ),
)
_MEMBERS: Final = (
    TableColumn("name", "Individual", value=lambda row: named(row["iri"])),
    TableColumn(
        "where",
        "Where",
        value=lambda row: _where(row["in_window"]),
    ),
)


def _where(in_window: bool) -> Piece:
    return state("in the window", "good") if in_window else state("in history")


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
    view, path = visit.asked.get("view", ""), page_addresses.INDIVIDUALS.path
    choices("Views", _VIEWS, view, lambda each: page_addresses.address(path, view=each or None))
    if view == "map":
        await _show_map(visit.client)
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
        told = (
            f"{number(count)} individuals, {number(statements)} statements, "
            f"{number(found['inferred'])} inferred"
        )
        total.set_text(
            told if count <= _MOST_SHOWN else f"{told}; the newest {_MOST_SHOWN} are shown"
        )
        table.show(found["individuals"][::-1])

    keep_fresh(_PAUSE, read)


async def _show_map(client: AsyncClient) -> None:
    fences = await placed(client, "static")
    maps: dict[str, Map] = {}
    place = ui.element("div").classes("large")
    none = ui.label("Nothing in the window has a place: a geometry, or two coordinates.")
    none.classes("empty")

    async def read() -> None:
        there = [*await placed(client, "window"), *fences]
        none.set_visibility(not there)
        frames = dict.fromkeys(each.frame for each in there)
        for frame in sorted(frames, key=lambda each: each != DEGREES):
            if frame not in maps:
                with place:
                    maps[frame] = Map(f"Where they are{'' if frame == DEGREES else ', on a plane'}")
            maps[frame].draw([each for each in there if each.frame == frame])

    keep_fresh(_PAST_PAUSE, read)


async def _members(visit: Visit, iri: str) -> None:
    show(["Members of", named(iri, page_addresses.address(page_addresses.ONTOLOGY.path))])
    path = page_addresses.address("/latest", **{"class": iri}).removeprefix(page_addresses.BASE)
    table = ShownTable(_MEMBERS, path, "There is none, now or before.", key="iri", most=_MOST_SHOWN)
    found = await visit.client.latest(iri, _MOST_SHOWN)
    table.show(found["individuals"])


def draw_neighbours(centre: str, links: Sequence[Sequence[str]]) -> None:
    """A graph of links (subject, property, object); a click on a node leads to its page."""
    names = dict.fromkeys([centre, *(iri for start, _, end in links for iri in (start, end))])
    nodes = [
        {
            "id": iri,
            "name": label(iri),
            "symbolSize": 34 if iri == centre else 20,
            "itemStyle": {"color": "#1f5f8b" if iri == centre else "#7fa8c4"},
        }
        for iri in names
    ]
    edges: list[dict[str, Any]] = [
        {
            "source": start,
            "target": end,
            "value": label(property_),
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
_STATEMENTS: Final = (_PROPERTY, _VALUE, _HOW, _SINCE, _UNTIL, _MESSAGE)


async def build_one(visit: Visit) -> None:
    """Build the page of ``asked["iri"]``."""
    iri = visit.asked.get("iri", "")
    ui.label(iri).classes("iri")
    state = ui.element("div").props("role=status")
    path = page_addresses.address("/individuals", iri=iri).removeprefix(page_addresses.BASE)
    table = ShownTable(_STATEMENTS, path, "Nothing is known of it.", key="key", rows_a_page=50)
    reason = ui.element("div").props("role=status")
    shown: list[bool] = []

    async def why(row: Row) -> None:
        told = await visit.client.why_statement(str(row["statement"]))
        reason.clear()
        with reason:
            show_statement(told)

    table.add("why", "Why", why, lambda row: row["valid_to"] is None)

    async def read() -> None:
        found = await visit.client.individual(iri, rules=True)
        if shown != [found["in_window"]]:
            shown[:] = [found["in_window"]]
            state.clear()
            with state:
                show(_where(found["in_window"]))
        table.show(list(statements_of(found)))

    keep_fresh(_PAUSE, read)
    with Notice().of():
        await _neighbours(visit, iri)
        known = list(statements_of(await visit.client.individual(iri)))
        if known:
            past = ShownPast(visit, iri, known[0]["valid_from"])
            await past.prepare()
            keep_fresh(_PAST_PAUSE, past.read)


def statements_of(found: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of a table of statements, from the answer of ``GET /individuals``."""
    for property_, values in found["properties"].items():
        for key, value in enumerate(values):
            yield {
                **_row(property_, value),
                "key": f"{property_} {key}",
                "statement": f"<{found['iri']}> <{property_}> {_written(value)}",
            }


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
