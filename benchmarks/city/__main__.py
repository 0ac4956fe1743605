"""Run the benchmark of continuous queries: ``python -m benchmarks.city [UNIT …]``.

The results are written after each unit; units that are named are measured anew, the others kept.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks.city.report import FIGURE, FILE, PAGE, draw, markdown, publish, read, write
from benchmarks.city.units import measured, units


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for, print the tables and draw the figure."""
    names = list(units())
    parser = argparse.ArgumentParser(prog="python -m benchmarks.city", description=__doc__)
    parser.add_argument("units", nargs="*", metavar="UNIT", help=", ".join(names))
    parser.add_argument("--publish", action="store_true", help=f"put the tables into {PAGE.name}")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.units) - set(names))
    if unknown:
        parser.error(f"no such unit: {', '.join(unknown)}; expected some of {', '.join(names)}")
    results = read(FILE) if options.units or options.publish else {}
    for name in names:
        if name in options.units or (not options.units and not options.publish):
            print(f"{name} …", flush=True)
            begun = time.perf_counter()
            # In a process of its own: what one unit leaves behind is not the next one's.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                results[name] = pool.submit(measured, name).result()
            write(results, FILE)
            print(f"{name}: {time.perf_counter() - begun:.0f} s", flush=True)
    print(markdown(results))
    draw(results, FIGURE)
    if options.publish:
        publish(results, PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
