"""Where things are, drawn to scale without a picture of the ground: pages work without internet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from nicegui import ui

from sensorstream.console.charts import GRID

Place: TypeAlias = tuple[float, float]
"""East and north."""
_POINT: Final = re.compile(
    r"\s*(?:<[^>]*>\s*)?POINT\s*Z?\s*\(\s*([-+.\deE]+)\s+([-+.\deE]+)[^)]*\)\s*", re.IGNORECASE
)
_PAIRS: Final = (
    (("longitude", "long", "lon", "lng"), ("latitude", "lat")),
    (("xlocation", "x", "easting"), ("ylocation", "y", "northing")),
)


def point_of(text: str) -> Place | None:
    """The place of a point in WKT; None for anything else."""
    found = _POINT.fullmatch(text)
    if found is None:
        return None
    try:
        return float(found[1]), float(found[2])
    except ValueError:
        return None


def coordinates(names: Sequence[str]) -> tuple[str, str] | None:
    """The names of the properties that say east and north; None if there are no two such."""
    by_end = {each.lower().removeprefix("has"): each for each in names}
    for easts, norths in _PAIRS:
        east = next((by_end[each] for each in easts if each in by_end), None)
        north = next((by_end[each] for each in norths if each in by_end), None)
        if east is not None and north is not None:
            return east, north
    return None


class Map:
    """Places with their names, and the way between them."""

    def __init__(self, title: str) -> None:
        axis: Mapping[str, Any] = {"type": "value", "scale": True, "splitLine": GRID}
        self._chart = ui.echart(
            {
                "title": {"text": title, "textStyle": {"fontSize": 13}},
                "animation": False,
                "tooltip": {"trigger": "item"},
                "grid": {"left": 55, "right": 25, "top": 40, "bottom": 35},
                "xAxis": {**axis, "name": "east", "nameLocation": "middle", "nameGap": 22},
                "yAxis": {**axis, "name": "north"},
                "series": [],
            },
            renderer="svg",
        ).classes("map")
        self._chart.props(f'role=img aria-label="{title}"')

    def draw(self, places: Sequence[tuple[str, Place]], *, is_a_way: bool = False) -> None:
        """Draw these places; ``is_a_way``: in the order in which something was there."""
        data = [{"name": name, "value": list(place)} for name, place in places]
        series: list[dict[str, Any]] = [{"type": "scatter", "data": data}]
        if is_a_way:
            line = {"type": "line", "data": [list(place) for _, place in places]}
            series.insert(0, {**line, "showSymbol": False})
        if series != self._chart.options["series"]:
            self._chart.options["series"] = series
            self._chart.update()
