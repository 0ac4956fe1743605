"""Many mapping rules, and many events in one document: ``python -m benchmarks.selection``.

``--morph-kgc`` and ``--sdm-rdfizer`` take the Python of an environment where that program is
installed; without them it is left out. All figures are CPU time, measured in turns.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.selection import bulk, processors, shapes

SIZES: Final = (1, 100, 1000)
EVENTS: Final = 50_000


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="RULES")
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--morph-kgc", type=Path, metavar="PYTHON")
    parser.add_argument("--sdm-rdfizer", type=Path, metavar="PYTHON")
    given = parser.parse_args(arguments)
    rows = [shapes.measure(shape, given.sizes, given.turns) for shape in shapes.SHAPES]
    print(shapes.table(rows), flush=True)
    triples = given.events * bulk.STATEMENTS
    print(f"\n{given.events:,} events in one document, {triples:,} triples: CPU seconds")
    content = bulk.document(given.events)
    spent = bulk.seconds(content, min(given.turns, 3))
    floor = spent["lxml alone"]
    for name, seconds in spent.items():
        print(_line(name, seconds, floor), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        _, mapping = bulk.written(content, Path(folder))
        others = (
            (processors.MORPH_KGC, given.morph_kgc),
            (processors.SDM_RDFIZER, given.sdm_rdfizer),
        )
        for processor, python in others:
            if python is None:
                print(f"{processor.name:<14}     not measured: no Python with it was named")
                continue
            try:
                seconds = processors.seconds(processor, python, mapping, triples)
            except processors.ProcessorFailed as failure:
                print(f"{processor.name:<14}     not measured: {failure}")
                continue
            print(_line(processor.name, seconds, floor), flush=True)


def _line(name: str, seconds: float, floor: float) -> str:
    return f"{name:<14}{seconds:8.2f}{seconds / floor:8.1f} times"


if __name__ == "__main__":
    main()
