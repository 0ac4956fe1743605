"""Many mapping rules: ``python -m benchmarks.selection``, in CPU time, by turns."""

from __future__ import annotations

import argparse
from typing import Final

from benchmarks.selection import shapes

SIZES: Final = (1, 100, 1000)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="RULES")
    parser.add_argument("--turns", type=int, default=50)
    given = parser.parse_args()
    rows = [shapes.measure(shape, given.sizes, given.turns) for shape in shapes.SHAPES]
    print(shapes.table(rows), flush=True)


if __name__ == "__main__":
    main()
