"""Charts of numbers over time, and drawings of places to scale.

There is no picture of the ground: pages work without internet.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import accumulate, chain, pairwise
from math import cos, floor, isfinite, log10, radians
from typing import Any, Final, TypeAlias

from nicegui import ui

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


def _chart(title: str, left: int, **options: Any) -> ui.echart:
    shared = {
        "title": {"text": title, "textStyle": {"fontSize": 13}},
        "animation": False,
        "grid": {"left": left, "right": 15, "top": 35, "bottom": _BOTTOM},
    }
    chart = ui.echart({**shared, **options}, renderer="svg").classes("chart").props("role=img")
    chart.props["aria-label"] = title
    return chart


class LineChart:
    """Lines, each with a name; the horizontal axis as ECharts' ``axis`` says."""

    def __init__(self, title: str, axis: Mapping[str, Any]) -> None:
        self._chart = _chart(
            title,
            55,
            tooltip={"trigger": "axis"},
            legend={"show": False, "type": "scroll", "bottom": 0, "textStyle": _NAME},
            xAxis={"splitLine": GRID, **axis},
            yAxis={"type": "value", "scale": True, "splitLine": GRID},
            series=[],
        )

    def draw(self, lines: Mapping[str, Points], axis: Mapping[str, Any] | None = None) -> None:
        """Draw these lines in place of those before, over another ``axis`` if one is given."""
        series = [
            {"name": name, "type": "line", "showSymbol": len(points) < 2, "data": list(points)}
            for name, points in lines.items()
        ]
        options = self._chart.options
        if series != options["series"]:
            options["series"] = series
            options["legend"]["show"] = len(series) > 1
            options["grid"]["bottom"] = _BOTTOM + (_LEGEND if len(series) > 1 else 0)
            options["xAxis"].update(axis or {})
            self._chart.update()


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


_RADIUS: Final = 6_371_008.8
"""The mean radius of the Earth, in metres (WGS 84: (2 a + b) / 3)."""
_WIDTH: Final = 640
_HEIGHT: Final = 340
_EDGE: Final = 14
_DOT: Final = 4
_MOST: Final = 20_000
"""Corners that a map shows: a browser keeps an element for each shape."""
_LEAST: Final = 1e-9
_ALONE: Final = 100.0
"""The metres or units that are shown around one place alone."""


class Map:
    """Shapes with their names, and the way between their points."""

    def __init__(self, title: str) -> None:
        with ui.element("figure").classes("map"):
            ui.label(title).classes("name")
            self._picture = ui.html("").props("role=img")
            self._note = ui.label().classes("hint")
        self._picture.props["aria-label"] = title

    def draw(self, places: Sequence[Named], *, is_a_way: bool = False) -> None:
        """Draw these places; ``is_a_way``: in the order in which something was there."""
        drawn, note = chosen(places)
        self._picture.set_content(picture(drawn, is_a_way=is_a_way))
        self._note.set_text(note)


def chosen(places: Sequence[Named]) -> tuple[list[Named], str]:
    """The places that one map can show, of the most frequent frame, and a note on the map."""
    ((frame, number),) = Counter(shape.frame for _, shape in places).most_common(1)
    own = [each for each in places if each[1].frame == frame]
    ends = accumulate(sum(1 for _ in shape.corners()) for _, shape in own)
    drawn = own[: max(1, sum(end <= _MOST for end in ends))]
    wests, norths = zip(*(each for _, shape in drawn for each in shape.corners()), strict=True)
    sign = "°" if frame == DEGREES else ""
    note = (
        f"From west to east {min(wests):.9g}{sign} to {max(wests):.9g}{sign}, "
        f"from south to north {min(norths):.9g}{sign} to {max(norths):.9g}{sign}."
    )
    if frame not in (DEGREES, PLANE):
        note += f" Taken as metres to the east and to the north: <{frame}>."
    if len(places) > number:
        note += f" {len(places) - number} places of other reference systems are not drawn."
    if number > len(drawn):
        note += f" {number - len(drawn)} places more are not drawn: a map has {_MOST} corners."
    return drawn, note


