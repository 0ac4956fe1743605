"""Charts of numbers over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


class LineChart:
    """Lines, each with a name; the horizontal axis as ECharts' ``axis`` says."""

    def __init__(self, title: str, axis: Mapping[str, Any]) -> None:
        self._chart = ui.echart(
            {
                "title": {"text": title, "textStyle": {"fontSize": 13}},
                "animation": False,
                "tooltip": {"trigger": "axis"},
                "legend": {"show": False, "type": "scroll", "bottom": 0, "textStyle": _NAME},
                "grid": {"left": 55, "right": 15, "top": 35, "bottom": _BOTTOM},
                "xAxis": {"splitLine": GRID, **axis},
                "yAxis": {"type": "value", "scale": True, "splitLine": GRID},
                "series": [],
            },
            renderer="svg",
        ).classes("chart")
        self._chart.props("role=img")
        self._chart.props["aria-label"] = title

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
        self._chart = ui.echart(
            {
                "title": {"text": title, "textStyle": {"fontSize": 13}},
                "animation": False,
                "grid": {"left": 100, "right": 15, "top": 35, "bottom": 30},
                "xAxis": {"type": "value", "min": 0, "splitLine": GRID},
                "yAxis": {"type": "category", "data": list(names)},
                "series": [{"type": "bar", "data": []}],
            },
            renderer="svg",
        ).classes("chart")
        self._chart.props("role=img")
        self._chart.props["aria-label"] = title

    def draw(self, values: Sequence[float]) -> None:
        """Draw these values, in the order of the names."""
        series = self._chart.options["series"][0]
        if series["data"] != list(values):
            series["data"] = list(values)
            self._chart.update()
