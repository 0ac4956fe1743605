"""Measure all that is compared, by turns: ``python -m benchmarks [PART OF A NAME …]``.

Of all comparisons, results are kept and written into the page; of some, they are only printed. All
figures are CPU time, the best of several turns of each side.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any, Final

from benchmarks.beside import departments, page, tracker_window
from benchmarks.beside.table import COMPARISONS
from benchmarks.beside.turns import Comparison, Found, measure
from benchmarks.publish import with_tables

SMALL_TURNS: Final = 48
_MESSAGES: Final = 2000
_DEPARTMENTS: Final = 4


def main(arguments: Sequence[str]) -> int:
    """Measure and print; the exit code: 1 if something failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of names of comparisons")
    parser.add_argument("--beside", default="", help="what else the machine does, for the page")
    options = parser.parse_args(arguments)
    names = options.names or [""]
    wanted = [each for each in COMPARISONS if any(name in each.key for name in names)]
    machine, rows, failed = _machine(options.beside), [], []
    for each in wanted:
        begun = time.perf_counter()
        try:
            found = measure(each, each.size, each.turns)
        except Exception:
            # The others are worth having.
            traceback.print_exc()
            failed.append(each.key)
            continue
        rows.append(page.row(each, found))
        print(_line(each, found, time.perf_counter() - begun), flush=True)
    for key in failed:
        print(f"failed: {key}", file=sys.stderr)
    if not options.names and not failed:
        results = {**machine, "rows": rows, **_rest()}
        page.write(results)
        text = page.PAGE.read_text(encoding="utf-8")
        tables = page.markdown(results)
        page.PAGE.write_text(with_tables(text, tables, page.BEGIN, page.END), encoding="utf-8")
        print(f"written: {page.FILE}, {page.PAGE}")
    return 1 if failed else 0


def _line(comparison: Comparison, found: Found, took: float) -> str:
    ratio = found.absent if found.ratio is None else f"{page.number(found.ratio)} times"
    ours = f"{1e6 * found.ours:12,.1f} us {1 / found.ours:12,.0f}/s"
    return f"{comparison.name:28}{ours}  {comparison.peer}: {ratio} ({took:.0f} s)"


def _rest() -> dict[str, Any]:
    """The phases, what the tests watch, and the server."""
    profiles = ("plain", "hermit", "pellet")
    rules = ("plain", "minimal", "owl2rl")
    server = subprocess.run(
        [sys.executable, "-m", "benchmarks.server", "--turns", "2", "--seconds", "2"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return {
        "message": {each: tracker_window.phases(each, _MESSAGES) for each in profiles},
        "statement": {each: departments.phases(each, _DEPARTMENTS) for each in rules},
        "small": {
            each.key: measure(each, each.small, SMALL_TURNS).ratio
            for each in COMPARISONS
            if each.small
        },
        "server": "" if server.returncode else server.stdout.rstrip(),
    }


def _machine(beside: str) -> dict[str, str]:
    described = ["git", "describe", "--always", "--dirty=, changed"]
    found = subprocess.run(described, stdout=subprocess.PIPE, text=True, check=False)
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    python = f"Python {platform.python_version()}"
    return {
        "measured": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "revision": found.stdout.strip() or "unknown",
        "machine": ", ".join(filter(None, (machine, python, beside))),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
