"""The paper's figures 3 to 6 beside ours, and one for what the paper left out.

Times are on a logarithmic axis: on the paper's, with the paper's way in it, ours would be its
lower edge.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import ROOT
from benchmarks.paper.results import Results, Row
from benchmarks.paper.sections import MAPPINGS, ONTOLOGY, PAPER, SLEEPING, STATEMENTS, WATCHING
from benchmarks.scenario import FILLING, PROFILES, SLIDING, UNBOUNDED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLDER: Final = ROOT / "build" / "paper"
_COLOURS: Final = {"plain": "#1b7837", "hermit": "#2166ac", "pellet": "#762a83", PAPER: "#b2182b"}
_LABELS: Final = {"hermit": "HermiT", "pellet": "Pellet", PAPER: "the paper's way, here"}
_KINDS: Final = {SLIDING: "sliding", FILLING: "gradually filling", UNBOUNDED: "no window"}
_KIND_COLOURS: Final = {SLIDING: "#2166ac", FILLING: "#d95f02", UNBOUNDED: "#555555"}
_VARIATIONS: Final = {
    ONTOLOGY: "classes in the ontology",
    STATEMENTS: "statements per individual",
    SLEEPING: "semantic rules that sleep",
    WATCHING: "semantic rules, condition tested",
    MAPPINGS: "mapping rules for other trackers",
}


def draw(results: Results, folder: Path = FOLDER) -> list[Path]:
    """Draw every figure that the results have something for; the files written."""
    written = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in (
        ("figure-3.png", _over_messages(results, UNBOUNDED)),
        ("figure-4.png", _over_messages(results, FILLING)),
        ("figure-5.png", _over_messages(results, SLIDING)),
        ("figure-6.png", _side_by_side(results)),
        ("variations.png", _variations(results)),
    ):
        if figure is not None:
            figure.savefig(folder / name, dpi=100)
            written.append(folder / name)
    return written


def _over_messages(results: Results, section: str) -> Figure | None:
    """Process time (left) and number of statements (right) over messages, a line each size."""
    rows = results.rows(section)
    sizes = sorted({row.size for row in rows})
    if not sizes:
        return None
    figure = _figure(11, 3.2 * len(sizes))
    axes = figure.subplots(len(sizes), 2, squeeze=False)
    for size, (left, right) in zip(sizes, axes, strict=True):
        title = _KINDS[section] if section == UNBOUNDED else f"{_KINDS[section]}, {size}"
        for row in (each for each in rows if each.size == size):
            if row.system in _COLOURS:
                _time_line(left, row, _COLOURS[row.system], _label(row.system))
        _time_axis(left, f"process time: {title}")
        found = [row for row in rows if row.size == size and row.system in PROFILES]
        if found:
            row = found[-1]
            numbers = [point.number for point in row.curve]
            right.plot(numbers, [p.asserted for p in row.curve], color="#555555", label="raw")
            inferred = [p.inferred for p in row.curve]
            right.plot(numbers, inferred, color="#d95f02", label=f"inferred ({_label(row.system)})")
        _count_axis(right, f"statements: {title}")
    return figure


def _side_by_side(results: Results) -> Figure | None:
    """Process time of the three windows in one picture: ours above, the paper's way below."""
    sizes = sorted({row.size for row in results.rows(SLIDING)})
    if not sizes:
        return None
    profile = [p for p in PROFILES if any(r.system == p for r in results.rows(SLIDING))][-1]
    figure = _figure(4.2 * len(sizes), 6.4)
    axes = figure.subplots(2, len(sizes), squeeze=False, sharey="row")
    for column, size in enumerate(sizes):
        for line, system in enumerate((profile, PAPER)):
            pane = axes[line][column]
            for section in _KINDS:
                for row in results.rows(section):
                    if row.system == system and (row.size == size or section == UNBOUNDED):
                        _time_line(pane, row, _KIND_COLOURS[section], _KINDS[section])
            _time_axis(pane, f"{_label(system)}, {size} individuals")
    return figure


def _variations(results: Results) -> Figure | None:
    """Median milliseconds over what is varied; both axes logarithmic."""
    if not any(results.rows(section) for section in _VARIATIONS):
        return None
    figure = _figure(13, 6.8)
    axes = figure.subplots(2, 3)
    for pane, (section, title) in zip(axes.flat, _VARIATIONS.items(), strict=False):
        for profile in PROFILES:
            rows = [row for row in results.rows(section) if row.system == profile]
            rows.sort(key=lambda row: row.size)
            if rows:
                medians = [row.median for row in rows]
                pane.plot(
                    [row.size for row in rows],
                    medians,
                    marker="o",
                    color=_COLOURS[profile],
                    label=_label(profile),
                )
        pane.set_xscale("log")
        pane.set_yscale("log")
        pane.set_xlabel(title)
        pane.set_ylabel("ms per message")
        _legend(pane)
    axes.flat[-1].set_visible(False)
    return figure


def _time_line(pane: Axes, row: Row, colour: str, label: str) -> None:
    """A row's curve; a light line above it for the worst message of each stretch."""
    numbers = [point.number for point in row.curve]
    medians = [point.median for point in row.curve]
    if row.system == PAPER:
        # It was measured at a few places only: points, and nothing between them.
        pane.plot(numbers, medians, ".", color=colour, label=label)
        return
    pane.plot(numbers, medians, color=colour, linewidth=1.2, label=label)
    worst = [point.worst for point in row.curve]
    pane.plot(numbers, worst, color=colour, linewidth=0.5, alpha=0.35)


def _time_axis(pane: Axes, title: str) -> None:
    pane.set_yscale("log")
    _count_axis(pane, title, "ms per message")


def _count_axis(pane: Axes, title: str, unit: str = "statements") -> None:
    pane.set_title(title, fontsize=9)
    pane.set_xlabel("messages")
    pane.set_xlim(left=0)
    pane.set_ylabel(unit)
    _legend(pane)


def _legend(pane: Axes) -> None:
    pane.grid(alpha=0.25)
    handles, labels = pane.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    if named:
        pane.legend(list(named.values()), list(named), fontsize=8)


def _label(system: str) -> str:
    return _LABELS.get(system, system)


def _figure(width: float, height: float) -> Figure:
    # Not pyplot: it keeps every figure, and wants a display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
