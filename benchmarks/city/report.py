"""What was measured, as data, tables and a figure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import Final

from benchmarks.city.units import ALWAYS, NAMES, OURS, RATES, SECONDLY, Measured
from benchmarks.publish import with_tables

FILE: Final = Path(__file__).parents[1] / "results" / "city.json"
PAGE: Final = Path(__file__).parents[2] / "docs" / "understand" / "performance.md"
FIGURE: Final = PAGE.parents[1] / "images" / "citybench.png"
BEGIN: Final = "<!-- begin: results of the city -->"
END: Final = "<!-- end: results of the city -->"

Results = dict[str, list[Measured]]

_SYSTEMS: Final = (OURS, SECONDLY, ALWAYS)
_COLOURS: Final = {OURS: "#1b7837", SECONDLY: "#2166ac", ALWAYS: "#b2182b"}
_SCALED: Final = {
    "other-queries": "queries about other roads",
    "half-equal-queries": "queries about one of the roads and another",
    "equal-queries": "the same query",
    "window-rows": "a window of so many seconds, rows",
    "window-average": "a window of so many seconds, average",
}


def read(file: Path) -> Results:
    """The results of earlier runs, by unit."""
    if not file.exists():
        return {}
    data = json.loads(file.read_text(encoding="utf-8"))
    return {name: [Measured(**row) for row in rows] for name, rows in data.items()}


def write(results: Results, file: Path) -> None:
    data = {name: [asdict(row) for row in rows] for name, rows in results.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def markdown(results: Results) -> str:
    """The tables."""
    return "\n\n".join(filter(None, (_compared(results), _scaled(results), _memory(results))))


def _compared(results: Results) -> str:
    lines = []
    for name in NAMES:
        for rate in RATES:
            found = {row.system: row for row in results.get(f"{name}-{rate}", ())}
            if not found:
                continue
            ours = found[OURS]
            cells = [name, f"{rate}", f"{ours.rows:,.0f}", f"**{ours.milliseconds:.3f}**"]
            for each in (found[SECONDLY], found[ALWAYS]):
                ratio = each.milliseconds / ours.milliseconds
                cells.append(f"{_number(each.milliseconds)} ({_number(ratio)} times)")
            lines.append(cells)
    head = ("query", "graphs/s", "new rows a graph", OURS, SECONDLY, ALWAYS)
    return _table(head, lines)


def _scaled(results: Results) -> str:
    lines = []
    for unit, title in _SCALED.items():
        rows = results.get(unit)
        if rows:
            lines.append([title, *(f"{row.milliseconds:.3f}" for row in rows)])
    return _table(("", "1", "10", "100", "1000"), lines)


def _memory(results: Results) -> str:
    rows = results.get("memory")
    if not rows:
        return ""
    tenth = max(1, len(rows) // 10)
    first = sum(row.rows for row in rows[:tenth]) / tenth
    last = sum(row.rows for row in rows[-tenth:]) / tenth
    mean = sum(row.milliseconds for row in rows) / len(rows)
    return fill(
        f"Over {rows[-1].at:,} events at 100 a second, Q1 and Q2 together: resident memory "
        f"{first:.1f} MB on average over the first tenth, {last:.1f} MB over the last, "
        f"{max(row.rows for row in rows):.1f} MB at most; {mean:.3f} ms an event.",
        100,
    )


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _table(head: Iterable[str], lines: list[list[str]]) -> str:
    if not lines:
        return ""
    titles = list(head)
    rules = ["---", *["---:"] * (len(titles) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, rules, *lines))


def draw(results: Mapping[str, list[Measured]], file: Path) -> None:
    """Cost of a graph over rate, both axes logarithmic; a panel for each query."""
    if not all(f"{name}-{rate}" in results for name in NAMES for rate in RATES):
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for name, axes in zip(NAMES, figure.subplots(1, len(NAMES), sharey=True), strict=True):
        for system in _SYSTEMS:
            points = [
                row.milliseconds
                for rate in RATES
                for row in results[f"{name}-{rate}"]
                if row.system == system
            ]
            label = system if system == OURS else f"Oxigraph, {system}"
            axes.loglog(RATES, points, marker="o", label=label, color=_COLOURS[system])
        axes.set_title(f"CityBench {name}, window of 3 s")
        axes.set_xlabel("graphs a second")
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("CPU ms a graph")
    figure.axes[0].legend(fontsize=8)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=100)


def publish(results: Results, page: Path) -> None:
    """Put the tables between the page's marks."""
    text = with_tables(page.read_text(encoding="utf-8"), markdown(results), BEGIN, END)
    page.write_text(text, encoding="utf-8")
