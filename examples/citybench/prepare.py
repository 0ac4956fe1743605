"""Write the event file and the background knowledge of the CityBench queries.

``python examples/citybench/prepare.py FOLDER OUT [--from TIME] [--to TIME]``: FOLDER holds the
benchmark's ``streams`` and ``dataset``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sensorstream.simulation.citybench_events import BACKGROUND, background, events
from sensorstream.simulation.observation import read_time
from sensorstream.streams.event_lines import EventLines


def main() -> None:
    """Read the arguments, write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the benchmark's folder")
    parser.add_argument("out", type=Path, help="where the files go")
    parser.add_argument("--from", dest="start", default="2014-08-01T08:00", help="the first time")
    parser.add_argument("--to", dest="end", default="2014-08-01T12:00", help="the first too late")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in BACKGROUND:
        (options.out / name).write_bytes(background(options.folder, name))
    start, end = read_time(options.start), read_time(options.end)
    with (options.out / "events.jsonl").open("w", encoding="utf-8") as file:
        lines = EventLines(file.name, numbers=True)
        file.writelines(map(lines.write, events(options.folder, start, end)))


if __name__ == "__main__":
    main()