def flat(frame: str, corners: Sequence[EastNorth]) -> Callable[[EastNorth], EastNorth]:
    """The function from coordinates to metres, or units, to the east and to the north.

    Degrees are as long in both directions as they are half way between south and north.
    """
    if frame != DEGREES:
        return lambda place: place
    norths = [north for _, north in corners]
    wide = max(cos(radians((min(norths) + max(norths)) / 2)), _LEAST)
    easts = sorted(east % 360 for east, _ in corners)
    # The way around the globe begins after the widest gap, so that a place is near its neighbours.
    gaps = [(easts[0] + 360 - easts[-1], easts[0])]
    gaps += [(after - before, after) for before, after in pairwise(easts)]
    first = max(gaps)[1]

    def metres(place: EastNorth) -> EastNorth:
        east = (place[0] % 360 - first) % 360
        return _RADIUS * wide * radians(east), _RADIUS * radians(place[1])

    return metres


def picture(places: Sequence[Named], *, is_a_way: bool = False) -> str:
    """The places as SVG, as large as its frame: a metre is as long in both directions."""
    frame = places[0][1].frame
    corners = [each for _, shape in places for each in shape.corners()]
    project = flat(frame, corners)
    easts, norths = zip(*map(project, corners), strict=True)
    wide, high = max(easts) - min(easts), max(norths) - min(norths)
    if max(wide, high) < _LEAST:
        wide = _ALONE
    scale = min((_WIDTH - 2 * _EDGE) / max(wide, _LEAST), (_HEIGHT - 2 * _EDGE) / max(high, _LEAST))
    middle = (max(easts) + min(easts)) / 2, (max(norths) + min(norths)) / 2

    def at(place: EastNorth) -> EastNorth:
        east, north = project(place)
        x, y = (east - middle[0]) * scale, (middle[1] - north) * scale
        return round(_WIDTH / 2 + x, 2), round(_HEIGHT / 2 + y, 2)

    parts = [_path("area", shape.rings, at, name, "Z") for name, shape in places if shape.rings]
    parts += [_path("line", shape.lines, at, name) for name, shape in places if shape.lines]
    if is_a_way:
        way = tuple(each for _, shape in places for each in shape.points)
        parts.append(_path("way", (way,), at, "") if way else "")
    for name, shape in places:
        for x, y in map(at, shape.points):
            title = f"<title>{escape(name)}</title>"
            parts.append(f'<circle cx="{x}" cy="{y}" r="{_DOT}">{title}</circle>')
    parts.append(_bar(scale, frame != PLANE))
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}">{"".join(parts)}</svg>'


def _path(
    kind: str,
    lines: Sequence[Sequence[EastNorth]],
    at: Callable[[EastNorth], EastNorth],
    name: str,
    end: str = "",
) -> str:
    drawn = " ".join(
        "M" + " L".join(f"{x} {y}" for x, y in map(at, line)) + end for line in lines if line
    )
    title = f"<title>{escape(name)}</title>" if name else ""
    return f'<path class="{kind}" fill-rule="evenodd" d="{drawn}">{title}</path>'


def _bar(scale: float, in_metres: bool) -> str:
    """A line of a round length below the places, with that length."""
    longest = _WIDTH / 4 / scale
    power = 10.0 ** floor(log10(longest))
    length = next(each * power for each in (5, 2, 1) if each * power <= longest)
    told = f"{length:g}"
    if in_metres:
        told = f"{length / 1000:g} km" if length >= 1000 else f"{length:g} m"
    right, low = _EDGE + length * scale, _HEIGHT - 4
    return (
        f'<path class="bar" d="M{_EDGE} {low - 5} V{low} H{right:.2f} V{low - 5}"/>'
        f'<text x="{right + 5:.2f}" y="{low}">{told}</text>'
    )


