"""Run the paper's evaluation (section 5): ``python -m benchmarks.paper [UNIT …]``.

The results are written after each unit, so a run that was stopped goes on with ``--resume``.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from benchmarks.paper.figures import FOLDER, draw
from benchmarks.paper.report import markdown
from benchmarks.paper.results import FILE, Results
from benchmarks.paper.sections import units
from benchmarks.scenario import DEFAULT, FULL, Scale


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; the exit code: 1 if a unit failed."""
    options = _options(arguments)
    scale = FULL if options.full else DEFAULT
    wanted = [name for name, _ in units(scale) if not options.units or name in options.units]
    machine = _machine("full" if options.full else "default")
    results = Results(machine)
    kept = options.resume or options.units
    if kept and options.results.exists():
        results = Results.read(options.results)
        if results.machine["Scale"] != machine["Scale"]:
            print(f"{options.results} holds a run of another scale", file=sys.stderr)
            return 2
        if options.resume:
            wanted = [name for name in wanted if name not in results.units]
    failed = run(scale, wanted, results, options.results)
    print("\n" + markdown(results))
    for file in draw(results, options.figures):
        print(f"drawn: {file}")
    for name in failed:
        print(f"failed: {name}", file=sys.stderr)
    return 1 if failed else 0


def run(scale: Scale, wanted: Sequence[str], results: Results, file: Path) -> list[str]:
    """Run units and keep what they measured; the names of those that failed."""
    failed = []
    for name, unit in units(scale):
        if name not in wanted:
            continue
        print(f"{name} …", end=" ", flush=True)
        begun = time.perf_counter()
        try:
            results.units[name] = unit()
        except Exception:
            # The other units are worth having.
            traceback.print_exc()
            failed.append(name)
            continue
        results.write(file)
        print(f"{time.perf_counter() - begun:.0f} s", flush=True)
    return failed


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    names = [name for name, _ in units(DEFAULT)]
    parser.add_argument(
        "units", nargs="*", metavar="UNIT", help=f"what to measure anew: {', '.join(names)}"
    )
    parser.add_argument(
        "--full", action="store_true", help="more messages, and the slowest cases (an hour)"
    )
    parser.add_argument("--resume", action="store_true", help="go on with a run that was stopped")
    parser.add_argument("--results", type=Path, default=FILE, help="where the results are kept")
    parser.add_argument("--figures", type=Path, default=FOLDER, help="where the figures go")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.units) - set(names))
    if unknown:
        parser.error(f"no such unit: {', '.join(unknown)}; expected some of {', '.join(names)}")
    return options


def _machine(scale: str) -> dict[str, str]:
    today = datetime.datetime.now(datetime.UTC).date()
    return {
        "Measured": today.isoformat(),
        "Machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "Scale": scale,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
