"""Charts of numbers over time, and maps of places."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from typing import Any, Final, TypeAlias

from nicegui import ui

from sensorstream.console import page_scripts
from sensorstream.errors import TermError
from sensorstream.model.frozen import frozen
from sensorstream.model.geometry import CRS84, has_geometry, read_geometry, shapely, system_of

Points: TypeAlias = Sequence[tuple[float, float | None]]
"""A line has a gap where the second is None."""
GRID: Final = {"lineStyle": {"color": "rgba(128, 128, 128, 0.35)"}}
"""Can be seen on light and on dark pages; the style sheet colours what is written in a chart."""
_NAME: Final = {"width": 150, "overflow": "truncate"}
_BOTTOM: Final = 30
_LEGEND: Final = 25
"""The height of the names below the lines."""


def time_axis(moment: object) -> dict[str, Any]:
    """The axis of a time line, of which one moment is given: a number or a time."""
    return {"type": "value" if isinstance(moment, int | float) else "time", "scale": True}


def _chart(
    title: str, left: int, on_point_click: Callable[..., object] | None = None, **options: Any
) -> ui.echart:
    shared = {
        "title": {"text": title, "left": 0, "textStyle": {"fontSize": 13}},
        "animation": False,
        "grid": {"left": left, "right": 15, "top": 40, "bottom": _BOTTOM},
    }
    chart = ui.echart({**shared, **options}, on_point_click=on_point_click, renderer="svg")
    chart.classes("chart").props("role=img").props["aria-label"] = title
    return chart


class LineChart:
    """Lines, each with a name; the horizontal axis as ECharts' ``axis`` says, the vertical one in
    a unit, from zero on if ``zero`` is true.
    """

    def __init__(
        self, title: str, axis: Mapping[str, Any], unit: str = "", *, zero: bool = False
    ) -> None:
        self._chart = _chart(
            f"{title} ({unit})" if unit else title,
            55,
            tooltip={"trigger": "axis"},
            legend={"show": False, "type": "scroll", "bottom": 0, "textStyle": _NAME},
            xAxis={"splitLine": GRID, "axisLabel": {"hideOverlap": True}, **axis},
            yAxis={"type": "value", "scale": not zero, "splitLine": GRID},
            series=[],
        )

    def draw(self, lines: Mapping[str, Points], axis: Mapping[str, Any] | None = None) -> None:
        """Draw these lines in place of those before, over another ``axis`` if one is given."""
        series = [
            {
                "name": name,
                "type": "line",
                "showSymbol": len(points) < 2,
                "data": [(at, _rounded(value)) for at, value in points],
            }
            for name, points in lines.items()
        ]
        options = self._chart.options
        if series != options["series"] or not (axis or {}).items() <= options["xAxis"].items():
            options["series"] = series
            options["legend"]["show"] = len(series) > 1
            options["grid"]["bottom"] = _BOTTOM + (_LEGEND if len(series) > 1 else 0)
            options["xAxis"].update(axis or {})
            self._chart.update()


def _rounded(value: float | None) -> float | None:
    return value if value is None or value % 1 == 0 else float(f"{value:.6g}")


class Histogram:
    """Numbers over time, in parts, by kinds that lie on each other."""

    def __init__(
        self, title: str, colours: Mapping[str, str], choose: Callable[[int, int], object]
    ) -> None:
        """``colours`` of the kinds, by their names, from the lowest up; ``choose`` is called with
        the begin and the end of a part that is clicked, in seconds since 1970.
        """
        self._choose, self._seconds = choose, 1
        self._chart = _chart(
            title,
            50,
            on_point_click=lambda event: self._chosen(event.data),
            tooltip={"trigger": "axis", "axisPointer": {"type": "shadow"}},
            legend={"bottom": 0, "type": "scroll", "itemHeight": 10, "data": []},
            xAxis={"type": "time", "axisLabel": {"hideOverlap": True}},
            yAxis={"name": title, "minInterval": 1, "splitLine": GRID, "splitNumber": 3},
            series=[
                {"name": each, "type": "bar", "stack": "all", "color": colour}
                for each, colour in colours.items()
            ],
        )
        self._chart.options["title"]["show"] = False
        self._chart.options["grid"]["bottom"] += _LEGEND

    def draw(
        self, parts: Mapping[int, Mapping[str, int]], seconds: int, begin: int, end: int
    ) -> None:
        """Draw numbers of kinds by the begins of parts of so many seconds, from begin to end."""
        self._seconds = seconds
        begins = range(begin - begin % seconds, end, seconds)
        there = {name for counts in parts.values() for name in counts}
        options = self._chart.options
        before = str(options)
        for each in options["series"]:
            # A bar stands in the middle of its time.
            each["data"] = [
                [(at + seconds / 2) * 1000, parts.get(at, {}).get(each["name"], 0)] for at in begins
            ]
        options["legend"]["data"] = [e["name"] for e in options["series"] if e["name"] in there]
        options["xAxis"] |= {"min": begins[0] * 1000, "max": (begins[-1] + seconds) * 1000}
        options["tooltip"]["show"] = bool(there)
        if str(options) != before:
            self._chart.update()

    def _chosen(self, data: Any) -> None:
        begin = int(data[0] / 1000 - self._seconds / 2)
        self._choose(begin, begin + self._seconds)


class Bars:
    """A bar for each name."""

    def __init__(self, title: str, names: Sequence[str]) -> None:
        self._chart = _chart(
            title,
            100,
            xAxis={"type": "value", "min": 0, "splitLine": GRID},
            yAxis={"type": "category", "data": list(names)},
            series=[{"type": "bar", "data": []}],
        )

    def draw(self, values: Sequence[float]) -> None:
        """Draw these values, in the order of the names."""
        series = self._chart.options["series"][0]
        if series["data"] != list(values):
            series["data"] = list(values)
            self._chart.update()


_MOST: Final = 20_000
"""Corners that a map shows: a browser keeps an element for each shape."""
_LONGEST: Final = 400_000
DEGREES: Final = "degrees"
"""The frame of longitude and latitude."""
PLANE: Final = ""
"""The frame of coordinates of which only the names are known, such as x and y."""
_GEOMETRY: Final = re.compile(
    r"\s*(?:\{|(?:<[^<>\s]*>\s*)?(?:MULTI|POINT|LINE|POLY|GEOM))", re.IGNORECASE
)
_KINDS: Final = ("fence", "way", "place", "now")
_PAIRS: Final = (
    (("longitude", "long", "lon", "lng"), ("latitude", "lat"), DEGREES),
    (("xlocation", "x", "easting"), ("ylocation", "y", "northing"), PLANE),
)


@frozen
class DrawnShape:
    """A geometry as GeoJSON has it, in a frame: :data:`DEGREES`, :data:`PLANE`, or the IRI of a
    reference system whose place on the globe is not known.
    """

    frame: str
    geometry: Mapping[str, Any]
    name: str = ""
    there: str = ""
    """The address that a click leads to; "": none."""
    kind: str = "place"
    """One of ``fence``, ``way``, ``place``, ``now``: later ones lie above earlier ones."""

    def corners(self) -> Iterator[tuple[float, float]]:
        """The places that it names, each east and north."""
        return _corners(self.geometry.get("coordinates") or self.geometry.get("geometries") or ())


def _corners(part: Any) -> Iterator[tuple[float, float]]:
    if isinstance(part, Mapping):
        yield from DrawnShape("", part).corners()
    elif part and isinstance(part[0], int | float):
        yield part[0], part[1]
    else:
        for each in part:
            yield from _corners(each)


def point(frame: str, east: float, north: float, **told: str) -> DrawnShape:
    """A place by its coordinates; ``told`` are the other fields."""
    return DrawnShape(frame, {"type": "Point", "coordinates": [east, north]}, **told)


def shape_of(text: str, **told: str) -> DrawnShape | None:
    """The shape of a WKT or GeoJSON literal of GeoSPARQL; None for anything else, for what is too
    large, and without the extra ``geo``. ``told`` are the other fields.
    """
    if len(text) > _LONGEST or _GEOMETRY.match(text) is None or not has_geometry():
        return None
    try:
        found = read_geometry(text, is_json=text.lstrip().startswith("{"))
    except TermError:
        return None
    shape, frame = found.written, PLANE if found.reference == CRS84 else found.reference
    if not 0 < found.size <= _MOST:
        return None
    with suppress(TermError):
        shape, frame = found.shape_in(system_of(CRS84)), DEGREES
    geometry = json.loads(shapely("to_geojson")(shapely("force_2d")(shape)))
    return DrawnShape(frame, geometry, **told)


def coordinates(names: Sequence[str]) -> tuple[str, str, str] | None:
    """The properties for east and north, by names also after "has", and their frame; or None."""
    by_end = {each.lower().removeprefix("has"): each for each in names}
    for easts, norths, frame in _PAIRS:
        east = next((by_end[each] for each in easts if each in by_end), None)
        north = next((by_end[each] for each in norths if each in by_end), None)
        if east is not None and north is not None:
            return east, north, frame
    return None


class Map:
    """Shapes with their names and links, and the way between their points."""

    def __init__(self, title: str) -> None:
        with ui.element("figure").classes("map") as self._figure:
            ui.label(title).classes("name")
            self._map = ui.leaflet(options={"attributionControl": False})
            self._map.layers.clear()  # NiceGUI's own one asks a server of the internet.
            self._note = ui.label().classes("hint")
        self._map.props("role=application")
        self._map.props["aria-label"] = title
        self._drawn: object = None

    def draw(self, places: Sequence[DrawnShape], *, is_a_way: bool = False) -> None:
        """Draw these places; ``is_a_way``: in the order in which something was there. Without any
        the map is hidden.
        """
        self._figure.set_visibility(bool(places))
        if not places:
            return
        shown, note = chosen(places)
        drawn = drawing(shown, is_a_way=is_a_way)
        if drawn != self._drawn:
            self._drawn = drawn
            page_scripts.run("drawMap", self._map.id, drawn)
            self._note.set_text(note)


def chosen(places: Sequence[DrawnShape]) -> tuple[list[DrawnShape], str]:
    """The places that one map can show, of the most frequent frame, and a note on the others."""
    ((frame, number),) = Counter(each.frame for each in places).most_common(1)
    own = [each for each in places if each.frame == frame]
    ends = accumulate(sum(1 for _ in each.corners()) for each in own)
    drawn = own[: max(1, sum(end <= _MOST for end in ends))]
    notes = []
    if frame not in (DEGREES, PLANE):
        notes.append(f"In the units of <{frame}>.")
    if len(places) > number:
        notes.append(f"{len(places) - number} places of other reference systems are not drawn.")
    if number > len(drawn):
        notes.append(f"{number - len(drawn)} places more are not drawn: a map has {_MOST} corners.")
    return drawn, " ".join(notes)


def drawing(places: Sequence[DrawnShape], *, is_a_way: bool = False) -> dict[str, Any]:
    """The data of a map for ``drawMap`` of ``page.js``."""
    is_globe = places[0].frame == DEGREES
    own = [each for each in places if each.kind != "fence"]
    way = [[*corner] for each in own for corner in each.corners()] if is_a_way else []
    if len(way) > 1:
        line = {"type": "LineString", "coordinates": way}
        places = [DrawnShape("", line, kind="way"), *places]
    return {
        "west": _west_of(each for shape in places for each, _ in shape.corners())
        if is_globe
        else None,
        "features": [
            {
                "type": "Feature",
                "geometry": each.geometry,
                "properties": {"name": each.name, "there": each.there, "kind": each.kind},
            }
            for each in sorted(places, key=lambda each: _KINDS.index(each.kind))
        ],
    }


def _west_of(easts: Iterable[float]) -> float:
    """The end of the widest gap around the globe: a map that begins there has neighbours across the
    date line beside each other.
    """
    found = sorted(each % 360 for each in easts)
    gaps = [(found[0] + 360 - found[-1], found[0])]
    gaps += [(after - before, after) for before, after in pairwise(found)]
    return (max(gaps)[1] + 180) % 360 - 180