EastNorth: TypeAlias = tuple[float, float]
"""East and north."""
DEGREES: Final = "degrees"
"""The frame of longitude and latitude."""
PLANE: Final = ""
"""The frame of coordinates of which only the names are known, such as x and y."""
_LONGEST: Final = 400_000
_BEGIN: Final = re.compile(r"\s*(?:<[^<>\s]*>\s*)?(?:MULTI|POINT|LINE|POLY|GEOM)", re.IGNORECASE)
# The text must have single spaces: otherwise many of them would take long.
_PART: Final = re.compile(
    r"(?:MULTI)?(POINT|LINESTRING|POLYGON) ?(?:ZM?|M)? ?(\([-+.,\d eE()]*\))", re.IGNORECASE
)
_WHOLE: Final = re.compile(
    rf"(?:<([^<> ]*)> ?)?(?:{_PART.pattern}|"
    rf"GEOMETRYCOLLECTION ?(?:ZM?|M)? ?\((?:,? ?{_PART.pattern})+ ?\)?)",
    re.IGNORECASE,
)
_LIST: Final = re.compile(r"\(([^()]*)\)")
_LONGITUDE_FIRST: Final = re.compile(r".*[/:]CRS84h?", re.IGNORECASE)
# EPSG says latitude first for these: WGS 84 (also with height), ETRS89, NAD83, NAD27.
_LATITUDE_FIRST: Final = re.compile(r".*EPSG[/:](?:.*[/:])?(?:4326|4979|4258|4937|4269|4267)")
_PAIRS: Final = (
    (("longitude", "long", "lon", "lng"), ("latitude", "lat"), DEGREES),
    (("xlocation", "x", "easting"), ("ylocation", "y", "northing"), PLANE),
)


@dataclass(frozen=True, slots=True)
class DrawnShape:
    """A place or a shape; ``frame`` is :data:`DEGREES`, :data:`PLANE`, or the IRI of a reference
    system, whose coordinates are taken as metres to the east and to the north.
    """

    frame: str
    points: tuple[EastNorth, ...] = ()
    lines: tuple[tuple[EastNorth, ...], ...] = ()
    rings: tuple[tuple[EastNorth, ...], ...] = ()
    """Closed lines: a place within an odd number of them is inside."""

    def corners(self) -> Iterator[EastNorth]:
        """The places that it names."""
        return chain(self.points, *self.lines, *self.rings)


Named: TypeAlias = tuple[str, DrawnShape]


def shape_of(text: str) -> DrawnShape | None:
    """The shape that WKT says; None for anything else."""
    if len(text) > _LONGEST or _BEGIN.match(text) is None:
        return None
    plain = " ".join(text.split())
    found = _WHOLE.fullmatch(plain)
    if found is None:
        return None
    said = found[1] or ""
    turned = _LATITUDE_FIRST.fullmatch(said) is not None
    parts: dict[str, list[tuple[EastNorth, ...]]] = {"POINT": [], "LINESTRING": [], "POLYGON": []}
    try:
        for part in _PART.finditer(plain, len(said)):
            for numbers in _LIST.findall(part[2]):
                places = tuple(_place(each, turned=turned) for each in numbers.split(","))
                parts[part[1].upper()].append(places)
    except ValueError:
        return None
    points, lines, rings = parts.values()
    shape = DrawnShape(said, tuple(chain(*points)), tuple(lines), tuple(rings))
    if said and not turned and _LONGITUDE_FIRST.fullmatch(said) is None:
        return shape
    is_of_globe = all(abs(east) <= 360 and abs(north) <= 90 for east, north in shape.corners())
    return replace(shape, frame=DEGREES if is_of_globe else PLANE)


def _place(text: str, *, turned: bool) -> EastNorth:
    """East and north from numbers, north first if ``turned``; raises ValueError for other texts."""
    first, second, *_ = map(float, text.split())
    if not (isfinite(first) and isfinite(second)):
        raise ValueError(text)
    return (second, first) if turned else (first, second)


def coordinates(names: Sequence[str]) -> tuple[str, str, str] | None:
    """The properties for east and north, by names also after "has", and their frame; or None."""
    by_end = {each.lower().removeprefix("has"): each for each in names}
    for easts, norths, frame in _PAIRS:
        east = next((by_end[each] for each in easts if each in by_end), None)
        north = next((by_end[each] for each in norths if each in by_end), None)
        if east is not None and north is not None:
            return east, north, frame
    return None
