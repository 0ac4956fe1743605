"""The figures of the middle, before and after: ``python -m benchmarks.middle [--before COMMIT]``.

Each section runs in a process of its own, turn by turn with the code of an earlier commit and with
this one; the best of the turns counts. Rates and times are of CPU time. A section that the earlier
code cannot run has no figure before.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.earlier import FIRST_DESIGN, ROOT, measured, package_of
from benchmarks.middle import aggregates, departments, event_files, individuals, start


@dataclass(frozen=True, slots=True)
class Section:
    """Figures of one kind: how they are measured, their unit, and which way is better."""

    title: str
    measure: Callable[[], dict[str, float]]
    unit: str
    more_is_better: bool = True


SECTIONS: Final = {
    "aggregates": Section(
        f"Aggregates over the last {aggregates.WINDOW} events", aggregates.rates, "events/s"
    ),
    "events": Section("Reading JSON Lines", event_files.rates, "triples/s"),
    "departments": Section("LUBM, 14 queries together", departments.rates, "triples/s"),
    "memory": Section(
        "An individual of six statements", individuals.bytes_each, "bytes", more_is_better=False
    ),
    "turnover": Section(
        "Individuals through a full window",
        lambda: {"in and out": individuals.rate()},
        "individuals/s",
    ),
    "start": Section("The first parse", start.milliseconds, "ms", more_is_better=False),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.middle")
    parser.add_argument("--before", default=FIRST_DESIGN, metavar="COMMIT")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--measure", choices=SECTIONS, help=argparse.SUPPRESS)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    given = parser.parse_args()
    if unknown := set(given.sections) - set(SECTIONS):
        parser.error(f"no section {', '.join(unknown)}: expected {', '.join(SECTIONS)}")
    if given.measure is not None:
        print(json.dumps(SECTIONS[given.measure].measure()))
        return
    with package_of(given.before) as earlier:
        for name in given.sections or SECTIONS:
            _print(SECTIONS[name], *_both(name, earlier, given.turns))


def _both(name: str, earlier: Path | None, turns: int) -> tuple[dict[str, float], dict[str, float]]:
    best = max if SECTIONS[name].more_is_better else min
    before: dict[str, float] = {}
    after: dict[str, float] = {}
    for _ in range(turns):
        for folder, figures in ((earlier, before), (ROOT, after)):
            if folder is not None:
                for what, figure in _figures(name, folder).items():
                    figures[what] = best(figures.get(what, figure), figure)
    return before, after


def _figures(name: str, folder: Path) -> dict[str, float]:
    return measured("benchmarks.middle", ["--measure", name], folder)


def _print(section: Section, before: dict[str, float], after: dict[str, float]) -> None:
    print(f"\n{section.title} ({section.unit})")
    print(f"{'':34}{'before':>12}{'after':>12}{'ratio':>8}")
    for what, figure in after.items():
        old = before.get(what)
        ratio = "" if not old else f"{figure / old:.2f}"
        shown = "" if old is None else f"{old:,.0f}"
        print(f"{what:34}{shown:>12}{figure:>12,.0f}{ratio:>8}", flush=True)


if __name__ == "__main__":
    main()
